package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

// generations of each campaign here: enough for changes that are reverted and
// kept by turns, with candidates that wait in the queue.
const generations = 7

// A campaign comes to the same end however often its process dies and whatever
// is lost beside it: the same generations, commits, receipts and attempts, each
// of them once. The end that counts is that of a campaign that was never disturbed.
func TestExactlyOnce(t *testing.T) {
	spec, want := undisturbed(t)
	for _, tt := range []struct {
		name string
		run  func(*testing.T, []byte, state)
	}{
		{"the process dies", processDies},
		{"Temporal is lost", temporalIsLost},
		{"ref files are damaged", refFiles},
		{"an attempt overruns", overruns},
		{"a foreign commit", foreignCommit},
		{"a second process", secondProcess},
		{"a failure arrives", failureWakes},
		{"boxes are left", noBoxIsLeft},
		{"activities are taken over", takenOver},
		{"the process dies while it stops", diesWhileStopping},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, spec, want)
		})
	}
}

// deaths are the points at which a process dies, step by step of the loop; in
// each list one process after the other, on the same data folder.
var deaths = []struct {
	name   string
	points []string
}{
	{"opening and baseline", []string{
		"OpenCampaign/begin#1", "OpenCampaign/imported#1", "OpenCampaign/refs#1", "OpenCampaign/end#1",
		"PrepareTarget/begin#1", "PrepareTarget/end#1",
		"MeasureBaseline/begin#1", "MeasureBaseline/round#2", "suite/run#2", "MeasureBaseline/problems#1", "MeasureBaseline/end#1",
	}},
	{"proposal and screen", []string{
		"DiagnoseWeakness/begin#1", "DiagnoseWeakness/end#1",
		"ProposeCandidates/begin#1", "proposer/proposed#1", "ProposeCandidates/attempts#2", "ProposeCandidates/end#1",
		"ScreenCandidates/begin#1", "suite/screened#1", "suite/screened#2", "ScreenCandidates/end#1",
		"SelectCandidate/begin#1", "SelectCandidate/end#1",
	}},
	{"land", []string{
		"LandChange/begin#1", "LandChange/commit#1", "LandChange/approved#1", "LandChange/branch#1",
		"LandChange/attempt#1", "LandChange/trial#1", "LandChange/end#1",
	}},
	{"confirm", []string{
		"ConfirmChange/begin#1", "suite/run#1", "suite/run#2", "ConfirmChange/round#1", "ConfirmChange/round#3", "ConfirmChange/end#1",
	}},
	{"keep", []string{
		"KeepChange/begin#1", "KeepChange/best#1", "KeepChange/receipt#1", "KeepChange/campaign#1", "KeepChange/trial#1", "KeepChange/end#1",
	}},
	{"revert", []string{
		"RevertChange/begin#1", "RevertChange/commit#1", "RevertChange/noted#1", "RevertChange/branch#1",
		"RevertChange/receipt#1", "RevertChange/campaign#1", "RevertChange/trial#1", "RevertChange/end#1",
	}},
	{"record and finish", []string{
		"RecordGeneration/begin#1", "RecordGeneration/row#1", "RecordGeneration/end#1", "FinishCampaign/begin#1", "FinishCampaign/end#1",
	}},
}

// A process that is killed between any two steps, and started again, ends where
// one that was never disturbed does.
func processDies(t *testing.T, spec []byte, want state) {
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			j := job{Data: t.TempDir(), Spec: spec}
			for _, point := range d.points {
				j.Kill = point
				begin(t, j).die(point)
			}
			j.Kill = ""
			run(t, j)
			require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
		})
	}
}

// A campaign whose workflow is gone, because the Temporal database is, goes on
// from store and refs.
func temporalIsLost(t *testing.T, spec []byte, want state) {
	for name, points := range map[string][]string{
		"before evidence": {
			"MeasureBaseline/round#2", "MeasureBaseline/problems#1", "ProposeCandidates/attempts#1", "suite/screened#1",
			"SelectCandidate/end#1", "LandChange/approved#1", "LandChange/branch#1", "LandChange/trial#1", "ConfirmChange/round#3",
		},
		"after evidence": {
			"RevertChange/noted#1", "RevertChange/branch#1", "RevertChange/receipt#1", "RevertChange/campaign#1", "RevertChange/trial#1",
			"KeepChange/best#1", "KeepChange/receipt#1", "KeepChange/campaign#1", "KeepChange/trial#1", "KeepChange/end#1",
			"RecordGeneration/row#1", "RecordGeneration/end#1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job{Data: t.TempDir(), Spec: spec}
			for _, point := range points {
				j.Kill = point
				begin(t, j).die(point)
				forget(t, j.Data)
				j.Recover = true
			}
			j.Kill = ""
			run(t, j)
			require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
		})
	}
}

// forget deletes the Temporal database of a data folder.
func forget(t *testing.T, data string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "temporal.db*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
}

// undisturbed runs a campaign in one go, and checks that it is one in which
// there is something to lose.
func undisturbed(t *testing.T) (specification []byte, end state) {
	t.Helper()
	needDocker(t)
	s := spec(t, source(t, parts()), generations)
	data, err := campaign.JSON(s)
	require.NoError(t, err)
	dir := t.TempDir()
	run(t, job{Data: dir, Spec: data})
	end = read(t, dir, s.Name)
	require.Equal(t, model.StopGenerations, end.Campaign.Stopped)
	require.Len(t, end.Generations, generations)
	outcomes := map[model.GenerationOutcome]int{}
	for i, g := range end.Generations {
		require.Equal(t, i+1, g.N)
		outcomes[g.Outcome]++
	}
	require.Equal(t, map[model.GenerationOutcome]int{model.OutcomeKept: 3, model.OutcomeReverted: 4}, outcomes)
	require.Len(t, end.Branch, 1+3+2*4, "the base, a commit for each change, and one for each revert")
	require.Equal(t, []string{"refs/heads/main", "refs/heads/ratchet/" + s.Name, fmt.Sprintf("refs/ratchet/%s/best", s.Name)}, end.Refs)
	require.NotEmpty(t, end.Runs["baseline"])
	return data, end
}
