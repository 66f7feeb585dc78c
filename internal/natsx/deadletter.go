package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of a dead letter, beside those of the message itself.
const (
	HeaderReason     = "Ratchet-Dlq-Reason"
	HeaderStream     = "Ratchet-Dlq-Stream"
	HeaderConsumer   = "Ratchet-Dlq-Consumer"
	HeaderSeq        = "Ratchet-Dlq-Seq"
	HeaderDeliveries = "Ratchet-Dlq-Deliveries"
)

// maxReason bounds a reason, in bytes.
const maxReason = 1024

type deadLetter struct {
	Stream     string `json:"stream"`
	Consumer   string `json:"consumer"`
	Seq        uint64 `json:"stream_seq"`
	Deliveries uint64 `json:"deliveries"`
	Reason     string `json:"reason"`
}

// DeadLetterFor is the subject that dead letters of a subject are stored under:
// ratchet.failures.high.a is found as ratchet.dlq.failures.high.a.
func DeadLetterFor(subject string) string {
	return DeadLetterSubject + "." + strings.TrimPrefix(subject, "ratchet.")
}

// publishDeadLetter is idempotent by the place of the message in its stream.
func (c *Client) publishDeadLetter(ctx context.Context, d deadLetter, subject string, header map[string][]string, data []byte) error {
	h := nats.Header{}
	for k, v := range header {
		if !strings.HasPrefix(strings.ToLower(k), "nats-") { // those steer the server
			h[k] = v
		}
	}
	h.Set(HeaderReason, headerSafe(d.Reason))
	h.Set(HeaderStream, d.Stream)
	h.Set(HeaderConsumer, d.Consumer)
	h.Set(HeaderSeq, strconv.FormatUint(d.Seq, 10))
	h.Set(HeaderDeliveries, strconv.FormatUint(d.Deliveries, 10))
	_, err := c.Publish(ctx, Message{Subject: DeadLetterFor(subject), ID: fmt.Sprintf("%s-%d", d.Stream, d.Seq), Header: h, Data: data})
	if err != nil {
		return fmt.Errorf("natsx: store the dead letter of message %d: %w", d.Seq, err)
	}
	return nil
}

// CopyDeadLetters moves messages that the server has given up, for example after
// MaxDeliver attempts, from their stream to the dead letters, until ctx ends. It
// reads the server's advisories, which are stored, so it catches up on what
// happened while nobody ran it. Any number of processes may run it.
func (c *Client) CopyDeadLetters(ctx context.Context) {
	c.Consume(ctx, Consumer{Stream: AdvisoriesStream, Durable: "dead-letters"}, c.copyDeadLetter)
}

func (c *Client) copyDeadLetter(ctx context.Context, advisory Received) error {
	var d deadLetter
	if err := json.Unmarshal(advisory.Data, &d); err != nil || d.Stream == "" || d.Seq == 0 {
		c.cfg.Logger.Error("an advisory that cannot be read was dropped", "subject", advisory.Subject, "error", err)
		return nil
	}
	if d.Reason == "" {
		d.Reason = fmt.Sprintf("given up after %d deliveries", d.Deliveries)
	}
	s, err := c.js.Stream(ctx, d.Stream)
	if err != nil {
		return fmt.Errorf("natsx: look at the stream %s: %w", d.Stream, err)
	}
	msg, err := s.GetMsg(ctx, d.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // it was copied, or acknowledged after all
	}
	if err != nil {
		return fmt.Errorf("natsx: read message %d of %s: %w", d.Seq, d.Stream, err)
	}
	if err := c.publishDeadLetter(ctx, d, msg.Subject, msg.Header, msg.Data); err != nil {
		return err
	}
	if err := s.DeleteMsg(ctx, d.Seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("natsx: delete message %d of %s: %w", d.Seq, d.Stream, err)
	}
	return nil
}

// headerSafe makes text fit for a header: one line, bounded.
func headerSafe(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}
