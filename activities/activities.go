// Package activities adapts the packages that do the work to Temporal: each
// activity loads what it needs by id, calls them, writes rows, and states its
// idempotency rule. Scores, verdicts and patches are made elsewhere.
package activities

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"ratchet/benchmarks"
	"ratchet/internal/artifact"
	"ratchet/internal/campaign"
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
	Proposers func(campaign.Spec) ([]propose.Proposer, error)
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
	proposers func(campaign.Spec) ([]propose.Proposer, error)
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
	return &Activities{
		store: c.Store, artifacts: c.Artifacts, boxes: c.Boxes, repos: c.Repos, log: c.Logger,
		suites: c.Suites, proposers: c.Proposers,
	}, nil
}

// RegisterMain adds the short activities to a worker of the main queue.
func (a *Activities) RegisterMain(r worker.ActivityRegistry) {
	register(r, protocol.OpenCampaign, a.OpenCampaign)
	register(r, protocol.ProposeCandidates, a.ProposeCandidates)
	register(r, protocol.SelectCandidate, a.SelectCandidate)
	register(r, protocol.LandChange, a.LandChange)
	register(r, protocol.RequestApproval, a.RequestApproval)
	register(r, protocol.KeepChange, a.KeepChange)
	register(r, protocol.RevertChange, a.RevertChange)
	register(r, protocol.RecordGeneration, a.RecordGeneration)
	register(r, protocol.FinishCampaign, a.FinishCampaign)
}

// RegisterSandbox adds the activities that run sandboxes to a worker of their queue.
func (a *Activities) RegisterSandbox(r worker.ActivityRegistry) {
	register(r, protocol.PrepareTarget, a.PrepareTarget)
	register(r, protocol.MeasureBaseline, a.MeasureBaseline)
	register(r, protocol.DiagnoseWeakness, a.DiagnoseWeakness)
	register(r, protocol.ScreenCandidates, a.ScreenCandidates)
	register(r, protocol.ConfirmChange, a.ConfirmChange)
}

// register adds one activity under its name, with its errors mapped.
func register[I, R any](r worker.ActivityRegistry, name string, f func(context.Context, I) (R, error)) {
	mapped := func(ctx context.Context, in I) (R, error) {
		out, err := f(ctx, in)
		return out, Map(err, activity.GetInfo(ctx).Attempt)
	}
	r.RegisterActivityWithOptions(mapped, activity.RegisterOptions{Name: name})
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
