package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/workers"
)

// jobEnv holds a job; a test binary that finds it runs that and no test.
const jobEnv = "RATCHET_E2E_JOB"

// logEnv, when it is set, lets children log on standard error.
const logEnv = "RATCHET_E2E_LOG"

// job is what a child process does on a data folder.
type job struct {
	Data    string
	Spec    []byte // campaign.JSON
	Recover bool   // recover the campaign, where otherwise it is started or gone on with
	Kill    string // point at which the process kills itself, as <activity>/<point>#<n-th time>
	Hold    string // point at which it says so and waits for a line on standard input
	Overrun *overrun
	Box     bool // benches keep real boxes open
}

// overrun lets the first attempt of an activity go on after it has timed out.
type overrun struct {
	At    string // where the first attempt stalls and is given up
	Until string // where another is when the first goes on
}

// outcome is what a child reports when the campaign has ended.
type outcome struct {
	First   string // run id of the campaign's workflow when this process began
	Run     string // and when it had ended
	Stopped model.StopReason
	Detail  string
	Signals int    // in its history
	Lost    int    // activities in its history that another process had begun
	Overrun string // how the attempt ended that went on too long
}

func TestMain(m *testing.M) {
	data := os.Getenv(jobEnv)
	if data == "" {
		os.Exit(m.Run())
	}
	if err := runJob(data); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func runJob(data string) error {
	var j job
	if err := json.Unmarshal([]byte(data), &j); err != nil {
		return err
	}
	spec, err := campaign.FromJSON(j.Spec)
	if err != nil {
		return err
	}
	c := &child{job: j, passed: map[string]int{}, stdin: json.NewDecoder(os.Stdin),
		ready: make(chan struct{}), release: make(chan struct{}), overran: make(chan struct{})}
	ctx := context.Background()
	s, err := workers.Open(ctx, workers.StackConfig{Data: j.Data, Adapt: c.adapt, Logger: c.logger()})
	if err != nil {
		return err
	}
	c.stack = s
	close(c.ready)
	err = c.run(ctx, spec)
	return errors.Join(err, c.failed, s.Close(ctx))
}

// child is a stack whose activities run as its job says.
type child struct {
	job   job
	stdin *json.Decoder
	stack *workers.Stack
	// ready is closed once stack is set: activities of a campaign that is gone on
	// with may run before that.
	ready chan struct{}
	// release is closed when the attempt that overran may go on, and overran when
	// it has come to its end.
	release, overran chan struct{}
	stalled          atomic.Bool // it goes on now
	late             string      // how it ended
	failed           error       // of giving it up

	mu     sync.Mutex
	passed map[string]int
}

func (c *child) logger() *slog.Logger {
	out := io.Discard
	if os.Getenv(logEnv) != "" {
		out = os.Stderr
	}
	return slog.New(slog.NewTextHandler(out, nil))
}

func (c *child) adapt(cfg *activities.Config) {
	if !c.job.Box {
		cfg.Boxes = noBoxes{}
	}
	cfg.Trace = c.trace
	cfg.Suites = func(campaign.Spec) ([]benchmarks.Suite, error) {
		return []benchmarks.Suite{&suite{at: c.at, box: c.job.Box}}, nil
	}
	cfg.Proposers = func(s campaign.Spec, callers activities.Callers) ([]propose.Proposer, error) {
		if s.Model() {
			return activities.Proposers(s, callers)
		}
		return []propose.Proposer{&proposer{at: c.at}}, nil
	}
}

// run drives the campaign to its end.
func (c *child) run(ctx context.Context, spec campaign.Spec) error {
	var err error
	if c.job.Recover {
		_, err = c.stack.Control.Recover(ctx, spec.Name)
	} else {
		_, err = c.stack.Control.Start(ctx, spec, control.Options{})
	}
	// A process that died while its campaign ended finds it ended already; its
	// workflow still has to finish.
	if err != nil && !c.ended(ctx, spec.Name) {
		return err
	}
	first, err := c.stack.Temporal.DescribeWorkflowExecution(ctx, protocol.CampaignID(spec.Name), "")
	if err != nil {
		return err
	}
	if err := c.stack.Control.Wait(ctx, spec.Name); err != nil {
		return err
	}
	last, err := c.stack.Temporal.DescribeWorkflowExecution(ctx, protocol.CampaignID(spec.Name), "")
	if err != nil {
		return err
	}
	return c.report(ctx, spec.Name, runID(first), runID(last))
}

func runID(d *workflowservice.DescribeWorkflowExecutionResponse) string {
	return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

func (c *child) ended(ctx context.Context, name string) bool {
	row, err := c.stack.Store.Campaign(ctx, name)
	return err == nil && row.Stopped != "" && row.Stopped != model.StopError
}

func (c *child) report(ctx context.Context, name, first, run string) error {
	row, err := c.stack.Store.Campaign(ctx, name)
	if err != nil {
		return err
	}
	out := outcome{First: first, Run: run, Stopped: row.Stopped, Detail: row.Detail}
	out.Overrun = c.late
	for it := c.history(ctx, name, run); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			return err
		}
		if e.GetWorkflowExecutionSignaledEventAttributes() != nil {
			out.Signals++
		}
		if e.GetActivityTaskStartedEventAttributes().GetLastFailure().GetApplicationFailureInfo().GetType() == protocol.ErrWorkerLost {
			out.Lost++
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func (c *child) history(ctx context.Context, name, run string) client.HistoryEventIterator {
	return c.stack.Temporal.GetWorkflowHistory(ctx, protocol.CampaignID(name), run, false, 0)
}

// at is told of points outside an activity's own code.
func (c *child) at(point string) { c.reach(point, func(string) {}) }

func (c *child) trace(ctx context.Context, point string) {
	c.reach(point, func(nth string) { c.overrun(ctx, nth) })
}

// reach counts a point, and dies or waits there when the job says so.
func (c *child) reach(point string, then func(string)) {
	c.mu.Lock()
	c.passed[point]++
	nth := fmt.Sprintf("%s#%d", point, c.passed[point])
	if nth == c.job.Kill {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	hold := nth == c.job.Hold
	c.mu.Unlock()
	if hold {
		fmt.Println(nth)
		var line string
		_ = c.stdin.Decode(&line)
	}
	then(nth)
}
