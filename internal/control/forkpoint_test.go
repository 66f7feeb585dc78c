package control_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
)

// TestForkPoints: a commit that was reverted can be forked from, an abbreviation of
// several commits cannot, and what is no commit is answered with where those are.
func TestForkPoints(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.start(l.measured("demo"))
	defer func() { require.NoError(t, l.control.Stop(ctx, "demo", protocol.Verdict{By: "ada"})) }()
	base := l.row("demo").Base
	tried := l.commit("demo", base, "Try it")
	revert := l.reverted("demo", tried, base)

	f, err := l.control.Fork(ctx, "demo", tried[:10], "from-tried", by)
	require.NoError(t, err)
	require.Equal(t, tried, f.Commit)
	l.ended("from-tried")
	f, err = l.control.Fork(ctx, "demo", revert, "from-revert", by)
	require.NoError(t, err)
	require.Equal(t, revert, f.Commit)
	l.ended("from-revert")

	_, err = l.control.Fork(ctx, "demo", l.twoCommits("demo", base), "", by)
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "2 commits begin with it (give more digits)")
	for _, rev := range []string{"deadbeef", "0123456789012345678901234567890123456789", "no-such-branch"} {
		_, err = l.control.Fork(ctx, "demo", rev, "", by)
		require.ErrorIs(t, err, repo.ErrNoRef, rev)
		require.ErrorContains(t, err, `fork campaign demo: it has no commit, branch or tag "`+rev+`"`)
		require.ErrorContains(t, err, "ratchet campaign report demo")
	}
	_, err = l.control.Fork(ctx, "demo", "deadbeef", "bad name", by)
	require.EqualError(t, err, `fork campaign demo: refused: "bad name" is no name of a campaign: it is 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen`)
}

// reverted commits the files of base again, on top of a commit.
func (l *lab) reverted(name, commit, base string) string {
	l.t.Helper()
	ctx := l.t.Context()
	r, err := repo.Open(ctx, l.row(name).Repo)
	require.NoError(l.t, err)
	defer r.Close()
	c, err := r.Revert(ctx, repo.RevertSpec{Tip: commit, Target: commit, When: began})
	require.NoError(l.t, err)
	was, err := r.TreeHash(ctx, base)
	require.NoError(l.t, err)
	require.Equal(l.t, was, c.Tree)
	return c.Hash
}

// twoCommits makes commits until two begin with the same four digits, which it returns.
func (l *lab) twoCommits(name, base string) string {
	l.t.Helper()
	ctx := l.t.Context()
	r, err := repo.Open(ctx, l.row(name).Repo)
	require.NoError(l.t, err)
	defer r.Close()
	seen := map[string]bool{}
	for n := range 5000 {
		c, err := r.Commit(ctx, repo.CommitSpec{Parent: base, Subject: fmt.Sprintf("Commit %d", n), When: began,
			Edits: []model.Edit{{Path: "b.go", Data: []byte("package a\n")}}})
		require.NoError(l.t, err)
		if seen[c.Hash[:4]] {
			return c.Hash[:4]
		}
		seen[c.Hash[:4]] = true
	}
	require.FailNow(l.t, "no two commits begin alike")
	return ""
}
