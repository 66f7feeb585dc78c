package natsx

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams and the roots of their subjects.
const (
	// FailuresStream holds failure events until they are ingested.
	FailuresStream  = "RATCHET_FAILURES"
	FailuresSubject = "ratchet.failures"
	// DeadLetterStream holds the messages that could not be handled.
	DeadLetterStream  = "RATCHET_DLQ"
	DeadLetterSubject = "ratchet.dlq"
	// AdvisoriesStream holds the server's notes on messages that were given up.
	AdvisoriesStream = "RATCHET_ADVISORIES"
)

const (
	advisoryRoot = "$JS.EVENT.ADVISORY.CONSUMER."
	mib          = 1 << 20
	day          = 24 * time.Hour
)

// streams is what EnsureStreams makes. A message leaves the failures stream when
// it has been acknowledged, so that the stream holds only what is still to be done
// and, when it is full, refuses a new event rather than dropping one.
func streams(replicas int) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		{
			Name:        FailuresStream,
			Description: "failures of agents in production, until they are ingested",
			Subjects:    []string{FailuresSubject + ".>"},
			Retention:   jetstream.WorkQueuePolicy,
			Discard:     jetstream.DiscardNew,
			MaxBytes:    1024 * mib,
			MaxMsgSize:  mib / 2, // so that a dead letter's headers still fit the server's 1 MiB
			Duplicates:  10 * time.Minute,
			Storage:     jetstream.FileStorage,
			Replicas:    replicas,
		},
		{
			Name:        DeadLetterStream,
			Description: "messages that could not be handled, with the reason in a header",
			Subjects:    []string{DeadLetterSubject + ".>"},
			MaxBytes:    512 * mib,
			MaxAge:      365 * day,
			Duplicates:  day,
			Storage:     jetstream.FileStorage,
			Replicas:    replicas,
		},
		{
			Name:        AdvisoriesStream,
			Description: "what the server says of messages that were given up",
			Subjects: []string{
				advisoryRoot + "MAX_DELIVERIES." + FailuresStream + ".*",
				advisoryRoot + "MSG_TERMINATED." + FailuresStream + ".*",
			},
			Retention: jetstream.WorkQueuePolicy,
			MaxBytes:  64 * mib,
			MaxAge:    30 * day,
			Storage:   jetstream.FileStorage,
			Replicas:  replicas,
		},
	}
}

// EnsureStreams makes the streams, or brings existing ones up to date. It is
// idempotent and safe to call from several processes at once.
func (c *Client) EnsureStreams(ctx context.Context) error {
	for _, s := range streams(c.cfg.Replicas) {
		if _, err := c.js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("natsx: make the stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// Pending is the number of messages that a stream holds.
func (c *Client) Pending(ctx context.Context, stream string) (uint64, error) {
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("natsx: look at the stream %s: %w", stream, err)
	}
	return s.CachedInfo().State.Msgs, nil
}
