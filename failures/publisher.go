package failures

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"ratchet/internal/natsx"
)

// Config says where to publish. Only URL is required.
type Config struct {
	// URL of the NATS server, or several of one cluster, separated by commas.
	URL string
	// Name of the connection, for people who look at the server.
	Name string
	// Credentials is the path of a NATS credentials file, empty for none.
	Credentials string
	// Logger receives what happens to the connection; the default discards.
	Logger *slog.Logger
}

// Publisher publishes events. Its methods are safe for concurrent use.
type Publisher struct{ client *natsx.Client }

// Connect returns a Publisher; Close it after use. It reconnects by itself when
// the server goes away for a while.
func Connect(ctx context.Context, cfg Config) (*Publisher, error) {
	c, err := natsx.Connect(ctx, natsx.Config{URL: cfg.URL, Name: cfg.Name, Credentials: cfg.Credentials, Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	return &Publisher{client: c}, nil
}

// Close closes the connection. It may be called twice, and on a nil Publisher.
func (p *Publisher) Close() {
	if p != nil {
		p.client.Close()
	}
}

// Publish sets the event's defaults, validates it, and returns when the event is
// stored on the server; the event that it returns has the ID that was used. An
// error with ErrInvalid is final. After any other it is open whether the event
// was stored: publish the returned event again, which has no effect if it was.
func (p *Publisher) Publish(ctx context.Context, e Event) (Event, error) {
	e = e.WithDefaults()
	data, err := Encode(e)
	if err != nil {
		return e, fmt.Errorf("failures: publish: %w", err)
	}
	subject, err := Subject(e.Severity, e.Agent)
	if err != nil {
		return e, fmt.Errorf("failures: publish: %w", err)
	}
	_, err = p.client.Publish(ctx, natsx.Message{
		Subject: subject, ID: messageID(e), Data: data,
		Header: map[string][]string{contentHeader: {structured}},
	})
	if errors.Is(err, natsx.ErrNoStream) {
		err = fmt.Errorf("%w: start `ratchet dev`, or a `ratchet worker`, once against this server", err)
	}
	if err != nil {
		return e, fmt.Errorf("failures: publish event %s of %s: %w", e.ID, e.Source, err)
	}
	return e, nil
}

// messageID is what the server recognises a repetition by. It is a hash because
// ids and sources may hold what a header may not.
func messageID(e Event) string {
	h := sha256.Sum256([]byte(e.Source + "\x00" + e.ID))
	return hex.EncodeToString(h[:])
}
