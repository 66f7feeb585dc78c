package patch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

const header = "diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n"

var base = tree("f.txt", "1\n2\n3\n4\n5\n", "crlf.txt", "1\r\n2\r\n3\r\n", "noeol.txt", "1\n2", "empty.txt", "", "dir/x.txt", "x\n").
	With(model.Edit{Path: "link", Data: []byte("f.txt"), Mode: model.ModeSymlink}, model.Edit{Path: "run", Data: []byte("#!\n"), Mode: model.ModeExec})

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		diff string
		want []model.Edit
	}{
		"a change": {header + "@@ -1,3 +1,3 @@ func\n 1\n-2\n+two\n 3\n", []model.Edit{{Path: "f.txt", Data: []byte("1\ntwo\n3\n4\n5\n")}}},
		"two fragments": {header + "@@ -1 +1 @@\n-1\n+one\n@@ -5 +5 @@\n-5\n+five\n",
			[]model.Edit{{Path: "f.txt", Data: []byte("one\n2\n3\n4\nfive\n")}}},
		"text before":  {"Fix it\n\n" + header + "@@ -1 +1 @@\n-1\n+one\n", []model.Edit{{Path: "f.txt", Data: []byte("one\n2\n3\n4\n5\n")}}},
		"a mail's end": {header + "@@ -1 +1 @@\n-1\n+one\n-- \n2.39.5\n\n", []model.Edit{{Path: "f.txt", Data: []byte("one\n2\n3\n4\n5\n")}}},
		"no git header, prefixes": {"--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-1\n+one\n",
			[]model.Edit{{Path: "f.txt", Data: []byte("one\n2\n3\n4\n5\n")}}},
		"no git header, no prefixes": {"--- dir/x.txt\n+++ dir/x.txt\n@@ -1 +1 @@\n-x\n+y\n", []model.Edit{{Path: "dir/x.txt", Data: []byte("y\n")}}},
		"new file": {"diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
			[]model.Edit{{Path: "n", Data: []byte("a\nb\n"), Mode: model.ModeExec}}},
		"new file, plain": {"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n", []model.Edit{{Path: "n", Data: []byte("a\n"), Mode: model.ModeFile}}},
		"new file, mode forgotten": {"diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n",
			[]model.Edit{{Path: "n", Data: []byte("a\n"), Mode: model.ModeFile}}},
		"new empty file":     {"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n", []model.Edit{{Path: "n", Data: nil, Mode: model.ModeFile}}},
		"fill an empty file": {"--- a/empty.txt\n+++ b/empty.txt\n@@ -0,0 +1 @@\n+a\n", []model.Edit{{Path: "empty.txt", Data: []byte("a\n")}}},
		"delete": {"diff --git a/dir/x.txt b/dir/x.txt\ndeleted file mode 100644\n--- a/dir/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
			[]model.Edit{{Path: "dir/x.txt", Delete: true}}},
		"delete, mode forgotten": {"diff --git a/dir/x.txt b/dir/x.txt\n--- a/dir/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
			[]model.Edit{{Path: "dir/x.txt", Delete: true}}},
		"rename": {"diff --git a/dir/x.txt b/dir/y.txt\nsimilarity index 100%\nrename from dir/x.txt\nrename to dir/y.txt\n",
			[]model.Edit{{Path: "dir/x.txt", Delete: true}, {Path: "dir/y.txt", Data: []byte("x\n"), Mode: model.ModeFile}}},
		"copy": {"diff --git a/run b/run2\nsimilarity index 100%\ncopy from run\ncopy to run2\n",
			[]model.Edit{{Path: "run2", Data: []byte("#!\n"), Mode: model.ModeExec}}},
		"mode": {"diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\n",
			[]model.Edit{{Path: "f.txt", Data: []byte("1\n2\n3\n4\n5\n"), Mode: model.ModeExec}}},
		"LF patch on a CRLF file": {"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", []model.Edit{{Path: "crlf.txt", Data: []byte("1\r\ntwo\r\n3\r\n")}}},
		"no final line end, marked": {"--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n",
			[]model.Edit{{Path: "noeol.txt", Data: []byte("1\ntwo")}}},
		"no final line end, not marked": {"--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n",
			[]model.Edit{{Path: "noeol.txt", Data: []byte("1\ntwo\n")}}},
		"no final line end, last line is context": {"--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
			[]model.Edit{{Path: "noeol.txt", Data: []byte("one\n2")}}},
		"no final line end, lines added after it": {"--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n",
			[]model.Edit{{Path: "noeol.txt", Data: []byte("1\n2\n3\n")}}},
		"quoted name": {"diff --git \"a/dir/\\303\\274\" \"b/dir/\\303\\274\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/dir/\\303\\274\"\n@@ -0,0 +1 @@\n+a\n",
			[]model.Edit{{Path: "dir/ü", Data: []byte("a\n"), Mode: model.ModeFile}}},
		"lines that look like headers":  {header + "@@ -1,2 +1,4 @@\n 1\n+++ b/evil\n+-- a/evil\n 2\n", []model.Edit{{Path: "f.txt", Data: []byte("1\n++ b/evil\n-- a/evil\n2\n3\n4\n5\n")}}},
		"a stripped blank context line": {"--- a/blank\n+++ b/blank\n@@ -1,3 +1,3 @@\n a\n\n-c\n+d\n", []model.Edit{{Path: "blank", Data: []byte("a\n\nd\n")}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patch.Apply(base.With(model.Edit{Path: "blank", Data: []byte("a\n\nc\n")}), c.diff)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	hunk := "@@ -1 +1 @@\n-1\n+one\n"
	newFile := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
	}
	for name, c := range map[string]struct {
		diff string
		want error
	}{
		"nothing":                       {"", patch.ErrSyntax},
		"prose":                         {"I fixed the bug.\n", patch.ErrSyntax},
		"counts too few new lines":      {header + "@@ -1,2 +1,2 @@\n 1\n+one\n 2\n", patch.ErrSyntax},
		"counts too few lines":          {header + "@@ -1,1 +1,1 @@\n-1\n+one\n 2\n-3\n+three\n", patch.ErrSyntax},
		"drops an added line":           {header + "@@ -1 +1 @@\n-1\n+one\n+more\n", patch.ErrSyntax},
		"drops lines after a blank":     {header + "@@ -1 +1 @@\n-1\n+one\n\n+more\n", patch.ErrSyntax},
		"counts too many lines":         {header + "@@ -1,3 +1,3 @@\n-1\n+one\n", patch.ErrSyntax},
		"too many, then another file":   {header + "@@ -1,3 +1,3 @@\n-1\n+one\n" + header + hunk, patch.ErrSyntax},
		"no numbers":                    {header + "@@ @@\n-1\n+one\n", patch.ErrSyntax},
		"no numbers, text":              {header + "@@ func f() @@\n-1\n+one\n", patch.ErrSyntax},
		"three dots":                    {header + "@@ ... @@\n-1\n+one\n", patch.ErrSyntax},
		"fragment without a file":       {hunk, patch.ErrSyntax},
		"no change":                     {header + "@@ -1 +1 @@\n 1\n", patch.ErrSyntax},
		"only a header":                 {"diff --git a/f.txt b/f.txt\n", patch.ErrSyntax},
		"git header without prefixes":   {"diff --git f.txt f.txt\n--- f.txt\n+++ f.txt\n" + hunk, patch.ErrSyntax},
		"names without prefixes":        {"diff --git a/f.txt b/f.txt\n--- f.txt\n+++ f.txt\n" + hunk, patch.ErrSyntax},
		"one prefix":                    {"--- f.txt\n+++ b/f.txt\n" + hunk, patch.ErrSyntax},
		"one file twice":                {header + hunk + header + "@@ -5 +5 @@\n-5\n+five\n", patch.ErrSyntax},
		"renamed and changed":           {header + hunk + "diff --git a/f.txt b/g.txt\nrename from f.txt\nrename to g.txt\n", patch.ErrSyntax},
		"out of order":                  {header + "@@ -5 +5 @@\n-5\n+five\n" + hunk, patch.ErrSyntax},
		"overlapping":                   {header + "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -2 +2 @@\n-2\n+two\n", patch.ErrSyntax},
		"binary":                        {"diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n", patch.ErrSyntax},
		"binary with data":              {"diff --git a/b b/b\nnew file mode 100644\nindex 0000000..1\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", patch.ErrSyntax},
		"text between files":            {header + hunk + "And now the other:\n" + newFile("n"), patch.ErrSyntax},
		"wrong context":                 {header + "@@ -1,2 +1,2 @@\n one\n-2\n+two\n", patch.ErrConflict},
		"wrong place":                   {header + "@@ -2 +2 @@\n-1\n+one\n", patch.ErrConflict},
		"past the end":                  {header + "@@ -9 +9 @@\n-1\n+one\n", patch.ErrConflict},
		"no such file":                  {"--- a/nope\n+++ b/nope\n" + hunk, patch.ErrConflict},
		"new file that exists":          {newFile("f.txt"), patch.ErrConflict},
		"plain new file that exists":    {"--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1 @@\n+x\n", patch.ErrConflict},
		"rename onto a file":            {"diff --git a/f.txt b/dir/x.txt\nsimilarity index 100%\nrename from f.txt\nrename to dir/x.txt\n", patch.ErrConflict},
		"deletes a part":                {"diff --git a/f.txt b/f.txt\ndeleted file mode 100644\n--- a/f.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", patch.ErrConflict},
		"deletes without content":       {"diff --git a/f.txt b/f.txt\ndeleted file mode 100644\n", patch.ErrConflict},
		"old mode is wrong":             {"diff --git a/f.txt b/f.txt\nold mode 100755\nnew mode 100644\n", patch.ErrConflict},
		"LF patch, mixed line ends":     {"--- a/mixed\n+++ b/mixed\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", patch.ErrConflict},
		"line end that is not there":    {"--- a/noeol.txt\n+++ b/noeol.txt\n@@ -1 +1 @@\n-2\n+two\n", patch.ErrConflict},
		"through a link":                {"--- a/link\n+++ b/link\n@@ -1 +1 @@\n-f.txt\n\\ No newline at end of file\n+/etc/passwd\n\\ No newline at end of file\n", patch.ErrPath},
		"makes a link":                  {"diff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n", patch.ErrPath},
		"makes a submodule":             {"diff --git a/n b/n\nnew file mode 160000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+Subproject commit 1\n", patch.ErrPath},
		"setuid":                        {"diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 104755\n", patch.ErrPath},
		"up":                            {newFile("../x"), patch.ErrPath},
		"absolute":                      {"--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n", patch.ErrPath},
		"git folder":                    {newFile(".git/hooks/post-commit"), patch.ErrPath},
		"git folder, case":              {newFile("sub/.GiT/config"), patch.ErrPath},
		"absolute after the prefix":     {newFile("/etc/x"), patch.ErrSyntax},
		"plain, up":                     {"--- /dev/null\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n", patch.ErrPath},
		"renames into the git folder":   {"diff --git a/f.txt b/.git/x\nsimilarity index 100%\nrename from f.txt\nrename to .git/x\n", patch.ErrPath},
		"CRLF patch":                    {strings.ReplaceAll(header+hunk, "\n", "\r\n"), patch.ErrPath},
		"quoted line break in the name": {"diff --git \"a/x\\ny\" \"b/x\\ny\"\nnew file mode 100644\n", patch.ErrPath},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patch.Apply(base.With(model.Edit{Path: "mixed", Data: []byte("1\r\n2\n")}), c.diff)
			require.ErrorIs(t, err, c.want, "%v", got)
			var typed *patch.Error
			require.ErrorAs(t, err, &typed)
		})
	}
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("line\n", 20)
	from := tree("a", "1\n"+long+"2\n", "b", "x", "c", "gone\n", "d", "", "ü b", "1\n", "m", "m\n", "same", "s\n")
	edits := []model.Edit{
		{Path: "a", Data: []byte("one\n" + long + "two\n")}, {Path: "b", Data: []byte("x\ny")}, {Path: "c", Delete: true},
		{Path: "d", Data: []byte("full\n")}, {Path: "ü b", Data: []byte("2\n")}, {Path: "m", Mode: model.ModeExec, Data: []byte("m\n")},
		{Path: "new/file", Data: []byte("n"), Mode: model.ModeExec}, {Path: "new/empty"}, {Path: "same", Data: []byte("s\n")},
	}
	text, err := patch.Diff(from, edits)
	require.NoError(t, err)
	require.NotContains(t, text, "same")
	require.Equal(t, 2, strings.Count(strings.Split(text, "diff --git a/b")[0], "@@ -"), "two fragments for a")
	back, err := patch.Apply(from, text)
	require.NoError(t, err, text)
	require.Equal(t, from.With(edits...).Files, withData(from.With(back...)).Files)
	require.Equal(t, patch.Key(edits, from), patch.Key(back, from))

	text, err = patch.Diff(from, nil)
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = patch.Diff(from, []model.Edit{{Path: "a", Data: []byte("\x00")}})
	require.ErrorIs(t, err, patch.ErrSyntax)
}

// withData makes empty content nil, so that trees can be compared.
func withData(t model.Tree) model.Tree {
	for i, f := range t.Files {
		if len(f.Data) == 0 {
			t.Files[i].Data = nil
		}
	}
	return t
}

func TestKey(t *testing.T) {
	from := tree("a", "1", "b", "2")
	key := func(edits ...model.Edit) string { return patch.Key(edits, from) }
	a, b := model.Edit{Path: "a", Data: []byte("x")}, model.Edit{Path: "b", Delete: true}
	require.Len(t, key(a), 32)
	require.Equal(t, key(a, b), key(b, a), "order")
	require.Equal(t, key(a), key(a, model.Edit{Path: "b", Data: []byte("2")}), "no effect")
	require.Equal(t, key(a), key(model.Edit{Path: "a", Data: []byte("x"), Mode: model.ModeFile}), "the mode it has")
	require.Equal(t, key(model.Edit{Path: "n"}), key(model.Edit{Path: "n", Mode: model.ModeFile}), "the mode of new files")
	distinct := map[string]string{}
	for name, k := range map[string]string{
		"none": key(), "a": key(a), "b": key(b), "both": key(a, b), "mode": key(model.Edit{Path: "a", Data: []byte("1"), Mode: model.ModeExec}),
		"other content": key(model.Edit{Path: "a", Data: []byte("y")}), "emptied": key(model.Edit{Path: "a"}), "deleted": key(model.Edit{Path: "a", Delete: true}),
		"two files": key(model.Edit{Path: "x", Data: []byte("1")}, model.Edit{Path: "y", Data: []byte("2")}),
		"moved":     key(model.Edit{Path: "x", Data: []byte("12")}, model.Edit{Path: "y", Data: nil}),
	} {
		require.Empty(t, distinct[k], "%s has the key of %s", name, distinct[k])
		distinct[k] = name
	}
}
