package patch_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// FuzzApply expects that whatever applies could be gated, and survives being
// written as a diff and applied again.
func FuzzApply(f *testing.F) {
	f.Add(header + "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n")
	f.Add("--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-1\n+one\n")
	f.Add("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n")
	f.Add("diff --git a/dir/x.txt b/y\nsimilarity index 100%\nrename from dir/x.txt\nrename to y\n")
	f.Add("diff --git a/dir/x.txt b/dir/x.txt\ndeleted file mode 100644\n--- a/dir/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")
	f.Add("--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n-- \n2.3\n")
	f.Add("--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n")
	f.Fuzz(func(t *testing.T, diff string) {
		edits, err := patch.Apply(base, diff)
		if err != nil {
			return
		}
		require.NotEmpty(t, edits)
		seen := map[string]bool{}
		for _, e := range edits {
			require.Empty(t, patch.BadPath(e.Path))
			require.False(t, seen[e.Path])
			seen[e.Path] = true
			require.Contains(t, []uint32{0, model.ModeFile, model.ModeExec}, e.Mode)
		}
		again, err := patch.Diff(base, edits)
		if err != nil { // what was added is not text
			require.ErrorIs(t, err, patch.ErrSyntax)
			return
		}
		if again == "" { // a rename onto itself
			return
		}
		back, err := patch.Apply(base, again)
		require.NoError(t, err, again)
		require.Equal(t, patch.Key(edits, base), patch.Key(back, base))
	})
}

// FuzzDiff expects that any change of text can be written as a diff and read back.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n")
	f.Add("", "x")
	f.Add("x", "")
	f.Add("a\r\nb", "a\nb\r\n")
	f.Add(strings.Repeat("same\n", 20)+"x", "y\n"+strings.Repeat("same\n", 20))
	f.Fuzz(func(t *testing.T, old, new string) {
		from := tree("f", old)
		change := edits("f", new)
		text, err := patch.Diff(from, change)
		if err != nil {
			require.ErrorIs(t, err, patch.ErrSyntax)
			return
		}
		if old == new {
			require.Empty(t, text)
			return
		}
		back, err := patch.Apply(from, text)
		require.NoError(t, err, text)
		got, ok := from.With(back...).Find("f")
		require.True(t, ok)
		require.True(t, bytes.Equal([]byte(new), got.Data), "%q", got.Data)
	})
}

func FuzzBadPath(f *testing.F) {
	for _, seed := range []string{"a/b", ".git", "a/.GIT/b", "git~1", "..", "a\\b", "\u200c.git"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if patch.BadPath(path) != "" {
			return
		}
		require.True(t, fs.ValidPath(path))
		for _, part := range strings.Split(path, "/") {
			require.NotEqual(t, ".git", strings.ToLower(strings.TrimRight(part, ". ")))
		}
	})
}

// FuzzGate expects no panic and a sound answer for any Go-like text.
func FuzzGate(f *testing.F) {
	f.Add(goFile)
	f.Add("package a\nimport \"os\"\nfunc init() { os.Exit(0) }\n")
	f.Add("package a\nvar x = func() { for range 3 {} }\n")
	f.Fuzz(func(t *testing.T, src string) {
		c := model.Candidate{Edits: edits("a.go", src)}
		r := patch.Gate(gateBase, c, patch.Policy{})
		if src == goFile {
			require.Equal(t, patch.RuleIdentical, r.Rule)
		}
		if r != nil {
			require.NotEmpty(t, r.Rule)
			require.NotEmpty(t, r.Why)
		}
		again := patch.Gate(gateBase, c, patch.Policy{})
		require.Equal(t, r, again)
	})
}
