package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/report"
)

// TestInterruptedRunGoesOn: Ctrl-C in run --dev stops the stack and says how to go
// on, and the same command then ends the campaign.
func TestInterruptedRunGoesOn(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	base := c.repository("cut off.git", "main", soundModule())
	file := c.campaign("cut", "./cut off.git")
	ctx, cancel := context.WithCancel(t.Context())
	stdout := &lines{seen: func(line string) {
		if strings.Contains(line, "… ") { // the first phase: the campaign is under way
			cancel()
		}
	}}
	stderr := &lines{}
	s := c.surroundings(nil, nil)
	s.stdout, s.stderr, s.terminal = stdout, stderr, true
	data := c.dir + "/data of mine"
	args := []string{"run", file, "--dev", "--data", data}
	require.Equal(t, exitInterrupted, run(ctx, s, args), "%s%s", stdout, stderr)
	require.Contains(t, stdout.String(), "Temporal UI: http://127.0.0.1:")
	require.Contains(t, stdout.String(), "campaign cut started")
	require.Contains(t, stderr.String(), "campaign cut is checkpointed; go on with the same command: ratchet run cut.yaml --dev --data '"+data+"'")

	var list []campaignLine
	c.document(&list, "campaign", "list", "--data", data)
	require.Len(t, list, 1)
	require.Empty(t, list[0].Stopped, "it has not ended")

	r := c.run(append(args, "--json")...)
	require.Equal(t, exitOK, r.code, r.stderr)
	var rep report.Report
	decodeOne(t, r.stdout, &rep)
	require.Equal(t, "score", rep.Stopped)
	require.Equal(t, base, c.ref(rep.Repo, "refs/heads/ratchet/cut"))
	require.Contains(t, r.stderr, "Temporal UI: ")
}
