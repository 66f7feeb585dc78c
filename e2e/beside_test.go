package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/failures"
	"ratchet/internal/artifact"
	"ratchet/internal/devstack"
	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/sandbox/docker"
	"ratchet/workers"
)

// needDocker skips without Docker, which a stack connects to when it opens; with
// CI set that is a failure.
func needDocker(t *testing.T) {
	t.Helper()
	e, err := docker.New(t.Context(), docker.Config{Stack: "e2e", Epoch: 1})
	if err == nil {
		err = e.Ping(t.Context())
		require.NoError(t, e.Close())
	}
	if err == nil {
		return
	}
	require.Empty(t, os.Getenv("CI"), "Docker is required in CI: %v", err)
	t.Skipf("no Docker engine (%v); install it with: apt-get install docker.io", err)
}

// A second process on a data folder is refused, and the first does not notice.
func secondProcess(t *testing.T, spec []byte, want state) {
	j := job{Data: t.TempDir(), Spec: spec, Hold: "ConfirmChange/round#2"}
	p := begin(t, j)
	require.Equal(t, j.Hold, p.line())

	_, err := workers.Open(t.Context(), workers.StackConfig{Data: j.Data})
	require.ErrorIs(t, err, devstack.ErrLocked)
	var held *devstack.LockedError
	require.ErrorAs(t, err, &held)
	require.Equal(t, p.cmd.Process.Pid, held.Pid)

	p.resume()
	p.finish()
	require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
}

// A failure that is published while a campaign runs is stored once, and the next
// brief cites it; the campaign is woken and not started again.
func failureWakes(t *testing.T, spec []byte, want state) {
	j := job{Data: t.TempDir(), Spec: spec, Hold: "RecordGeneration/end#6"}
	p := begin(t, j)
	require.Equal(t, j.Hold, p.line())
	event := failures.Event{
		ID: "run-17", Agent: "team/bot", Repo: want.Campaign.Source, Severity: failures.High, Time: time.Unix(1_700_000_002, 0),
		Task: "answer a letter", Expected: "an answer", Actual: "p/d.txt was bad",
	}
	publish(t, j.Data, event, event)
	db := open(t, j.Data)
	stored := func() []model.Failure {
		all, err := db.Failures(t.Context(), store.FailureFilter{})
		require.NoError(t, err)
		return all
	}
	require.Eventually(t, func() bool { return len(stored()) > 0 }, childLimit, 20*time.Millisecond)

	p.resume()
	out := p.finish()
	require.Len(t, stored(), 1)
	require.Equal(t, out.First, out.Run, "the workflow's run is the one that was started")
	require.Equal(t, 1, out.Signals)
	cited := lastBrief(t, j.Data, want.Campaign.Name).Failures
	require.Len(t, cited, 1)
	require.Equal(t, event.ID, cited[0].ID)
	require.Equal(t, want, read(t, j.Data, want.Campaign.Name), "a failure changes what is known, not what is decided")
}

// publish sends events to the stack of a data folder.
func publish(t *testing.T, data string, events ...failures.Event) {
	t.Helper()
	info, running, err := devstack.ReadInfo(data)
	require.NoError(t, err)
	require.True(t, running)
	c, err := failures.Connect(t.Context(), failures.Config{URL: info.NATSURL, Name: "test"})
	require.NoError(t, err)
	defer c.Close()
	for _, e := range events {
		_, err := c.Publish(t.Context(), e)
		require.NoError(t, err)
	}
}

// lastBrief reads the diagnosis of a campaign's last generation.
func lastBrief(t *testing.T, data, name string) (b diagnose.Brief) {
	t.Helper()
	row, err := open(t, data).Campaign(t.Context(), name)
	require.NoError(t, err)
	blobs, err := artifact.Open(filepath.Join(data, "artifacts"))
	require.NoError(t, err)
	text, err := blobs.Get(t.Context(), row.Brief)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &b))
	require.Equal(t, generations, b.Generation)
	return b
}

// A process that is killed leaves its boxes behind; the next one removes them
// before it measures anything, and leaves none.
func noBoxIsLeft(t *testing.T, spec []byte, want state) {
	j := job{Data: t.TempDir(), Spec: spec, Box: true}
	for _, j.Kill = range []string{"ConfirmChange/round#1", "ConfirmChange/round#2"} {
		begin(t, j).die(j.Kill)
	}
	info, running, err := devstack.ReadInfo(j.Data)
	require.NoError(t, err)
	require.False(t, running)
	t.Cleanup(func() { reap(t, info) })
	require.Equal(t, 2, reap(t, info), "the two sides of one confirmation: those of the first death are gone")

	begin(t, j).die(j.Kill)
	j.Kill = ""
	run(t, j)
	require.Zero(t, reap(t, info))
	want.Campaign.Image = read(t, j.Data, want.Campaign.Name).Campaign.Image
	require.NotEqual(t, "none", want.Campaign.Image)
	require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
}

// reap removes what boxes a stack has left, as its next owner would, and counts them.
func reap(t *testing.T, info devstack.Info) int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it also cleans up
	e, err := docker.New(ctx, docker.Config{Stack: info.Stack, Epoch: info.Epoch + 100})
	require.NoError(t, err)
	defer e.Close()
	n, err := e.Reap(ctx)
	require.NoError(t, err)
	return n
}
