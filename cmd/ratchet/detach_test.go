package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
)

// TestDetachIntoACommandThatEnds: a campaign that is handed to a process which ends
// with a campaign of its own says so.
func TestDetachIntoACommandThatEnds(t *testing.T) {
	c := newCLI(t)
	for _, x := range []struct {
		transient, json bool
	}{{false, false}, {true, false}, {true, true}} {
		var stdout, stderr bytes.Buffer
		a := app{surroundings: c.surroundings(&stdout, &stderr), data: c.data(), json: x.json}
		require.NoError(t, a.detached(&session{info: devstack.Info{Pid: 4711, Transient: x.transient}}, "other", false))
		if !x.transient {
			require.Empty(t, stderr.String())
			require.Contains(t, stdout.String(), "campaign other runs in process 4711")
			continue
		}
		require.Equal(t, "process 4711 runs one command and its stack ends with that: if campaign other has not ended by then, it goes on when this runs: ratchet dev\n", stderr.String())
		require.NotContains(t, stdout.String(), "one command")
	}
}

// TestPhasesBeforeTheBaseline are told without a terminal too, each as it begins.
func TestPhasesBeforeTheBaseline(t *testing.T) {
	c := newCLI(t)
	var stdout, stderr bytes.Buffer
	a := app{surroundings: c.surroundings(&stdout, &stderr)}
	for _, p := range []progress{
		{Phase: "created", early: true}, {Phase: "preparing the sandbox image", early: true},
		{Phase: "generation 1"}, {Phase: "generation 1: kept"},
	} {
		p.Event, p.Campaign = "phase", "demo"
		require.NoError(t, a.line(p))
	}
	require.Equal(t, "campaign demo: opening the repository\ncampaign demo: preparing the sandbox image\n", stdout.String())
	a.terminal = true
	stdout.Reset()
	require.NoError(t, a.line(progress{Event: "phase", Phase: "generation 1"}))
	require.Equal(t, "  … generation 1\n", stdout.String())
}
