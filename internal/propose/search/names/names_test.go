package names

import (
	"strings"
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

func TestQuote(t *testing.T) {
	require.Equal(t, "`if a { return b }`", Quote("\n\tif a {\r\n\t\treturn  b\n\t}\n"))
	long := strings.Repeat("é", 60)
	require.Equal(t, "`"+long+"`", Quote(long+"\n"))
	require.Equal(t, "`"+long+"…`", Quote(long+"x"))
	require.Equal(t, "``", Quote(""))
}
