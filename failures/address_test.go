package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventsCarryNoSecretOfARepository(t *testing.T) {
	e := Event{Agent: "a", Task: "t", Repo: "https://me:s3cret@example.org/a.git"}
	require.Equal(t, "https://example.org/a.git", e.WithDefaults().Repo)
	require.Equal(t, "https://example.org/a.git", e.Failure().Repo, "also when somebody else published it")
}
