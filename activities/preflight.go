package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/repo"
	"ratchet/internal/trial"
	"ratchet/sandbox"
)

// Checkout is a repository at the base commit of a campaign file, read without a
// sandbox and without a stored campaign.
type Checkout struct {
	Commit   string
	Tree     model.Tree
	Suites   []benchmarks.Suite
	Problems []model.Problem
	Unlisted []string // suites whose problems only a sandbox can list
}

// Preflight imports the repository into dir, which must not exist, and finds
// what would stop a campaign at once: no repository, no such ref, an empty
// repository, something that ratchet cannot handle, no tests. Nothing is stored.
func Preflight(ctx context.Context, spec campaign.Spec, dir string) (Checkout, error) {
	var c Checkout
	var err error
	if c.Suites, err = Suites(spec); err != nil {
		return c, err
	}
	if err := repo.Import(ctx, spec.Repo, dir, repo.ImportOptions{}); err != nil {
		return c, err
	}
	r, err := repo.Open(ctx, dir)
	if err != nil {
		return c, err
	}
	err = c.read(ctx, r, spec)
	return c, errors.Join(err, r.Close())
}

func (c *Checkout) read(ctx context.Context, r *repo.Repo, spec campaign.Spec) (err error) {
	if c.Commit, err = r.Resolve(ctx, spec.Base); err != nil {
		return baseError(ctx, r, spec, err)
	}
	if c.Tree, err = r.Snapshot(ctx, c.Commit); err != nil {
		return err
	}
	for _, suite := range c.Suites {
		ps, err := Discover(ctx, []benchmarks.Suite{suite}, benchmarks.Target{Trusted: c.Tree})
		if errors.Is(err, benchmarks.ErrNeedsBox) {
			c.Unlisted = append(c.Unlisted, suite.Name())
			continue
		}
		if err != nil {
			return err
		}
		c.Problems = append(c.Problems, ps...)
	}
	if len(c.Unlisted) > 0 {
		return nil // names that are held out are checked when all problems are known
	}
	return checkHeldout(spec, c.Problems)
}

// mostBranches is how many branches a hint names.
const mostBranches = 10

// baseError names the branches that there are, when base is none of them.
func baseError(ctx context.Context, r *repo.Repo, spec campaign.Spec, err error) error {
	if !errors.Is(err, repo.ErrNoRef) {
		return err
	}
	const heads = "refs/heads/"
	refs, lerr := r.Refs(ctx, heads)
	if lerr != nil || len(refs) == 0 {
		return err
	}
	branches := make([]string, 0, len(refs))
	for ref := range refs {
		branches = append(branches, strings.TrimPrefix(ref, heads))
	}
	slices.Sort(branches)
	if len(branches) > mostBranches {
		branches = append(branches[:mostBranches], "…")
	}
	return &BadInput{
		Op: "read base " + spec.Base + " of", Object: spec.Repo, Cause: repo.ErrNoRef.Error(),
		Hint: "set base in the campaign file; the branches are: " + strings.Join(branches, ", "),
	}
}

// checkHeldout refuses names that match no problem: what they meant to hold out
// would be shown to the proposers.
func checkHeldout(spec campaign.Spec, problems []model.Problem) error {
	var unknown []string
	for _, s := range spec.Suites {
		for _, name := range s.Heldout.Problems {
			if !slices.ContainsFunc(problems, func(p model.Problem) bool { return names(s.Name, name, p) }) {
				unknown = append(unknown, name)
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &BadInput{
		Op: "hold out problems of", Object: spec.Name, Cause: "no such problem: " + strings.Join(unknown, ", "),
		Hint: "correct heldout.problems in the campaign file; a problem is named like " + problems[0].Name + " or " + problems[0].ID,
	}
}

// Measure runs all problems of a campaign file on its base commit, rounds times,
// outside any campaign. dir is a folder for the import, which must not exist.
func Measure(ctx context.Context, boxes Boxes, spec campaign.Spec, dir string, rounds int, progress func(string)) (model.Benchmark, error) {
	started := time.Now()
	c, err := Preflight(ctx, spec, dir)
	if err != nil {
		return model.Benchmark{}, err
	}
	img, err := PrepareImage(ctx, boxes, spec, c.Suites, c.Tree, progress)
	if err != nil {
		return model.Benchmark{}, err
	}
	progress("building")
	aim := benchmarks.Target{
		Boxes:   boxes,
		Spec:    sandbox.Spec{Image: img.ID, Env: img.Env, Network: sandbox.NetworkNone, Limits: limits(spec), Purpose: "benchmark " + spec.Name},
		Trusted: c.Tree, Code: c.Tree,
	}
	all, err := Discover(ctx, c.Suites, aim)
	if err != nil {
		return model.Benchmark{}, err
	}
	c.Problems = trial.Weigh(all, weights(spec))
	aim.Problems = c.Problems
	b, err := openBenches(ctx, c.Suites, aim, &pulse{})
	if err != nil {
		return model.Benchmark{}, err
	}
	out := model.Benchmark{Name: spec.Name, Repo: spec.Repo, Commit: c.Commit, Tree: c.Tree.Hash, Started: started.UTC()}
	for _, s := range c.Suites {
		out.Suites = append(out.Suites, s.Name())
	}
	err = measure(ctx, b, c.Problems, rounds, progress, &out)
	out.Wall = time.Since(started)
	return out, closing(ctx, b, err)
}

func measure(ctx context.Context, b *benches, problems []model.Problem, rounds int, progress func(string), out *model.Benchmark) error {
	var runs []model.Run
	for n := range rounds {
		progress(fmt.Sprintf("round %d of %d", n+1, rounds))
		run, err := b.Run(ctx, problems, false)
		if err != nil {
			return err
		}
		runs = append(runs, run)
		out.Runs = append(out.Runs, run.Summary())
		out.Results = append(out.Results, run.Results...)
		if out.BuildLog == "" {
			out.BuildLog = run.BuildLog
		}
	}
	for _, p := range problems {
		if p.Metric != nil {
			if out.Metrics == nil {
				out.Metrics = map[string]model.Metric{}
			}
			out.Metrics[p.ID] = *p.Metric
		}
	}
	out.Score = trial.Summarise(problems, runs)
	return nil
}
