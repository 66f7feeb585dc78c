package e2e

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/workers"
)

// state is everything in store and repository that must not depend on how often
// the process has died. Commits are told apart by tree and message, because
// their hashes follow the clock.
type state struct {
	Campaign    model.Campaign
	Generations []model.Generation
	Attempts    [][]model.Attempt // by generation
	Changes     []change
	Receipts    []model.Receipt
	Runs        map[string][]store.StoredRun // by scope
	Branch      []commit
	Best        string // tree
	Refs        []string
}

type change struct {
	model.Change
	Events []model.ChangeEvent
}

type commit struct {
	Tree, Subject string
	Trailers      map[string]string
}

// read collects the state of a campaign whose process has ended.
func read(t *testing.T, data, name string) state {
	t.Helper()
	ctx := t.Context()
	s := open(t, data)
	row, err := s.Campaign(ctx, name)
	require.NoError(t, err)
	r, err := repo.Open(ctx, row.Repo)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	var out state
	out.Campaign = row
	out.Generations, err = s.Generations(ctx, name)
	require.NoError(t, err)
	out.Receipts, err = s.Receipts(ctx, name)
	require.NoError(t, err)
	out.rows(t, s, name)
	out.refs(t, r, name)
	out.checkCommits(t, r)
	out.timeless()
	return out
}

func open(t *testing.T, data string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: workers.StorePath(data), ReadOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// rows reads attempts, changes and runs.
func (s *state) rows(t *testing.T, db *store.Store, name string) {
	t.Helper()
	ctx := t.Context()
	scopes := []string{"baseline"}
	for _, g := range s.Generations {
		rows, err := db.Attempts(ctx, name, g.N)
		require.NoError(t, err)
		s.Attempts = append(s.Attempts, rows)
	}
	changes, err := db.Changes(ctx, store.ChangeFilter{Campaign: name})
	require.NoError(t, err)
	for _, c := range changes {
		events, err := db.ChangeEvents(ctx, c.ID)
		require.NoError(t, err)
		s.Changes = append(s.Changes, change{c, events})
		scopes = append(scopes, "change/"+c.ID)
	}
	s.Runs = map[string][]store.StoredRun{}
	for _, scope := range scopes {
		s.Runs[scope], err = db.Runs(ctx, name, scope)
		require.NoError(t, err)
	}
}

func (s *state) refs(t *testing.T, r *repo.Repo, name string) {
	t.Helper()
	ctx := t.Context()
	tip, err := r.Ref(ctx, protocol.BranchRef(name))
	require.NoError(t, err)
	log, err := r.Log(ctx, tip, 0)
	require.NoError(t, err)
	for _, e := range log {
		delete(e.Trailers, protocol.TrailerReverts)
		s.Branch = append(s.Branch, commit{Tree: e.Tree, Subject: e.Subject, Trailers: e.Trailers})
	}
	best, err := r.Ref(ctx, protocol.BestRef(name))
	require.NoError(t, err)
	require.Equal(t, s.Campaign.Best, best)
	s.Best, err = r.TreeHash(ctx, best)
	require.NoError(t, err)
	refs, err := r.Refs(ctx, "refs/")
	require.NoError(t, err)
	s.Refs = slices.Sorted(maps.Keys(refs))
}

// checkCommits holds rows against the repository: each names a commit of the
// branch, and the branch ends with best's tree.
func (s *state) checkCommits(t *testing.T, r *repo.Repo) {
	t.Helper()
	require.Equal(t, s.Best, s.Branch[0].Tree, "the branch ends with the tree of best")
	commits := map[string]int{}
	for _, c := range s.Branch {
		commits[c.Trailers[protocol.TrailerChange]]++
	}
	for _, x := range s.Receipts {
		want := 1
		if x.Decision == model.DecisionRevert {
			want = 2
			tree, err := r.TreeHash(t.Context(), x.RevertCommit)
			require.NoError(t, err)
			before, err := r.TreeHash(t.Context(), x.Parent)
			require.NoError(t, err)
			require.Equal(t, before, tree, "a revert restores the parent's tree")
		}
		require.Equal(t, want, commits[x.Change], "commits of change %s", x.Change)
		delete(commits, x.Change)
	}
	require.Equal(t, map[string]int{"": 1}, commits, "no commit but the base and those of decided changes")
	fsck(t, s.Campaign.Repo)
}

// fsck has the git command look at the repository, where there is one.
func fsck(t *testing.T, path string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), git, "-C", path, "fsck", "--strict", "--no-dangling").CombinedOutput()
	require.NoError(t, err, "git fsck: %s", out)
}

// timeless blanks what follows the clock or the data folder.
func (s *state) timeless() {
	c := &s.Campaign
	c.Repo, c.Best, c.Brief, c.Phase, c.Detail = filepath.Base(c.Repo), "", "", "", ""
	c.Cost.Wall, c.Cost.Orchestration, c.Created, c.Updated = 0, 0, time.Time{}, time.Time{}
	for i := range s.Generations {
		g := &s.Generations[i]
		g.Commit, g.RevertCommit, g.ParentCommit, g.Cost, g.Started, g.Ended = "", "", "", model.Cost{}, time.Time{}, time.Time{}
	}
	for i := range s.Changes {
		x := &s.Changes[i]
		x.Parent, x.Commit, x.Revert, x.Created, x.Updated = "", "", "", time.Time{}, time.Time{}
		for k := range x.Events {
			x.Events[k].At = time.Time{}
		}
	}
	for i := range s.Receipts {
		r := &s.Receipts[i]
		r.Parent, r.Commit, r.RevertCommit, r.At = "", "", "", time.Time{}
	}
}
