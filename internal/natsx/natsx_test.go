package natsx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"ratchet/internal/natsx"
	"ratchet/internal/natsx/natstest"
)

const patience = 30 * time.Second // until a test gives up

func connect(t *testing.T, url string) *natsx.Client {
	t.Helper()
	c, err := natsx.Connect(t.Context(), natsx.Config{URL: url, Name: t.Name()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.EnsureStreams(t.Context()))
	return c
}

// background runs f until the test ends, or until stop.
func background(t *testing.T, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func publish(t *testing.T, c *natsx.Client, subject, id, data string) natsx.Ack {
	t.Helper()
	ack, err := c.Publish(t.Context(), natsx.Message{Subject: subject, ID: id, Data: []byte(data)})
	require.NoError(t, err)
	return ack
}

func requirePending(t *testing.T, c *natsx.Client, stream string, want uint64) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, err := c.Pending(context.Background(), stream)
		return err == nil && n == want
	}, patience, 5*time.Millisecond, "messages left in %s", stream)
}

func TestPublishIsIdempotentByID(t *testing.T) {
	c := connect(t, natstest.Start(t).URL)
	require.NoError(t, c.EnsureStreams(t.Context()), "a second time")
	first := publish(t, c, "ratchet.failures.low.a", "1", "x")
	again := publish(t, c, "ratchet.failures.low.a", "1", "x")
	require.False(t, first.Duplicate)
	require.Equal(t, natsx.Ack{Stream: natsx.FailuresStream, Seq: first.Seq, Duplicate: true}, again)
	requirePending(t, c, natsx.FailuresStream, 1)

	_, err := c.Publish(t.Context(), natsx.Message{Subject: "elsewhere"})
	require.ErrorIs(t, err, natsx.ErrNoStream)
}

func TestConsumeAcknowledgesAfterTheWork(t *testing.T) {
	c := connect(t, natstest.Start(t).URL)
	for i := range 3 {
		publish(t, c, "ratchet.failures.low.a", fmt.Sprint(i), fmt.Sprint(i))
	}
	seen := make(chan natsx.Received, 10)
	spec := natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d", RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond}
	stop := background(t, func(ctx context.Context) {
		c.Consume(ctx, spec, func(_ context.Context, r natsx.Received) error {
			seen <- r
			if string(r.Data) == "1" && r.Deliveries == 1 {
				return errors.New("not yet")
			}
			if string(r.Data) == "2" && r.Deliveries == 1 {
				panic("a defect of the handler")
			}
			return nil
		})
	})
	deliveries := map[string]uint64{}
	for range 5 {
		r := <-seen
		deliveries[string(r.Data)] = r.Deliveries
	}
	require.Equal(t, map[string]uint64{"0": 1, "1": 2, "2": 2}, deliveries)
	requirePending(t, c, natsx.FailuresStream, 0)
	stop()
}

// A handler that takes longer than AckWait is not disturbed by a second delivery.
func TestSlowWorkIsNotDeliveredTwice(t *testing.T) {
	c := connect(t, natstest.Start(t).URL)
	publish(t, c, "ratchet.failures.low.a", "1", "x")
	const ackWait = time.Second
	seen := make(chan natsx.Received, 10)
	background(t, func(ctx context.Context) {
		c.Consume(ctx, natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d", AckWait: ackWait}, func(_ context.Context, r natsx.Received) error {
			seen <- r
			time.Sleep(2 * ackWait) // the work, not a wait for anything
			return nil
		})
	})
	requirePending(t, c, natsx.FailuresStream, 0)
	require.Len(t, seen, 1)
}

// What was fetched but not handled is free for the next process at once.
func TestStopGivesBackWhatWasFetched(t *testing.T) {
	c := connect(t, natstest.Start(t).URL)
	const messages = 20
	for i := range messages {
		publish(t, c, "ratchet.failures.low.a", fmt.Sprint(i), "x")
	}
	spec := natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d", AckWait: time.Hour}
	first, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stop := background(t, func(ctx context.Context) {
		c.Consume(ctx, spec, func(context.Context, natsx.Received) error {
			once.Do(func() { close(first); <-release })
			return nil
		})
	})
	<-first
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	stop()
	background(t, func(ctx context.Context) {
		c.Consume(ctx, spec, func(context.Context, natsx.Received) error { return nil })
	})
	requirePending(t, c, natsx.FailuresStream, 0)
}

func TestTerminatedMessagesBecomeDeadLetters(t *testing.T) {
	url := natstest.Start(t).URL
	c := connect(t, url)
	publish(t, c, "ratchet.failures.high.team.bot", "1", "poison")
	background(t, c.CopyDeadLetters)
	background(t, func(ctx context.Context) {
		c.Consume(ctx, natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d"}, func(context.Context, natsx.Received) error {
			return natsx.Terminate(errors.New("bad\nschema"))
		})
	})
	requirePending(t, c, natsx.FailuresStream, 0)
	requirePending(t, c, natsx.AdvisoriesStream, 0)
	requireDeadLetter(t, url, "ratchet.dlq.failures.high.team.bot", "poison", "bad schema")
}

func TestMessagesTriedTooOftenBecomeDeadLetters(t *testing.T) {
	url := natstest.Start(t).URL
	c := connect(t, url)
	publish(t, c, "ratchet.failures.high.team.bot", "1", "cursed")
	spec := natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d", MaxDeliver: 2, RetryMin: time.Millisecond, RetryMax: time.Millisecond}
	background(t, func(ctx context.Context) {
		c.Consume(ctx, spec, func(context.Context, natsx.Received) error { return errors.New("never works") })
	})
	requirePending(t, c, natsx.AdvisoriesStream, 1)
	background(t, c.CopyDeadLetters) // started late, it catches up
	requirePending(t, c, natsx.AdvisoriesStream, 0)
	requirePending(t, c, natsx.FailuresStream, 0)
	requireDeadLetter(t, url, "ratchet.dlq.failures.high.team.bot", "cursed", "given up after 2 deliveries")
}

func requireDeadLetter(t *testing.T, url, subject, data, reason string) {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), natsx.DeadLetterStream)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.CachedInfo().State.Msgs)
	msg, err := s.GetLastMsgForSubject(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, data, string(msg.Data))
	require.Equal(t, reason, msg.Header.Get(natsx.HeaderReason))
	require.Equal(t, natsx.FailuresStream, msg.Header.Get(natsx.HeaderStream))
	require.Equal(t, "1", msg.Header.Get(natsx.HeaderSeq))
}

func TestConsumeSurvivesARestartOfTheServer(t *testing.T) {
	server := natstest.Start(t)
	c := connect(t, server.URL)
	seen := make(chan string, 10)
	background(t, func(ctx context.Context) {
		c.Consume(ctx, natsx.Consumer{Stream: natsx.FailuresStream, Durable: "d", RetryMin: 10 * time.Millisecond}, func(_ context.Context, r natsx.Received) error {
			seen <- string(r.Data)
			return nil
		})
	})
	publish(t, c, "ratchet.failures.low.a", "1", "before")
	require.Equal(t, "before", <-seen)
	requirePending(t, c, natsx.FailuresStream, 0)

	server.Stop()
	_, err := c.Publish(t.Context(), natsx.Message{Subject: "ratchet.failures.low.a", ID: "2", Data: []byte("lost")})
	require.Error(t, err, "what no server took must not look published")
	server.Restart(t)
	require.Eventually(t, func() bool {
		_, err := c.Publish(context.Background(), natsx.Message{Subject: "ratchet.failures.low.a", ID: "2", Data: []byte("after")})
		return err == nil
	}, patience, 20*time.Millisecond)
	require.Equal(t, "after", <-seen)
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	server := natstest.Start(t)
	url := server.URL
	server.Stop()
	_, err := natsx.Connect(t.Context(), natsx.Config{URL: "nats://user:secret@" + url[len("nats://"):]})
	require.ErrorContains(t, err, "is the server running?")
	require.NotContains(t, err.Error(), "secret")
	_, err = natsx.Connect(t.Context(), natsx.Config{})
	require.ErrorContains(t, err, "no URL")
	var none *natsx.Client
	none.Close()
}

func TestHeadersIgnoreCase(t *testing.T) {
	h := map[string][]string{"Ce-Id": {"1"}, "empty": {}}
	require.Equal(t, "1", natsx.HeaderGet(h, "ce-ID"))
	require.Empty(t, natsx.HeaderGet(h, "empty"))
	require.Empty(t, natsx.HeaderGet(h, "ce-type"))
}
