package checkup

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
)

// mostSkew is how far two clocks may be apart: boxes carry their deadlines as
// times, and keys and certificates hold at most this exactly.
const mostSkew = 10 * time.Second

// clock compares this machine's clock with every other that is at hand.
func (c *checkup) clock(ctx context.Context) doctor.Finding {
	var others []otherClock
	if f, err := c.facts(ctx); err == nil && !f.Clock.IsZero() {
		others = append(others, otherClock{"Docker", f.Skew, f.Trip / 2, true})
	}
	return compared(append(others, c.modelClocks(ctx)...), keeper())
}

// otherClock is how far a clock is beyond ours, give or take.
type otherClock struct {
	whose       string
	skew, exact time.Duration
	known       bool
}

func (o otherClock) off() bool { return o.skew.Abs() > mostSkew+o.exact }

func compared(others []otherClock, kept string) doctor.Finding {
	var said []string
	off := false
	for _, o := range others {
		if o.known {
			said = append(said, o.String())
			off = off || o.off()
		}
	}
	if len(said) == 0 {
		said = []string{"there is no other clock to compare with"}
	}
	all := strings.Join(append(said, kept), "; ")
	if off {
		return doctor.Warn("have a time service keep both clocks, such as chrony or systemd-timesyncd; a virtual machine that slept needs a restart of its own", "%s", all)
	}
	return doctor.Fine("%s", all)
}

func (o otherClock) String() string {
	if o.skew.Abs() <= max(o.exact, time.Second) {
		return o.whose + " agrees"
	}
	which := "ahead of"
	if o.skew < 0 {
		which = "behind"
	}
	return fmt.Sprintf("%s is %s %s this machine", o.whose, o.skew.Abs().Round(time.Second), which)
}

func keeper() string {
	switch kept, known := clockKept(); {
	case !known:
		return "whether a time service keeps this clock is not known"
	case kept:
		return "a time service keeps this clock"
	}
	return "no time service keeps this clock, as the kernel says"
}

// modelClocks reads the Date of the model servers' answers, without a key: any
// answer has one.
func (c *checkup) modelClocks(ctx context.Context) []otherClock {
	if _, skip := c.noFile(); skip {
		return nil
	}
	out := make([]otherClock, len(c.Spec.Endpoints))
	var busy sync.WaitGroup
	for i, e := range c.Spec.Endpoints {
		if e.URL != "" {
			busy.Go(func() { out[i] = dateOf(ctx, e) })
		}
	}
	busy.Wait()
	return out
}

// dateLimit leaves time for the rest of the check when a server hangs.
const dateLimit = quick / 2

func dateOf(ctx context.Context, e campaign.Endpoint) otherClock {
	limit := dateLimit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(e.URL, "/")+"/models", nil)
	if err != nil {
		return otherClock{}
	}
	start := time.Now()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return otherClock{} // the check of the model says why
	}
	defer res.Body.Close()
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return otherClock{}
	}
	trip := time.Since(start)
	// The header cuts off the fraction of its second, half a second on the mean.
	return otherClock{"endpoint " + e.Name, date.Add(time.Second / 2).Sub(start.Add(trip / 2)), trip/2 + time.Second/2, true}
}
