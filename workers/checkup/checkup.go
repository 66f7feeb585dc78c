// Package checkup is what ratchet doctor looks at: Docker, the host, the data
// folder, the servers, a campaign file with its repository and its model servers.
//
// It changes nothing. What comes into being while it looks, a box and a copy of
// the repository, is gone when it returns; each model server is asked for one
// token.
package checkup

import (
	"context"
	"sync"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/internal/llm"
	"ratchet/sandbox/docker"
	"ratchet/workers"
)

// Config says what to look at.
type Config struct {
	Data string // data folder, absolute
	// Services are those of an installation; nil when ratchet runs its own.
	Services      *workers.Services
	WrongServices error // why what the environment says of them cannot be used
	UIPort        int   // where the Web UI is usually put

	File  string        // campaign file, as it was given; empty for none
	Spec  campaign.Spec // what is in it
	Wrong error         // why Spec cannot be used; nil when it can

	Getenv func(string) string
	// Backends reach model servers, by their protocols.
	Backends map[string]llm.NewBackend
	// Most caps the time of each check; 0 leaves each its own.
	Most time.Duration
}

// Limits of the checks, most of which take a fraction of a second.
const (
	quick      = 10 * time.Second // what is on this machine
	imageLimit = 30 * time.Second // a registry may be asked
	boxLimit   = time.Minute
	repoLimit  = 2 * time.Minute // it may have to be fetched
	modelLimit = 2 * time.Minute // a server that has just started compiles first
	cleanUp    = 5 * time.Second // to remove a box, or the copy of a repository
)

// Run looks at everything and returns what it found, always in the same order.
func Run(ctx context.Context, cfg Config) doctor.Report {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends what several checks share
	c := &checkup{Config: cfg, ctx: ctx}
	return doctor.Run(ctx, c.checks(), cfg.Most, c.keys()...)
}

// checkup is one run. Several checks rest on what Docker says; it is asked once.
type checkup struct {
	Config
	ctx    context.Context
	engine lazy[docker.Facts]
	image  lazy[docker.Readiness]
}

func (c *checkup) checks() []doctor.Check {
	list := []doctor.Check{
		c.check("campaign file", quick, c.file),
		{Name: "repository", Limit: repoLimit, Grace: cleanUp, Probe: c.ofFile(c.repository), Late: "a large repository takes long to fetch: clone it and name the clone under repo, or allow more with --timeout"},
		{Name: "Docker", Limit: quick, Probe: c.docker, Late: "the engine hangs: restart it, or correct DOCKER_HOST"},
		c.check("limits", quick, c.limits),
		{Name: "image", Limit: imageLimit, Probe: c.ofFile(c.imageReady), Late: "the engine or a registry hangs: pull the image by hand, or use host-go or host-python"},
		{Name: "sandbox", Limit: boxLimit, Grace: cleanUp, Probe: c.sandbox, Late: "the engine does not start containers: look at its log"},
		c.check("memory", quick, c.ofFile(c.memory)),
		c.check("disk", quick, c.disk),
		c.check("data folder", quick, c.dataFolder),
		c.check("store", quick, c.ofServices(c.store)),
		c.check("ports", quick, c.ports),
		{Name: "Temporal", Limit: quick, Probe: c.ofServices(c.temporal), Late: "the server hangs: restart the stack"},
		{Name: "NATS", Limit: quick, Probe: c.ofServices(c.nats), Late: "the server hangs: restart the stack"},
	}
	list = append(list, c.models()...)
	return append(list, c.check("clock", quick, c.clock), c.check("git", quick, c.git))
}

// check is one whose probe has nothing to wait for but this machine.
func (c *checkup) check(name string, limit time.Duration, probe func(context.Context) doctor.Finding) doctor.Check {
	return doctor.Check{Name: name, Limit: limit, Probe: probe, Late: "this machine is very slow or a file system hangs: look at its load and mounts"}
}

// ofFile skips a probe when there is no campaign file that can be used.
func (c *checkup) ofFile(probe func(context.Context) doctor.Finding) func(context.Context) doctor.Finding {
	return func(ctx context.Context) doctor.Finding {
		if f, skip := c.noFile(); skip {
			return f
		}
		return probe(ctx)
	}
}

// ofServices fails a probe when the servers cannot even be named.
func (c *checkup) ofServices(probe func(context.Context) doctor.Finding) func(context.Context) doctor.Finding {
	return func(ctx context.Context) doctor.Finding {
		if c.WrongServices != nil {
			return failed(c.WrongServices, "correct the environment variables that name the services")
		}
		return probe(ctx)
	}
}

// noFile is the finding of a check that needs a campaign file, when there is none.
func (c *checkup) noFile() (doctor.Finding, bool) {
	switch {
	case c.File == "":
		return doctor.Skip("name a campaign file: ratchet doctor FILE", "no campaign file was named"), true
	case c.Wrong != nil:
		return doctor.Skip("correct the campaign file first", "the campaign file cannot be used"), true
	}
	return doctor.Finding{}, false
}

// keys are the API keys of the endpoints, which nothing may print.
func (c *checkup) keys() (keys []string) {
	for _, e := range c.Spec.Endpoints {
		if e.KeyEnv != "" {
			keys = append(keys, c.Getenv(e.KeyEnv))
		}
	}
	return keys
}

// facts asks Docker once for all checks.
func (c *checkup) facts(ctx context.Context) (docker.Facts, error) {
	return c.engine.get(ctx, func() (docker.Facts, error) {
		ctx, cancel := context.WithTimeout(c.ctx, quick)
		defer cancel()
		return docker.Look(ctx, "")
	})
}

// lazy is a value that is made once, for all who ask.
type lazy[T any] struct {
	once  sync.Once
	done  chan struct{}
	value T
	err   error
}

// get waits until make has returned or ctx has ended.
func (l *lazy[T]) get(ctx context.Context, make_ func() (T, error)) (T, error) {
	l.once.Do(func() {
		l.done = make(chan struct{})
		go func() {
			defer close(l.done)
			l.value, l.err = make_()
		}()
	})
	select {
	case <-l.done:
		return l.value, l.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
