package control_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/activities"
	"ratchet/internal/artifact"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
	"ratchet/workers"
)

// lab is a stack without sandboxes: the real Temporal, store, workflows and
// activities. Its campaigns are measured and paused, so none needs a box.
type lab struct {
	t       *testing.T
	dir     string
	store   *store.Store
	control *control.Controller
}

// noBoxes is a sandbox engine that cannot be had.
type noBoxes struct{}

func (noBoxes) Prepare(context.Context, docker.Target, func(string)) (docker.Image, error) {
	return docker.Image{}, &activities.BadInput{Op: "prepare", Object: "image", Cause: "no box is opened in this test"}
}

func (noBoxes) Open(context.Context, sandbox.Spec) (sandbox.Box, error) {
	return nil, &activities.BadInput{Op: "open", Object: "box", Cause: "no box is opened in this test"}
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	ctx := t.Context()
	stop := func(f func(context.Context) error) {
		t.Cleanup(func() { require.NoError(t, f(context.Background())) })
	}
	servers, err := devstack.Start(ctx, devstack.Config{Dir: filepath.Join(l.dir, "servers"), SearchAttributes: protocol.SearchAttributes()})
	require.NoError(t, err)
	stop(servers.Stop)
	l.store, err = store.Open(ctx, store.Config{Path: filepath.Join(l.dir, "ratchet.db")})
	require.NoError(t, err)
	stop(func(context.Context) error { return l.store.Close() })
	temporal, err := client.DialContext(ctx, client.Options{
		HostPort: servers.TemporalAddress(), Namespace: servers.Namespace(), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	l.control = control.New(temporal, l.store)
	l.work(temporal)
	return l
}

// work runs the workers until the test ends.
func (l *lab) work(temporal client.Client) {
	blobs, err := artifact.Open(filepath.Join(l.dir, "artifacts"))
	require.NoError(l.t, err)
	acts, err := activities.New(activities.Config{Store: l.store, Artifacts: blobs, Boxes: noBoxes{}, Repos: filepath.Join(l.dir, "repos")})
	require.NoError(l.t, err)
	w, err := workers.New(workers.Config{Temporal: temporal, Activities: acts})
	require.NoError(l.t, err)
	require.NoError(l.t, w.Start())
	l.t.Cleanup(w.Stop)
}

// measured stores a campaign as it is after its baseline, paused by a person.
func (l *lab) measured(name string, more ...func(*campaign.Spec)) campaign.Spec {
	l.t.Helper()
	ctx := l.t.Context()
	source := filepath.Join(l.dir, name+".git")
	require.NoError(l.t, repo.Init(ctx, source))
	r, err := repo.Open(ctx, source)
	require.NoError(l.t, err)
	defer r.Close()
	c, err := r.Commit(ctx, repo.CommitSpec{Subject: "Begin", When: began, Edits: []model.Edit{{Path: "a.go", Data: []byte("package a\n")}}})
	require.NoError(l.t, err)
	require.NoError(l.t, r.SetRef(ctx, "refs/heads/main", "", c.Hash))

	spec := campaign.Default()
	spec.Name, spec.Repo = name, source
	for _, f := range more {
		f(&spec)
	}
	data, err := campaign.JSON(spec)
	require.NoError(l.t, err)
	spec, err = campaign.FromJSON(data) // with every default
	require.NoError(l.t, err)
	data, err = campaign.JSON(spec)
	require.NoError(l.t, err)
	half := &model.Score{Score: 0.5, Problems: 2, Passed: 1, Failing: []string{"unit/TestA"}, Flaky: []string{}}
	now := time.Now().UTC()
	require.NoError(l.t, l.store.CreateCampaign(ctx, model.Campaign{
		Name: name, Spec: data, Source: source, Phase: "created", Baseline: half, Current: half, Created: now, Updated: now,
	}))
	_, err = l.store.AddCampaignEvent(ctx, model.CampaignEvent{Campaign: name, Key: "k", Kind: model.EventPaused, By: "ada", At: now})
	require.NoError(l.t, err)
	return spec
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// start starts a campaign and waits until it is paused.
func (l *lab) start(spec campaign.Spec) {
	l.t.Helper()
	_, err := l.control.Start(l.t.Context(), spec, control.Options{})
	require.NoError(l.t, err)
	l.paused(spec.Name)
}

func (l *lab) paused(name string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		b, err := l.control.Scoreboard(l.t.Context(), name)
		return err == nil && b.Phase == "paused"
	}, 30*time.Second, 20*time.Millisecond, "it holds because the store says that it is paused")
}

// ended waits for the end of a campaign and returns its row.
func (l *lab) ended(name string) model.Campaign {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	require.NoError(l.t, l.control.Wait(ctx, name))
	return l.row(name)
}

func (l *lab) row(name string) model.Campaign {
	l.t.Helper()
	row, err := l.store.Campaign(l.t.Context(), name)
	require.NoError(l.t, err)
	return row
}

// trail is the audit trail of a campaign, without its first pause.
func (l *lab) trail(name string) []model.CampaignEvent {
	l.t.Helper()
	events, err := l.store.CampaignEvents(l.t.Context(), name)
	require.NoError(l.t, err)
	require.Equal(l.t, model.EventPaused, events[0].Kind)
	return events[1:]
}

// spend records one model call.
func (l *lab) spend(name string, tokens int64, money float64) {
	l.t.Helper()
	call := model.Call{ID: "one", Campaign: name, Generation: 1, Proposer: "llm", Key: "k", Endpoint: "local", Model: "coder", Started: began, MostTokens: tokens}
	require.NoError(l.t, l.store.ReserveCall(l.t.Context(), store.Fence{}, call, model.Budget{}))
	call.Status, call.Output, call.Money, call.Ended = model.CallAnswered, tokens, money, began.Add(time.Second)
	require.NoError(l.t, l.store.SettleCall(l.t.Context(), call))
}

// withModel makes a spec with a proposer that calls a model.
func withModel(s *campaign.Spec) {
	e := campaign.Endpoint{Name: "local", Protocol: campaign.ProtocolOpenAI, URL: "http://127.0.0.1:1/v1", Model: "coder", Parallel: 1, Price: campaign.Price{Input: 1, Output: 1}}
	e.Deadline = campaign.Deadlines{FirstToken: campaign.Duration(time.Second), Stall: campaign.Duration(time.Second), Total: campaign.Duration(time.Second)}
	s.Endpoints = []campaign.Endpoint{e}
	s.Proposers = []campaign.Proposer{{Kind: campaign.ProposerLLM, Name: "coder"}}
}

func ptr[T any](x T) *T { return &x }
