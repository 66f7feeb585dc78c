package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

// by is who forks in these tests.
var by = control.ForkOptions{By: "ada", Why: "another way"}

func TestFork(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.start(l.measured("demo"))
	kept := l.commit("demo", l.row("demo").Base, "Improve it")
	aside := l.commit("demo", "", "Something else")

	f, err := l.control.Fork(ctx, "demo", kept[:8], "", by)
	require.NoError(t, err)
	require.Equal(t, control.Forked{Name: "demo-fork", Commit: kept}, f)
	row := l.ended("demo-fork") // its baseline cannot be measured here
	require.Equal(t, model.StopError, row.Stopped)
	require.Equal(t, []string{"demo", kept, kept}, []string{row.Parent, row.ForkedAt, row.Base})
	require.Equal(t, l.row("demo").Source, row.Source)
	spec, err := campaign.FromJSON(row.Spec)
	require.NoError(t, err)
	require.Equal(t, []string{"demo-fork", kept}, []string{spec.Name, spec.Base})
	r, err := repo.Open(ctx, row.Repo)
	require.NoError(t, err)
	defer r.Close()
	tip, err := r.Ref(ctx, protocol.BranchRef("demo-fork"))
	require.NoError(t, err)
	require.Equal(t, kept, tip, "its branch begins with the commit, which the source does not have")

	e := l.trail("demo")[0]
	require.Equal(t, []string{"forked", "ada", "another way", "demo-fork from " + kept}, []string{string(e.Kind), e.By, e.Why, e.Text})
	l.forkRefusals(kept, aside)

	second, err := l.control.Fork(ctx, "demo", protocol.BranchName("demo"), "", by)
	require.NoError(t, err)
	require.Equal(t, "demo-fork-2", second.Name)
	require.Equal(t, l.row("demo").Base, second.Commit, "the branch is still at the base")
	l.ended("demo-fork-2")
	forks, err := control.Forks(ctx, l.store, "demo")
	require.NoError(t, err)
	require.Len(t, forks, 2)
	require.NoError(t, l.control.Stop(ctx, "demo", protocol.Verdict{By: "ada"}))
}

func (l *lab) forkRefusals(kept, aside string) {
	t, ctx := l.t, l.t.Context()
	l.start(l.measured("taken"))
	defer func() { require.NoError(t, l.control.Stop(ctx, "taken", protocol.Verdict{By: "ada"})) }()
	now := time.Now().UTC()
	require.NoError(t, l.store.CreateCampaign(ctx, model.Campaign{Name: "new", Spec: l.row("demo").Spec, Created: now, Updated: now}))
	for _, x := range []struct {
		name, from, as, by string
		want               error
		text               string
	}{
		{"nobody", kept, "", "ada", store.ErrNotFound, "nobody"},
		{"new", kept, "", "ada", control.ErrRefused, "has not begun"},
		{"demo", "0123456", "", "ada", repo.ErrNoRef, "fork campaign demo"},
		{"demo", "no such thing", "", "ada", repo.ErrNoRef, "no such thing"},
		{"demo", aside, "", "ada", control.ErrRefused, "does not follow its base"},
		{"demo", kept, "Bad Name", "ada", control.ErrRefused, "name"},
		{"demo", kept, strings.Repeat("a", 64), "ada", control.ErrRefused, "name"},
		{"demo", kept, "taken", "ada", control.ErrNameInUse, "taken"},
		{"demo", kept, "demo", "ada", control.ErrNameInUse, "demo"},
		{"demo", kept, "", "search", control.ErrRefused, "reserved"},
		{"demo", kept, "", "", control.ErrRefused, "name is needed"},
	} {
		_, err := l.control.Fork(ctx, x.name, x.from, x.as, control.ForkOptions{By: x.by})
		require.ErrorIs(t, err, x.want, "%+v", x)
		require.ErrorContains(t, err, x.text)
	}
	require.Len(t, l.trail("demo"), 1, "what is refused is not in the trail")
}

// commit adds a commit to a campaign's own repository.
func (l *lab) commit(name, parent, subject string) string {
	l.t.Helper()
	ctx := l.t.Context()
	r, err := repo.Open(ctx, l.row(name).Repo)
	require.NoError(l.t, err)
	defer r.Close()
	c, err := r.Commit(ctx, repo.CommitSpec{Parent: parent, Subject: subject, When: began, Edits: []model.Edit{{Path: "b.go", Data: []byte("package a\n\n// " + subject + "\n")}}})
	require.NoError(l.t, err)
	return c.Hash
}
