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

// inFile are the limits of a file that names none.
var inFile = model.Budget{Wall: 8 * time.Hour, Sandbox: 4 * time.Hour}

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
	require.Equal(t, control.Forked{Name: "demo-fork", Commit: kept, Limits: inFile}, f)
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

// A fork may use what its parent may now, and has used nothing of it.
func TestForkHasTheLimitsOfItsParent(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.start(l.measured("demo", withModel, func(s *campaign.Spec) { s.Budget.Tokens = 1000 }))
	l.spend("demo", 900, 0.5)
	raised := protocol.BudgetChange{By: "ada", Tokens: ptr(int64(5000)), Wall: ptr(time.Duration(0))}
	is, err := l.control.SetBudget(ctx, "demo", raised)
	require.NoError(t, err)
	base := l.row("demo").Base

	f, err := l.control.Fork(ctx, "demo", base, "", by)
	require.NoError(t, err)
	require.Equal(t, is, f.Limits)
	l.ended(f.Name)
	a, err := control.Budget(ctx, l.store, f.Name)
	require.NoError(t, err)
	require.Equal(t, is, a.Limits)
	require.Zero(t, a.Spent.Tokens)
	require.Zero(t, a.Spent.Money)
	require.Less(t, a.Spent.Wall, time.Minute, "it counts from its own beginning")

	other := by
	other.Limits = protocol.BudgetChange{Tokens: ptr(int64(300)), Money: ptr(2.5)}
	f, err = l.control.Fork(ctx, "demo", base, "cheap", other)
	require.NoError(t, err, "less than the parent has spent is no less than nothing")
	require.Equal(t, model.Budget{Sandbox: 4 * time.Hour, Tokens: 300, Money: 2.5}, f.Limits)
	trail := l.trail("demo")
	require.Equal(t, "cheap from "+base+", tokens 5000 → 300, cost no limit → 2.5", trail[len(trail)-1].Text)
	require.Equal(t, is, *l.row("demo").Budget, "the parent keeps its own")
	l.ended("cheap")

	other.Limits = protocol.BudgetChange{Tokens: ptr(int64(-1))}
	_, err = l.control.Fork(ctx, "demo", base, "none", other)
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "cannot be negative")
	require.NoError(t, l.control.Stop(ctx, "demo", protocol.Verdict{By: "ada"}))
}

// A fork that is there already is not given other limits in passing.
func TestForkThatIsThereKeepsItsLimits(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.start(l.measured("demo"))
	base := l.row("demo").Base
	spec, err := campaign.FromJSON(l.row("demo").Spec)
	require.NoError(t, err)
	spec.Name, spec.Base = "twin", base
	data, err := campaign.JSON(spec)
	require.NoError(t, err)
	now := time.Now().UTC()
	require.NoError(t, l.store.CreateCampaign(ctx, model.Campaign{
		Name: "twin", Spec: data, Source: spec.Repo, Parent: "demo", ForkedAt: base, Created: now, Updated: now,
	}))
	more := by
	more.Limits = protocol.BudgetChange{Tokens: ptr(int64(300))}
	_, err = l.control.Fork(ctx, "demo", base, "twin", more)
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "ratchet campaign budget twin")
	f, err := l.control.Fork(ctx, "demo", base, "twin", by)
	require.NoError(t, err)
	require.Equal(t, inFile, f.Limits)
	l.ended("twin")
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
		{"demo", "\x1b[31m" + kept, "", "ada", control.ErrRefused, "name of the commit"},
		{"demo", strings.Repeat("a", 5000), "", "ada", control.ErrRefused, "at most 2000"},
		{"demo", kept[:3], "", "ada", repo.ErrNoRef, "fork campaign demo"},
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
