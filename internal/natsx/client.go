// Package natsx is the one NATS client of ratchet: connecting, the streams that
// ratchet owns, publishing with an acknowledgement, consuming with acknowledgement
// after the work, and dead letters.
package natsx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config says how to connect. Only URL is required.
type Config struct {
	// URL of the server, or several of one cluster, separated by commas.
	URL string
	// Name of the connection, for people who look at the server.
	Name string
	// Credentials is the path of a NATS credentials file, empty for none.
	Credentials string
	// ConnectTimeout bounds Connect, 5 s by default.
	ConnectTimeout time.Duration
	// Replicas of the streams that EnsureStreams makes, 1 by default; 3 in a cluster.
	Replicas int
	// Logger receives what happens to the connection; the default discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "ratchet"
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Client is a connection to NATS. It reconnects for ever once it has connected.
// Its methods are safe for concurrent use.
type Client struct {
	cfg Config
	nc  *nats.Conn
	js  jetstream.JetStream
}

// Connect connects to the server and checks that it has JetStream. Without a
// server it fails within ConnectTimeout, or when ctx ends.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if cfg.URL == "" {
		return nil, errors.New("natsx: connect: no URL (for example nats://127.0.0.1:4222)")
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	nc, err := dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("natsx: connect to %s: %w (is the server running?)", redact(cfg.URL), err)
	}
	c := &Client{cfg: cfg, nc: nc}
	if c.js, err = jetstream.New(nc); err == nil {
		_, err = c.js.AccountInfo(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("natsx: JetStream at %s: %w (start the server with JetStream enabled)", redact(cfg.URL), err)
	}
	return c, nil
}

// dial connects under ctx: nats.Connect itself takes only a time-out.
func dial(ctx context.Context, cfg Config) (*nats.Conn, error) {
	type result struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		nc, err := nats.Connect(cfg.URL, options(cfg)...)
		done <- result{nc, err}
	}()
	select {
	case r := <-done:
		return r.nc, r.err
	case <-ctx.Done():
		go func() { // the attempt ends by its own time-out
			if r := <-done; r.nc != nil {
				r.nc.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func options(cfg Config) []nats.Option {
	log := cfg.Logger
	opts := []nats.Option{
		nats.Name(cfg.Name),
		nats.Timeout(cfg.ConnectTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, time.Second),
		// What cannot be acknowledged must not look sent: nothing is buffered
		// while the connection is down.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(20 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("lost the connection to NATS", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to NATS again", "url", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS", "error", err) }),
	}
	if cfg.Credentials != "" {
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	return opts
}

// Close flushes what was sent and closes the connection; consumers ought to have
// ended before. It may be called twice, and on a nil Client.
func (c *Client) Close() {
	if c == nil {
		return
	}
	if c.nc.IsConnected() {
		// A flush that fails loses nothing: everything of weight is acknowledged.
		_ = c.nc.FlushTimeout(time.Second)
	}
	c.nc.Close()
}

// Message is a message to publish.
type Message struct {
	Subject string
	// ID makes publishing idempotent in the de-duplication window of the stream.
	ID   string
	Data []byte
	// Header is optional.
	Header map[string][]string
}

// Ack says what became of a published message.
type Ack struct {
	Stream    string
	Seq       uint64
	Duplicate bool // the stream had a message with this ID already
}

// ErrNoStream: no stream takes the subject.
var ErrNoStream = errors.New("no stream takes this subject")

// Publish sends m and returns when a stream has stored it. It retries for a short
// while when no stream answers; any other failure comes back at once, and leaves
// open whether the message was stored: publish again with the same ID.
func (c *Client) Publish(ctx context.Context, m Message) (Ack, error) {
	ack, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Data: m.Data, Header: withID(m.Header, m.ID)})
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("%w (the service that owns the stream makes it when it starts)", ErrNoStream)
	}
	if err != nil {
		return Ack{}, fmt.Errorf("natsx: publish to %s: %w", m.Subject, err)
	}
	return Ack{Stream: ack.Stream, Seq: ack.Sequence, Duplicate: ack.Duplicate}, nil
}

func withID(header map[string][]string, id string) nats.Header {
	h := nats.Header{}
	for k, v := range header {
		h[k] = v
	}
	if id != "" {
		h[nats.MsgIdHdr] = []string{id}
	}
	return h
}

// HeaderGet returns the first value of a header. Unlike nats.Header's own Get it
// ignores case, as CloudEvents asks for.
func HeaderGet(h map[string][]string, key string) string {
	for k, v := range h {
		if strings.EqualFold(k, key) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// redact leaves user and password out of a URL that is shown.
func redact(urls string) string {
	parts := strings.Split(urls, ",")
	for i, u := range parts {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok {
			scheme, rest = "nats", u
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		parts[i] = scheme + "://" + rest
	}
	return strings.Join(parts, ",")
}
