package names

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Equal(t, []string{"parse", "http", "header", "2"}, Words("parseHTTPHeader2"))
	require.Equal(t, []string{"max", "len"}, Words("max_len"))
	l := NewLexicon()
	require.Equal(t, 1.0, l.Kinship("HasPrefix", "HasSuffix"))
	require.Greater(t, l.Kinship("startIndex", "endIndex"), l.Kinship("startIndex", "count"))
	require.Equal(t, 3, Distance("kitten", "sitting"))
	require.Equal(t, []string{"cat", "car", "dog"}, SortedByCloseness(map[string]int{"dog": 1, "car": 1, "cat": 1}, "cat"))
}
