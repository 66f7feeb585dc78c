package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/propose/llm/answer"
)

// Objects for one file each are one answer, whether they hold edits or diffs, and
// one of them that cannot be read takes the others with it.
func TestObjectsForOneFileEach(t *testing.T) {
	base := model.Tree{}.With(model.Edit{Path: "a.txt", Data: []byte("one\ntwo\n")}, model.Edit{Path: "b.txt", Data: []byte("three\nfour\n")})
	const (
		edit   = `{"path": "a.txt", "search": "one", "replace": "1"}`
		diff   = `{"path": "b.txt", "diff": "@@ -1 +1 @@\n-three\n+3"}`
		other  = `{"path": "a.txt", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"}`
		broken = `{"path": "a.txt", "diff": nonsense here}`
	)
	for text, files := range map[string][]string{
		diff + "\n" + other:                    {"a.txt", "b.txt"},
		other + "\nand\n" + diff + "\n":        {"a.txt", "b.txt"},
		diff:                                   {"b.txt"},
		edit + "\n" + diff:                     nil, // which of both ways is meant cannot be told
		broken + "\n" + diff:                   nil,
		other + "\n" + `{"path": "b.txt", "di`: nil,
	} {
		a, err := answer.Decode(text, base)
		if files == nil {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		var got []string
		for _, e := range a.Edits {
			got = append(got, e.Path)
		}
		require.ElementsMatch(t, files, got, text)
	}
}
