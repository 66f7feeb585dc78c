package activities

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProposerIsNamedOnce(t *testing.T) {
	away := errors.New("the server is away")
	err := errorOf("llm", away)
	require.EqualError(t, err, "proposer llm: the server is away")
	require.EqualError(t, errorOf("llm", err), "proposer llm: the server is away")
	require.ErrorIs(t, errorOf("llm", err), away)
}
