package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/propose/llm/answer"
)

// What cannot be read must never read as nothing: an edit to nothing deletes, and an
// edit left out makes half a patch.
func TestWhatCannotBeReadIsNotNothing(t *testing.T) {
	base := model.Tree{}.With(model.Edit{Path: "a.txt", Data: []byte("one\ntwo\n")}, model.Edit{Path: "b.txt", Data: []byte("three\n")})
	const fine = `{"path": "b.txt", "search": "three", "replace": "3"}`
	for _, odd := range []string{
		`{"path": "a.txt", "search": "one", "replace": {"text": "1"}}`,
		`{"path": "a.txt", "search": "one", "replace": ["1", {"x": "y"}]}`,
		`{"path": "a.txt", "search": "one", "replace": ["1", null]}`,
		`{"path": "c.txt", "search": {"text": "one"}, "replace": "1"}`,
		`{"path": "a.txt", "diff": ""}`,
		`{"path": "a.txt", "diff": {"old": "one", "new": "1"}}`,
		`{"path": "a.txt", "search": "one", "replace": "1", "action": "insert_after"}`,
		`{"path": "a.txt", "search": "one", "replace": "1", "type": "append"}`,
	} {
		for _, text := range []string{`{"edits": [` + odd + `, ` + fine + `]}`, `{"edits": [` + fine + `, ` + odd + `]}`, `[` + fine + `, ` + odd + `]`} {
			_, err := answer.Decode(text, base)
			require.Error(t, err, text)
		}
	}
	a, err := answer.Decode(`{"edits": [{"path": "a.txt", "search": "one", "replace": "one\nand", "action": "insert_after"}]}`, base)
	require.NoError(t, err)
	require.Equal(t, "one\nand\ntwo\n", string(a.Edits[0].Data))
}

func TestAnAnswerInAListWithAnEmptyDiff(t *testing.T) {
	base := model.Tree{}.With(model.Edit{Path: "a.txt", Data: []byte("one\n")})
	a, err := answer.Decode(`[{"hypothesis": "x", "edits": [{"path": "a.txt", "search": "one", "replace": "1"}], "diff": ""}]`, base)
	require.NoError(t, err)
	require.Equal(t, "1\n", string(a.Edits[0].Data))
	_, err = answer.Decode(`[{"hypothesis": "x", "edits": [], "diff": ""}]`, base)
	require.Error(t, err)
}

// A mark of a comment behind a quote that was not escaped begins none: the string
// would end there.
func TestCommentsAreNotTheRestOfAString(t *testing.T) {
	base := model.Tree{}.With(model.Edit{Path: "a.yaml", Data: []byte("color: blue\n")})
	for _, replace := range []string{`"color: "#fff""`, `"color: "//x""`, `"color: " #fff""`, `'color: '#fff''`, `"color: "/* "x" */`, `"color: "# x`, `"color: "/* x */`} {
		_, err := answer.Decode("{\"edits\": [{\"path\": \"a.yaml\", \"search\": \"color: blue\", \"replace\": "+replace+"\n}]}", base)
		require.Error(t, err, replace)
	}
}

func TestAPatchBesideJSON(t *testing.T) {
	base := model.Tree{}.With(model.Edit{Path: "a.txt", Data: []byte("one\n")}, model.Edit{Path: "b.txt", Data: []byte("three\n")})
	const edit = `{"edits": [{"path": "a.txt", "search": "one", "replace": "1"}]}`
	for patch, ok := range map[string]bool{
		"b.txt\n<<<<<<< SEARCH\nthree\n=======\n3\n>>>>>>> REPLACE\n":         false,
		"```diff\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-three\n+3\n```\n":   false,
		"```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n```\n":     true, // the same once more
		"```diff\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nothing\n+3\n```\n": true, // of no file that there is
		"The function in `b.txt` stays as it is:\n```\nthree\nfour\n```\n":    true,
	} {
		for _, text := range []string{edit + "\n\n" + patch, patch + "\n" + edit} {
			a, err := answer.Decode(text, base)
			require.Equal(t, ok, err == nil, "%s: %v", text, err)
			require.True(t, !ok || len(a.Edits) == 1)
		}
	}
}
