package activities

import (
	"context"
	"fmt"
	"path/filepath"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/repo"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// target is a campaign with everything that its activities read.
type target struct {
	row      model.Campaign
	spec     campaign.Spec
	repo     *repo.Repo
	trusted  model.Tree // of the base commit
	suites   []benchmarks.Suite
	problems []model.Problem // empty until the baseline has split them
}

// load reads a campaign; its repository must have been imported. The caller
// closes what it gets.
func (a *Activities) load(ctx context.Context, name string) (*target, error) {
	row, err := a.store.Campaign(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &target{row: row}
	if err := a.read(ctx, t); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (a *Activities) read(ctx context.Context, t *target) (err error) {
	if t.spec, err = campaign.FromJSON(t.row.Spec); err != nil {
		return fmt.Errorf("read the stored specification of campaign %s: %w", t.row.Name, err)
	}
	if t.suites, err = a.suites(t.spec); err != nil {
		return err
	}
	if t.problems, err = a.store.Problems(ctx, t.row.Name); err != nil {
		return err
	}
	if t.repo, err = repo.Open(ctx, t.row.Repo); err != nil {
		return err
	}
	t.trusted, err = t.repo.Snapshot(ctx, t.row.Base)
	return err
}

// close lets go of the repository's files. What it reports is of no use: nothing
// was written through them that is not on disk.
func (t *target) close() {
	if t.repo != nil {
		_ = t.repo.Close()
	}
}

// Suites makes the suites that a specification names.
func Suites(spec campaign.Spec) ([]benchmarks.Suite, error) {
	out := make([]benchmarks.Suite, len(spec.Suites))
	for i, s := range spec.Suites {
		suite, err := benchmarks.New(suiteConfig(s))
		if err != nil {
			return nil, &BadInput{Op: "set up suite", Object: s.Name, Cause: err.Error()}
		}
		out[i] = suite
	}
	return out, nil
}

func suiteConfig(s campaign.Suite) benchmarks.Config {
	return benchmarks.Config{
		Name: s.Name, Kind: string(s.Kind), Root: s.Root, Timeout: s.Timeout.Std(),
		Packages: s.Packages, Args: s.Args, Command: s.Command, Prepare: s.Prepare, Harness: s.Harness, Report: s.Report,
		Cases: s.Cases, Compare: benchmarks.Compare(s.Compare), Tolerance: s.Tolerance,
		Better: model.Better(s.Better), MinEffect: s.MinEffect, Metrics: s.Metrics,
	}
}

// harness says whether a path belongs to the grader of any suite.
func (t *target) harness(path string) bool {
	for _, s := range t.suites {
		if s.Harness(path) {
			return true
		}
	}
	return false
}

// policy is what the patch gates of this campaign enforce.
func (t *target) policy() patch.Policy {
	return patch.Policy{Allow: t.spec.Paths.Allow, Deny: t.spec.Paths.Deny, Harness: t.harness}
}

// split returns the problems of one split.
func (t *target) split(s model.Split) []model.Problem {
	var out []model.Problem
	for _, p := range t.problems {
		if p.Split == s {
			out = append(out, p)
		}
	}
	return out
}

// of returns the problems of one suite.
func of(suite string, problems []model.Problem) []model.Problem {
	var out []model.Problem
	for _, p := range problems {
		if p.Suite == suite {
			out = append(out, p)
		}
	}
	return out
}

// visible is the trusted tree as proposers and screening sandboxes may see it:
// without the source of held-out problems.
func (t *target) visible() (model.Tree, error) {
	tree := t.trusted
	for _, s := range t.suites {
		hidden, err := s.Hide(tree, of(s.Name(), t.split(model.SplitHeldout)))
		if err != nil {
			return model.Tree{}, err
		}
		tree = hidden
	}
	return tree, nil
}

// view is the tree of a commit as a proposer may read it: its own code with the
// harness files of the trusted commit, less what is held out.
func (t *target) view(ctx context.Context, commit string) (model.Tree, error) {
	code, err := t.repo.Snapshot(ctx, commit)
	if err != nil {
		return model.Tree{}, err
	}
	trusted, err := t.visible()
	if err != nil {
		return model.Tree{}, err
	}
	return withHarness(code, trusted, t.harness), nil
}

// withHarness takes harness files from trusted and all others from code.
func withHarness(code, trusted model.Tree, harness func(string) bool) model.Tree {
	var edits []model.Edit
	for _, f := range trusted.Files {
		if harness(f.Path) {
			edits = append(edits, model.Edit{Path: f.Path, Data: f.Data, Mode: f.Mode})
		}
	}
	return code.Without(harness).With(edits...)
}

// image makes sure that the campaign's sandbox image exists; it returns at once when it does.
func (a *Activities) image(ctx context.Context, t *target, progress func(string)) (docker.Image, error) {
	return PrepareImage(ctx, a.boxes, t.spec, t.suites, t.trusted, progress)
}

// PrepareImage builds the image that a specification asks for, with set-up
// commands run and caches warmed on the trusted tree. Safe to repeat.
func PrepareImage(ctx context.Context, boxes Boxes, spec campaign.Spec, suites []benchmarks.Suite,
	trusted model.Tree, progress func(string),
) (docker.Image, error) {
	var warm []sandbox.Command
	for _, s := range suites {
		warm = append(warm, s.Warm()...)
	}
	return boxes.Prepare(ctx, docker.Target{
		Image: spec.Sandbox.Image, Tree: trusted, Dir: benchmarks.Source,
		Setup: spec.Sandbox.Setup, Warm: warm, Limits: limits(spec),
	}, progress)
}

func limits(spec campaign.Spec) sandbox.Limits {
	s := spec.Sandbox
	return sandbox.Limits{CPUs: s.CPUs, Memory: int64(s.Memory), Pids: s.Pids, Disk: int64(s.Disk)}
}

// aim describes to a suite what to run in which box.
func (a *Activities) aim(t *target, img docker.Image, trusted, code model.Tree, problems []model.Problem, purpose string) benchmarks.Target {
	return benchmarks.Target{
		Boxes:    a.boxes,
		Spec:     sandbox.Spec{Image: img.ID, Env: img.Env, Network: sandbox.NetworkNone, Limits: limits(t.spec), Purpose: purpose},
		Trusted:  trusted,
		Code:     code,
		Problems: problems,
	}
}

// repoPath is where a campaign's bare repository lies.
func (a *Activities) repoPath(campaign string) string {
	return filepath.Join(a.repos, campaign+".git")
}
