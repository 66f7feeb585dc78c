package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelpGivesReasonsThatFit(t *testing.T) {
	c := newCLI(t)
	require.Contains(t, c.ok("campaign", "resume", "--help"), `--why "the machine is free again"`)
	require.Contains(t, c.ok("campaign", "pause", "--help"), `--why "the machine is needed"`)
}
