package patch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/patch"
)

// TestDiffManyLines has more distinct lines than there are code points in the
// range that the diff library maps lines to first.
func TestDiffManyLines(t *testing.T) {
	var old, new strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&old, "line %d\n", i)
		if i%1000 != 0 {
			fmt.Fprintf(&new, "line %d\n", i)
		}
	}
	from, change := tree("f", old.String()), edits("f", new.String())
	text, err := patch.Diff(from, change)
	require.NoError(t, err)
	back, err := patch.Apply(from, text)
	require.NoError(t, err)
	require.Equal(t, patch.Key(change, from), patch.Key(back, from))
	require.Less(t, len(text), 70*300)
}
