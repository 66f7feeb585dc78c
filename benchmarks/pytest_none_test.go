package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPytestThatFindsNothingIsNamedWithItsArguments(t *testing.T) {
	s := &pySuite{}
	s.cfg.Name, s.cfg.Root = "unit", "."
	require.ErrorIs(t, s.none(), ErrNoProblems)
	require.ErrorContains(t, s.none(), `: pytest finds no test in folder "."`)
	s.cfg.Args = []string{"-m", "fast"}
	require.ErrorContains(t, s.none(), `: pytest -m fast finds no test in folder "."`)
}
