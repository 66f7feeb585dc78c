package activities

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"ratchet/benchmarks"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// coverage runs the visible problems one by one. What an earlier generation
// measured is used again: all of it on the same tree, and on another tree the
// part that the difference cannot have touched.
func (a *Activities) coverage(ctx context.Context, t *target, parent string, view model.Tree, p *pulse, out *protocol.DiagnoseWeaknessResult) (model.Coverage, error) {
	var known model.Coverage
	tree, err := t.repo.TreeHash(ctx, parent)
	if err != nil {
		return known, err
	}
	if out.Coverage.Ref != "" {
		if err := a.getJSON(ctx, out.Coverage.Ref, &known); err != nil || out.Coverage.Tree == tree {
			return known, err
		}
	}
	all := t.split(model.SplitSearch)
	stale := all
	if out.Coverage.Ref != "" {
		if stale, err = t.stale(ctx, out.Coverage.Commit, view, all); err != nil {
			return known, err
		}
	}
	fresh, err := a.cover(ctx, t, parent, stale, p)
	if err != nil {
		return known, err
	}
	out.Sandbox = fresh.Sandbox
	merged := joinCoverage(without(known, stale), fresh)
	ref, err := a.putJSON(ctx, merged)
	out.Coverage = protocol.TreeNote{Tree: tree, Commit: parent, Ref: ref}
	return merged, err
}

// stale lists the problems whose coverage may have changed since a commit.
func (t *target) stale(ctx context.Context, since string, view model.Tree, all []model.Problem) ([]model.Problem, error) {
	before, err := t.view(ctx, since)
	if err != nil {
		return nil, err
	}
	changed := differing(before, view)
	var out []model.Problem
	for _, s := range t.suites {
		out = append(out, s.Affected(view, changed, of(s.Name(), all))...)
	}
	return out, nil
}

// differing lists the paths at which two trees differ.
func differing(a, b model.Tree) []string {
	var out []string
	for _, f := range a.Files {
		if g, ok := b.Find(f.Path); !ok || g.Mode != f.Mode || !bytes.Equal(f.Data, g.Data) {
			out = append(out, f.Path)
		}
	}
	for _, g := range b.Files {
		if _, ok := a.Find(g.Path); !ok {
			out = append(out, g.Path)
		}
	}
	return out
}

// cover measures the coverage of problems on a commit, in boxes without what is held out.
func (a *Activities) cover(ctx context.Context, t *target, parent string, problems []model.Problem, p *pulse) (model.Coverage, error) {
	var all model.Coverage
	img, err := a.image(ctx, t, func(s string) { p.tell(stepLimit, "%s", s) })
	if err != nil {
		return all, err
	}
	trusted, err := t.visible()
	if err != nil {
		return all, err
	}
	code, err := t.repo.Snapshot(ctx, parent)
	if err != nil {
		return all, err
	}
	p.tell(stepLimit, "running %d visible problems one by one, for coverage", len(problems))
	aim := a.aim(t, img, trusted, code, problems, "diagnose "+t.row.Name)
	for _, s := range t.suites {
		own := of(s.Name(), problems)
		if len(own) == 0 {
			continue
		}
		err := p.busy(ctx, func() error {
			cov, err := coverSuite(ctx, s, aim, own)
			all = joinCoverage(all, cov)
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func coverSuite(ctx context.Context, s benchmarks.Suite, aim benchmarks.Target, own []model.Problem) (model.Coverage, error) {
	aim.Problems = own
	return s.Cover(ctx, aim, own)
}

// without drops what is known of some problems.
func without(c model.Coverage, problems []model.Problem) model.Coverage {
	drop := map[string]bool{}
	for _, p := range problems {
		drop[p.ID] = true
	}
	out := model.Coverage{Blocks: c.Blocks, Hits: map[string][]int{}}
	for id, hits := range c.Hits {
		if !drop[id] {
			out.Hits[id] = hits
		}
	}
	for _, r := range c.Results {
		if !drop[r.Problem] {
			out.Results = append(out.Results, r)
		}
	}
	return out
}

// joinCoverage puts two coverages into one, with blocks in the order of the
// source: what both have becomes one block, and what nothing runs is left out.
func joinCoverage(a, b model.Coverage) model.Coverage {
	out := model.Coverage{
		Blocks: usedBlocks(a, b), Hits: map[string][]int{},
		Results: append(append([]model.Result{}, a.Results...), b.Results...),
		Sandbox: a.Sandbox + b.Sandbox,
	}
	index := make(map[model.Block]int, len(out.Blocks))
	for i, block := range out.Blocks {
		index[block] = i
	}
	for _, c := range []model.Coverage{a, b} {
		for id, hits := range c.Hits {
			moved := make([]int, len(hits))
			for i, h := range hits {
				moved[i] = index[c.Blocks[h]]
			}
			slices.Sort(moved)
			out.Hits[id] = moved
		}
	}
	return out
}

// usedBlocks lists the blocks that some problem runs, in the order of the source.
func usedBlocks(cs ...model.Coverage) []model.Block {
	used := map[model.Block]bool{}
	for _, c := range cs {
		for _, hits := range c.Hits {
			for _, h := range hits {
				used[c.Blocks[h]] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(used), func(a, b model.Block) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.StartCol, b.StartCol),
			cmp.Compare(a.EndLine, b.EndLine), cmp.Compare(a.EndCol, b.EndCol))
	})
}
