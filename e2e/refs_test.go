package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
)

// Ref files that are empty, torn or gone when the process comes back are set
// again to where the store says they belong.
func refFiles(t *testing.T, spec []byte, want state) {
	name := want.Campaign.Name
	branch, best := protocol.BranchRef(name), protocol.BestRef(name)
	for title, damages := range map[string][]struct{ point, ref, content string }{
		"branch": {
			{"MeasureBaseline/round#2", branch, ""},
			{"SelectCandidate/end#1", branch, "0123456789abcdef0123\n"},
			{"LandChange/branch#1", branch, ""},
			{"ConfirmChange/round#2", branch, "0123456789abcdef0123"},
			{"RevertChange/branch#1", branch, ""},
			{"RevertChange/receipt#1", branch, ""},
			{"KeepChange/receipt#1", branch, "01234567"},
			{"RecordGeneration/row#1", branch, ""},
		},
		"best": {
			{"MeasureBaseline/round#2", best, ""},
			{"LandChange/branch#1", best, "0123456789abcdef0123\n"},
			{"RevertChange/branch#1", best, ""},
			{"KeepChange/best#1", best, ""},
			{"KeepChange/receipt#1", best, "0123456789abcdef0123"},
			{"KeepChange/end#1", best, ""},
			{"RecordGeneration/begin#1", best, "\n"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			j := job{Data: t.TempDir(), Spec: spec}
			for _, d := range damages {
				j.Kill = d.point
				begin(t, j).die(d.point)
				overwrite(t, j.Data, name, d.ref, d.content)
			}
			j.Kill = ""
			run(t, j)
			require.Equal(t, want, read(t, j.Data, name))
		})
	}
}

// overwrite damages the file of a ref in a campaign's repository.
func overwrite(t *testing.T, data, name, ref, content string) {
	t.Helper()
	file := filepath.Join(data, "repos", name+".git", filepath.FromSlash(ref))
	require.FileExists(t, file)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

// A branch that somebody else has moved ends the campaign with an error that says
// so; nothing is built on it, and with the branch back in place the campaign is
// recovered to the end it would have had.
func foreignCommit(t *testing.T, spec []byte, want state) {
	for title, point := range map[string]string{
		"between generations": "RecordGeneration/end#1",
		"before the screen":   "ProposeCandidates/end#1",
		"before the landing":  "LandChange/commit#1",
		"in the confirmation": "ConfirmChange/round#2",
		"before the keep":     "KeepChange/begin#1",
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			j := job{Data: t.TempDir(), Spec: spec, Kill: point}
			begin(t, j).die(point)
			foreign, back := intrude(t, j.Data, want.Campaign.Name)

			j.Kill = ""
			out := run(t, j)
			require.Equal(t, model.StopError, out.Stopped)
			require.Regexp(t, `conflict`, out.Detail)
			require.Regexp(t, "the branch|"+protocol.BranchRef(want.Campaign.Name), out.Detail)
			require.Equal(t, foreign, tip(t, j.Data, want.Campaign.Name), "the foreign commit is left where it is")

			back()
			j.Recover = true
			require.Equal(t, model.StopGenerations, run(t, j).Stopped)
			require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
		})
	}
}

// intrude puts a foreign commit on the branch, and returns what sets it back.
func intrude(t *testing.T, data, name string) (foreign string, back func()) {
	t.Helper()
	r := openRepo(t, data, name)
	was := tip(t, data, name)
	c, err := r.Commit(t.Context(), repo.CommitSpec{
		Parent: was, Subject: "Somebody else was here", When: time.Unix(1_700_000_001, 0),
		Edits: []model.Edit{{Path: "p/foreign.txt", Data: []byte("foreign\n")}},
	})
	require.NoError(t, err)
	require.NoError(t, r.SetRef(t.Context(), protocol.BranchRef(name), was, c.Hash))
	return c.Hash, func() { require.NoError(t, r.SetRef(t.Context(), protocol.BranchRef(name), c.Hash, was)) }
}

func openRepo(t *testing.T, data, name string) *repo.Repo {
	t.Helper()
	r, err := repo.Open(t.Context(), filepath.Join(data, "repos", name+".git"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func tip(t *testing.T, data, name string) string {
	t.Helper()
	at, err := openRepo(t, data, name).Ref(t.Context(), protocol.BranchRef(name))
	require.NoError(t, err)
	return at
}
