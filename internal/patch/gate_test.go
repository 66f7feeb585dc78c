package patch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// tree makes a tree of ordinary files given as path, content, ….
func tree(files ...string) model.Tree {
	var edits []model.Edit
	for i := 0; i < len(files); i += 2 {
		edits = append(edits, model.Edit{Path: files[i], Data: []byte(files[i+1])})
	}
	return model.Tree{}.With(edits...)
}

func TestGateSmoke(t *testing.T) {
	base := tree("a.go", "package a\n\nfunc F() int { return 1 }\n")
	ok := model.Candidate{Edits: []model.Edit{{Path: "a.go", Data: []byte("package a\n\nfunc F() int { return 2 }\n")}}}
	require.Nil(t, patch.Gate(base, ok, patch.Policy{}))
	text, err := patch.Diff(base, ok.Edits)
	require.NoError(t, err)
	edits, err := patch.Apply(base, text)
	require.NoError(t, err, text)
	require.Equal(t, patch.Key(ok.Edits, base), patch.Key(edits, base))
}
