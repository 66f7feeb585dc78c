// Package activities adapts the packages that do the work to Temporal: each
// activity loads what it needs by id, calls them, writes rows, and states its
// idempotency rule. Scores, verdicts and patches are made elsewhere.
package activities

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"ratchet/benchmarks"
	"ratchet/internal/artifact"
	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// Boxes opens sandboxes and prepares images; *docker.Engine does.
type Boxes interface {
	sandbox.Provider
	Prepare(ctx context.Context, t docker.Target, progress func(string)) (docker.Image, error)
}

// Config is what activities work with. Store, Artifacts, Boxes and Repos are required.
type Config struct {
	Store     *store.Store
	Artifacts artifact.Blobs
	Boxes     Boxes
	Repos     string // folder of the campaigns' bare repositories
	Logger    *slog.Logger
	// Suites and Proposers make what a specification names: the package's own
	// Suites and Proposers when nil.
	Suites    func(campaign.Spec) ([]benchmarks.Suite, error)
	Proposers func(campaign.Spec, Callers) ([]propose.Proposer, error)
	// Models makes the clients of model servers. When it is nil Activities has a pool
	// of its own, which reads the keys of servers with Getenv; nil finds none.
	Models *llm.Pool
	Getenv func(string) string
	// Trace, which may be nil, is told when an activity has passed a point at which
	// something became durable, as <activity>/<point>: "begin" for each, "end" or
	// the kind of its error, and between them those that the activity names, such
	// as LandChange/branch, or, of each model call, "answered" before anything of it is
	// durable, "written" and "settled". It is called from a goroutine of the activity, which
	// waits for it; the context tells which run and attempt it is.
	Trace func(ctx context.Context, point string)
}

// Validate reports what is missing.
func (c Config) Validate() error {
	switch {
	case c.Store == nil:
		return errors.New("activities: a store is required")
	case c.Artifacts == nil:
		return errors.New("activities: an artifact store is required")
	case c.Boxes == nil:
		return errors.New("activities: a sandbox engine is required")
	case !filepath.IsAbs(c.Repos):
		return errors.New("activities: the folder of repositories must be absolute")
	}
	return nil
}

// Activities holds the activities of a worker. It is safe for concurrent use.
type Activities struct {
	store     *store.Store
	artifacts artifact.Blobs
	boxes     Boxes
	repos     string
	log       *slog.Logger
	suites    func(campaign.Spec) ([]benchmarks.Suite, error)
	proposers func(campaign.Spec, Callers) ([]propose.Proposer, error)
	models    *llm.Pool
	own       *llm.Pool // models, when nobody else closes it
	room      *room
	trace     func(ctx context.Context, point string)
	host      *host
}

// New checks the configuration.
func New(c Config) (*Activities, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Suites == nil {
		c.Suites = Suites
	}
	if c.Proposers == nil {
		c.Proposers = Proposers
	}
	if c.Trace == nil {
		c.Trace = func(context.Context, string) {}
	}
	own, err := c.pool()
	if err != nil {
		return nil, err
	}
	return &Activities{
		own: own, models: cmp.Or(c.Models, own),
		store: c.Store, artifacts: c.Artifacts, boxes: c.Boxes, repos: c.Repos, log: c.Logger,
		suites: c.Suites, proposers: c.Proposers, room: newRoom(), trace: c.Trace, host: newHost(),
	}, nil
}

// pool makes the pool that Activities has where it is given none.
func (c Config) pool() (*llm.Pool, error) {
	if c.Models != nil {
		return nil, nil
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	return llm.NewPool(llm.PoolConfig{Backends: backends.All(), Getenv: c.Getenv, Logger: c.Logger})
}

// Close ends model calls under way and lets go of their connections. Activities
// that are run afterwards find no model server. It may be called twice, and does
// nothing to a pool that was given.
func (a *Activities) Close() {
	if a.own != nil {
		a.own.Close()
	}
}

// RegisterMain adds the short activities to a worker of the main queue.
func (a *Activities) RegisterMain(r worker.ActivityRegistry) {
	register(a, r, protocol.OpenCampaign, a.OpenCampaign)
	register(a, r, protocol.ProposeCandidates, a.ProposeCandidates)
	register(a, r, protocol.SelectCandidate, a.SelectCandidate)
	register(a, r, protocol.LandChange, a.LandChange)
	register(a, r, protocol.RequestApproval, a.RequestApproval)
	register(a, r, protocol.KeepChange, a.KeepChange)
	register(a, r, protocol.RevertChange, a.RevertChange)
	register(a, r, protocol.RecordGeneration, a.RecordGeneration)
	register(a, r, protocol.FinishCampaign, a.FinishCampaign)
	register(a, r, protocol.SteerCampaign, a.SteerCampaign)
}

// RegisterLLM adds the activities that call models to a worker of their queue.
func (a *Activities) RegisterLLM(r worker.ActivityRegistry) {
	register(a, r, protocol.ProposeCandidates, a.ProposeCandidates)
	register(a, r, protocol.ReflectGeneration, a.ReflectGeneration)
}

// RegisterSandbox adds the activities that run sandboxes to a worker of their queue.
func (a *Activities) RegisterSandbox(r worker.ActivityRegistry) {
	register(a, r, protocol.PrepareTarget, a.PrepareTarget)
	register(a, r, protocol.MeasureBaseline, a.MeasureBaseline)
	register(a, r, protocol.DiagnoseWeakness, a.DiagnoseWeakness)
	register(a, r, protocol.ScreenCandidates, a.ScreenCandidates)
	register(a, r, protocol.ConfirmChange, a.ConfirmChange)
}

// register adds one activity under its name, traced and with its errors mapped.
func register[I, R any](a *Activities, r worker.ActivityRegistry, name string, f func(context.Context, I) (R, error)) {
	mapped := func(ctx context.Context, in I) (R, error) {
		a.reached(ctx, "begin")
		out, err := f(ctx, in)
		err = Map(err, activity.GetInfo(ctx).Attempt)
		a.reached(ctx, ending(err))
		return out, err
	}
	r.RegisterActivityWithOptions(mapped, activity.RegisterOptions{Name: name})
}

// ending names how an activity ended, for the trace.
func ending(err error) string {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return "end"
	case errors.As(err, &app):
		return app.Type()
	}
	return "Canceled"
}

// reached says that the activity of this context has passed a point. Outside of an
// activity there are none.
func (a *Activities) reached(ctx context.Context, point string) {
	if !activity.IsActivity(ctx) {
		return
	}
	a.trace(ctx, activity.GetInfo(ctx).ActivityType.Name+"/"+point)
}

// fence claims a scope for this attempt of this activity: an older attempt that
// still runs, or one of an earlier workflow run, can no longer write under it.
func (a *Activities) fence(ctx context.Context, scope string) (store.Fence, error) {
	info := activity.GetInfo(ctx)
	f := store.Fence{
		Scope:   scope + "/" + info.ActivityType.Name,
		Run:     info.WorkflowExecution.RunID,
		Attempt: int(info.Attempt),
	}
	return f, a.store.Claim(ctx, f)
}
