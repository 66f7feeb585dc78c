package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"ratchet/failures"
	"ratchet/internal/model"
	"ratchet/internal/natsx"
	"ratchet/internal/natsx/natstest"
	"ratchet/internal/store"
	"ratchet/workers/ingest"
)

const patience = time.Minute // until a test gives up

// plane is the real thing: a NATS server, a store on disk, and an ingest.
type plane struct {
	nats   *natstest.Server
	client *natsx.Client
	store  *store.Store
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{nats: natstest.Start(t)}
	var err error
	p.store, err = store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "ratchet.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.store.Close()) })
	p.client, err = natsx.Connect(t.Context(), natsx.Config{URL: p.nats.URL})
	require.NoError(t, err)
	t.Cleanup(p.client.Close)
	require.NoError(t, p.client.EnsureStreams(t.Context()))
	return p
}

// config is that of a service that retries quickly.
func (p *plane) config(s ingest.Store, w ingest.Waker) ingest.Config {
	return ingest.Config{Client: p.client, Store: s, Waker: w, RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond}
}

// ingest starts a service that ends with the test.
func (p *plane) ingest(t *testing.T, s ingest.Store, w ingest.Waker) *ingest.Service {
	t.Helper()
	return p.start(t, p.config(s, w))
}

func (p *plane) start(t *testing.T, cfg ingest.Config) *ingest.Service {
	t.Helper()
	service, err := ingest.New(cfg)
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.Background())) })
	return service
}

func (p *plane) publish(t *testing.T, events ...failures.Event) {
	t.Helper()
	pub, err := failures.Connect(t.Context(), failures.Config{URL: p.nats.URL})
	require.NoError(t, err)
	defer pub.Close()
	for _, e := range events {
		_, err := pub.Publish(t.Context(), e)
		require.NoError(t, err)
	}
}

// raw publishes what a defective agent might, past the publisher's checks.
func (p *plane) raw(t *testing.T, subject, data string) {
	t.Helper()
	_, err := p.client.Publish(t.Context(), natsx.Message{Subject: subject, Data: []byte(data)})
	require.NoError(t, err)
}

func (p *plane) requireStored(t *testing.T, want int) []model.Failure {
	t.Helper()
	p.requireDrained(t)
	all, err := p.store.Failures(t.Context(), store.FailureFilter{})
	require.NoError(t, err)
	require.Len(t, all, want)
	return all
}

// requireDrained waits until every event has been settled.
func (p *plane) requireDrained(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, err := p.client.Pending(context.Background(), natsx.FailuresStream)
		return err == nil && n == 0
	}, patience, 5*time.Millisecond, "events left in the stream")
}

func event(id string) failures.Event {
	return failures.Event{ID: id, Agent: "team/bot", Repo: "./agent", Task: "t", Expected: "e", Actual: "a", Severity: failures.Medium, Context: []byte(`{"k":1}`)}
}

// storeFunc puts something before or after the real store.
type storeFunc func(context.Context, model.Failure) (int64, bool, error)

func (f storeFunc) AddFailure(ctx context.Context, m model.Failure) (int64, bool, error) {
	return f(ctx, m)
}

func TestEventReachesTheStoreWhole(t *testing.T) {
	p := newPlane(t)
	p.ingest(t, p.store, nil)
	e := event("1")
	e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.publish(t, e)
	got := p.requireStored(t, 1)[0]
	require.False(t, got.Stored.IsZero())
	got.Stored, got.At = time.Time{}, got.At.UTC()
	want := e.WithDefaults().Failure()
	want.Seq = 1
	require.Equal(t, want, got)
}

func TestThousandEventsNoneLostNoneDouble(t *testing.T) {
	p := newPlane(t)
	const events = 1000
	var adds atomic.Int64
	// Two services share the work; every tenth commit looks failed, so that its
	// event is delivered again.
	flaky := storeFunc(func(ctx context.Context, f model.Failure) (int64, bool, error) {
		seq, added, err := p.store.AddFailure(ctx, f)
		if err == nil && adds.Add(1)%10 == 0 {
			return 0, false, errors.New("the answer got lost")
		}
		return seq, added, err
	})
	p.ingest(t, flaky, nil)
	p.ingest(t, flaky, nil)
	pub, err := failures.Connect(t.Context(), failures.Config{URL: p.nats.URL})
	require.NoError(t, err)
	defer pub.Close()
	var wg sync.WaitGroup
	errs := make(chan error, events)
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < events; i += 4 {
				_, err := pub.Publish(t.Context(), event(fmt.Sprint(i)))
				errs <- err
			}
		})
	}
	wg.Wait()
	for range events {
		require.NoError(t, <-errs)
	}
	ids := map[string]bool{}
	for i, f := range p.requireStored(t, events) {
		ids[f.ID] = true
		require.EqualValues(t, i+1, f.Seq, "cursors have no gap")
	}
	require.Len(t, ids, events)
	require.Greater(t, adds.Load(), int64(events), "the test has provoked no second delivery")
}

func TestDuplicatePublishesAreStoredOnce(t *testing.T) {
	p := newPlane(t)
	p.ingest(t, p.store, nil)
	p.publish(t, event("1"), event("1"), event("2"))
	data, err := failures.Encode(event("1").WithDefaults())
	require.NoError(t, err)
	p.raw(t, "ratchet.failures.medium.team.bot", string(data)) // without the message id that the server knows it by
	p.requireStored(t, 2)
}

// The process ends between the commit and the acknowledgement; the next one is
// given the event again, and wakes for it.
func TestCrashBetweenCommitAndAck(t *testing.T) {
	p := newPlane(t)
	committed := make(chan struct{})
	client, err := natsx.Connect(t.Context(), natsx.Config{URL: p.nats.URL})
	require.NoError(t, err)
	const ackWait = 200 * time.Millisecond // after which the event comes again
	crashing := storeFunc(func(ctx context.Context, f model.Failure) (int64, bool, error) {
		seq, added, err := p.store.AddFailure(ctx, f)
		client.Close() // nothing leaves this process any more
		close(committed)
		return seq, added, err
	})
	first, err := ingest.New(ingest.Config{Client: client, Store: crashing, AckWait: ackWait})
	require.NoError(t, err)
	require.NoError(t, first.Start(t.Context()))
	p.publish(t, event("1"))
	<-committed
	require.NoError(t, first.Stop(t.Context()))

	redelivered := make(chan bool, 10)
	w := &recorder{}
	cfg := p.config(storeFunc(func(ctx context.Context, f model.Failure) (int64, bool, error) {
		seq, added, err := p.store.AddFailure(ctx, f)
		redelivered <- !added
		return seq, added, err
	}), w)
	cfg.AckWait = ackWait
	p.start(t, cfg)
	require.True(t, <-redelivered)
	p.requireStored(t, 1)
	w.require(t, map[string]int64{"team/bot ./agent": 1})
}

func TestStoreErrorsAreRetried(t *testing.T) {
	p := newPlane(t)
	var tries atomic.Int64
	p.ingest(t, storeFunc(func(ctx context.Context, f model.Failure) (int64, bool, error) {
		if tries.Add(1) <= 5 {
			return 0, false, errors.New("disk full")
		}
		return p.store.AddFailure(ctx, f)
	}), nil)
	p.publish(t, event("1"))
	p.requireStored(t, 1)
	require.EqualValues(t, 6, tries.Load())
}

func TestPoisonGoesToTheDeadLettersWithItsReason(t *testing.T) {
	p := newPlane(t)
	p.ingest(t, p.store, nil)
	data, err := failures.Encode(event("1").WithDefaults())
	require.NoError(t, err)
	for subject, tt := range map[string]struct{ data, reason string }{
		"ratchet.failures.low.garbage":      {"boom", "neither a CloudEvent"},
		"ratchet.failures.low.schema":       {`{"specversion":"1.0","id":"1","source":"/s","type":"dev.ratchet.failure.v1","data":{"agent_id":"x"}}`, "severity"},
		"ratchet.failures.critical.another": {string(data), "its severity and agent belong to ratchet.failures.medium.team.bot"},
	} {
		t.Run(subject, func(t *testing.T) {
			p.raw(t, subject, tt.data)
			p.requireDrained(t)
			msg := deadLetter(t, p.nats.URL, natsx.DeadLetterFor(subject))
			require.Equal(t, tt.data, string(msg.Data))
			require.Contains(t, msg.Header.Get(natsx.HeaderReason), tt.reason)
		})
	}
	p.publish(t, event("2")) // the others go on
	require.Equal(t, "2", p.requireStored(t, 1)[0].ID)
	n, err := p.client.Pending(t.Context(), natsx.DeadLetterStream)
	require.NoError(t, err)
	require.EqualValues(t, 3, n, "each of them once")
}

func TestWhatTheStoreNeverTakesIsADeadLetter(t *testing.T) {
	p := newPlane(t)
	p.ingest(t, storeFunc(func(context.Context, model.Failure) (int64, bool, error) {
		return 0, false, fmt.Errorf("no such column: %w", store.ErrInvalid)
	}), nil)
	p.publish(t, event("1"))
	p.requireDrained(t)
	msg := deadLetter(t, p.nats.URL, "ratchet.dlq.failures.medium.team.bot")
	require.Contains(t, msg.Header.Get(natsx.HeaderReason), "no such column")
}

func deadLetter(t *testing.T, url, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), natsx.DeadLetterStream)
	require.NoError(t, err)
	msg, err := s.GetLastMsgForSubject(t.Context(), subject)
	require.NoError(t, err)
	return msg
}

func TestIngestSurvivesARestartOfNATS(t *testing.T) {
	p := newPlane(t)
	p.ingest(t, p.store, nil)
	p.publish(t, event("1"))
	p.requireStored(t, 1)
	p.nats.Stop()
	p.nats.Restart(t)
	p.publish(t, event("2"))
	p.requireStored(t, 2)
}

func TestStartAndStopAreIdempotent(t *testing.T) {
	p := newPlane(t)
	s, err := ingest.New(ingest.Config{Client: p.client, Store: p.store})
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()), "before the first start")
	for i := range 2 {
		require.NoError(t, s.Start(t.Context()))
		require.NoError(t, s.Start(t.Context()))
		p.publish(t, event(fmt.Sprint(i)))
		p.requireStored(t, i+1)
		require.NoError(t, s.Stop(t.Context()))
		require.NoError(t, s.Stop(t.Context()))
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := ingest.New(ingest.Config{})
	require.ErrorContains(t, err, "required")
	_, err = ingest.New(ingest.Config{Client: &natsx.Client{}, Store: storeFunc(nil), RetryMin: -1})
	require.ErrorContains(t, err, "negative")
}
