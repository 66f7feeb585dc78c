package natsx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Received is a message that a consumer was given.
type Received struct {
	Subject    string
	Header     map[string][]string
	Data       []byte
	Seq        uint64 // in the stream
	Deliveries uint64 // from 1
	Published  time.Time
}

// Handler does the work of one message. When it returns nil the message is
// acknowledged and never comes again; after an error it comes again, later each
// time; after an error made with Terminate it goes to the dead letters. A handler
// may see a message twice and must be idempotent.
type Handler func(context.Context, Received) error

// Terminate marks an error as final: the message can never be handled.
func Terminate(err error) error { return &terminal{err} }

type terminal struct{ err error }

func (t *terminal) Error() string { return t.err.Error() }
func (t *terminal) Unwrap() error { return t.err }

// Consumer says what to consume. Stream and Durable are required.
type Consumer struct {
	Stream  string
	Durable string
	Filter  string // subject, all by default
	// AckWait is how long the server waits for word of a message until it
	// delivers it again, 30 s by default; while a handler works it is told so at
	// a third of that.
	AckWait time.Duration
	// MaxDeliver is how often a message is tried; the default is without end.
	MaxDeliver int
	// RetryMin and RetryMax bound the wait before a message that failed comes
	// again, which doubles each time: 1 s and 1 minute by default.
	RetryMin, RetryMax time.Duration
}

func (c Consumer) withDefaults() Consumer {
	if c.AckWait == 0 {
		c.AckWait = 30 * time.Second
	}
	if c.MaxDeliver == 0 {
		c.MaxDeliver = -1
	}
	if c.RetryMin == 0 {
		c.RetryMin = time.Second
	}
	if c.RetryMax == 0 {
		c.RetryMax = time.Minute
	}
	return c
}

// fetchAhead is how many messages wait on this side; their AckWait runs already.
const fetchAhead = 64

// EnsureConsumer makes the consumer, or brings it up to date. Consume does so by
// itself; this is for those who want to know early that it works.
func (c *Client) EnsureConsumer(ctx context.Context, spec Consumer) error {
	_, err := c.openConsumer(ctx, spec.withDefaults())
	return err
}

// Consume hands messages to h, one after the other in the order of the stream
// but for those that are tried again, until ctx ends; it then finishes the
// message in hand, gives back what it had fetched, and returns. While the server
// cannot be reached, or refuses the consumer, it tries again and logs why.
func (c *Client) Consume(ctx context.Context, spec Consumer, h Handler) {
	spec = spec.withDefaults()
	l := &loop{client: c, spec: spec, handle: h, log: c.cfg.Logger.With("stream", spec.Stream, "consumer", spec.Durable)}
	for failures := 0; ; failures++ {
		err := l.run(ctx, &failures)
		if ctx.Err() != nil {
			return
		}
		wait := Backoff(failures, 50*time.Millisecond, 5*time.Second)
		l.log.Warn("consuming was interrupted, trying again", "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return
		}
	}
}

// loop is one run of Consume.
type loop struct {
	client *Client
	spec   Consumer
	handle Handler
	log    *slog.Logger
}

func (c *Client) openConsumer(ctx context.Context, spec Consumer) (jetstream.Consumer, error) {
	cons, err := c.js.CreateOrUpdateConsumer(ctx, spec.Stream, jetstream.ConsumerConfig{
		Durable:       spec.Durable,
		FilterSubject: spec.Filter,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       spec.AckWait,
		MaxDeliver:    spec.MaxDeliver,
	})
	if err != nil {
		return nil, fmt.Errorf("natsx: make the consumer %s on %s: %w", spec.Durable, spec.Stream, err)
	}
	return cons, nil
}

// run consumes until ctx ends or the consumer fails, and sets failures to 0 for
// each message: it works again.
func (l *loop) run(ctx context.Context, failures *int) error {
	cons, err := l.client.openConsumer(ctx, l.spec)
	if err != nil {
		return err
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(fetchAhead), jetstream.PullHeartbeat(2*time.Second), jetstream.PullExpiry(10*time.Second))
	if err != nil {
		return err
	}
	for {
		msg, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			l.giveBack(it)
			return err
		}
		*failures = 0
		l.settle(msg, l.work(ctx, msg))
	}
}

// giveBack ends the iterator and hands fetched messages back, so that they need
// not wait for AckWait to run out. That is a courtesy: it does not wait for long.
func (l *loop) giveBack(it jetstream.MessagesContext) {
	it.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for {
		msg, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			it.Stop()
			return
		}
		if err := msg.Nak(); err != nil {
			it.Stop()
			return
		}
	}
}

// work runs the handler, and tells the server meanwhile that it still works.
func (l *loop) work(ctx context.Context, msg jetstream.Msg) error {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(l.spec.AckWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if err := msg.InProgress(); err != nil {
					l.log.Debug("cannot report progress", "error", err)
				}
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	r, err := received(msg)
	if err != nil {
		return err
	}
	return l.handleSafely(ctx, r)
}

// handleSafely turns a panic of the handler into an error: one message must not
// end the process that serves all of them.
func (l *loop) handleSafely(ctx context.Context, r Received) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return l.handle(ctx, r)
}

// settle tells the server what became of the message. When it cannot be told the
// message comes again, which handlers stand.
func (l *loop) settle(msg jetstream.Msg, err error) {
	r, metaErr := received(msg)
	if metaErr != nil {
		l.log.Error("a message without its place in the stream", "error", metaErr)
		return
	}
	var final *terminal
	switch {
	case err == nil:
		err = msg.Ack()
	case errors.As(err, &final):
		err = l.terminate(msg, r, final)
	default:
		wait := Backoff(int(r.Deliveries)-1, l.spec.RetryMin, l.spec.RetryMax)
		l.log.Warn("a message will be tried again", "seq", r.Seq, "deliveries", r.Deliveries, "wait", wait, "error", err)
		err = msg.NakWithDelay(wait)
	}
	if err != nil {
		l.log.Warn("cannot settle a message, it will come again", "seq", r.Seq, "error", err)
	}
}

// terminate stores the dead letter before the server is told to drop the message:
// the note that the server sends about it is not certain to arrive.
func (l *loop) terminate(msg jetstream.Msg, r Received, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d := deadLetter{Stream: l.spec.Stream, Consumer: l.spec.Durable, Seq: r.Seq, Deliveries: r.Deliveries, Reason: why.Error()}
	if err := l.client.publishDeadLetter(ctx, d, r.Subject, r.Header, r.Data); err != nil {
		return errors.Join(err, msg.NakWithDelay(l.spec.RetryMin))
	}
	l.log.Warn("a message went to the dead letters", "seq", r.Seq, "reason", why)
	return msg.TermWithReason(headerSafe(why.Error()))
}

func received(msg jetstream.Msg) (Received, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Received{}, fmt.Errorf("natsx: read the metadata of a message on %s: %w", msg.Subject(), err)
	}
	return Received{
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(),
		Seq: meta.Sequence.Stream, Deliveries: meta.NumDelivered, Published: meta.Timestamp,
	}, nil
}

// Backoff is lo doubled n times, at most hi, less up to a fifth at random so that
// many that failed together do not come back together.
func Backoff(n int, lo, hi time.Duration) time.Duration {
	d := hi
	if n < 32 && lo<<n > 0 {
		d = min(hi, lo<<max(n, 0))
	}
	return d - time.Duration(rand.Int64N(int64(d)/5+1))
}

// sleep waits, and says whether ctx still stands.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
