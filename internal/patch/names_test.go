package patch_test

import (
	"testing"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

func TestNamesOfNewFiles(t *testing.T) {
	base := model.Tree{Files: []model.File{
		{Path: "aux.txt", Data: []byte("old\n")},
		{Path: "dir/a.txt", Data: []byte("old\n")},
		{Path: "dir/caf\u00e9.txt", Data: []byte("old\n")},
		{Path: "odd/\u200b.txt", Data: []byte("old\n")},
		{Path: "straße.txt", Data: []byte("old\n")},
	}}
	for path, good := range map[string]bool{
		"dir/new.txt": true, "dir/b/c.txt": true, "other/a.txt": true, "größe.txt": true, "console.txt": true, "com0.txt": true, "auxiliary/x": true,
		"aux.txt": true, "odd/\u200b.txt": true, // they are there already
		"dir/A.txt": false, "Dir/new.txt": false, "DIR/b/c.txt": false, "dir/cafe\u0301.txt": false, "dir/CAFÉ.txt": false, "STRASSE.txt": false,
		"dir/\u202etxt.a": false, "dir/zero\u200bwidth.txt": false, "dir/\u2028.txt": false,
		"con": false, "dir/NUL.txt": false, "aux/x.txt": false, "COM1.log": false, "lpt9": false, "prn .txt": false,
	} {
		r := patch.Gate(base, model.Candidate{Edits: []model.Edit{{Path: path, Data: []byte("new content\n")}}}, patch.Policy{})
		if good != (r == nil) || r != nil && r.Rule != patch.RulePath {
			t.Errorf("%q: %v, want it to pass: %v", path, r, good)
		}
	}
	both := []model.Edit{{Path: "n/x.txt", Data: []byte("one\n")}, {Path: "n/X.txt", Data: []byte("two\n")}}
	if r := patch.Gate(base, model.Candidate{Edits: both}, patch.Policy{}); r == nil || r.Rule != patch.RulePath {
		t.Errorf("two new files of one name: %v", r)
	}
	rename := []model.Edit{{Path: "dir/a.txt", Delete: true}, {Path: "dir/b.txt", Data: []byte("old\nand new\n")}}
	if r := patch.Gate(base, model.Candidate{Edits: rename}, patch.Policy{}); r != nil {
		t.Errorf("a file under another name: %v", r)
	}
}
