package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestAffected(t *testing.T) {
	file := func(path, data string) model.Edit { return model.Edit{Path: path, Data: []byte(data)} }
	tree := model.Tree{}.With(
		file("go.mod", "module m\n"),
		file("root.go", "package m\nimport _ \"m/b\"\n"),
		file("root_test.go", "package m\n"),
		file("a/a.go", "package a\n"),
		file("b/b.go", "package b\nimport _ \"m/a\"\n"),
		file("c/c.go", "package c\n"),
		file("c/c_test.go", "package c_test\nimport _ \"m/a\"\n"),
		file("d/d.go", "package d\nimport _ \"m/c\"\n"),
		file("data/x.json", "{}"),
	)
	suite, err := New(Config{Name: "unit", Kind: "gotest", Packages: []string{"./..."}})
	require.NoError(t, err)
	var all []model.Problem
	for _, dir := range []string{".", "a", "b", "c", "d"} {
		all = append(all, model.Problem{ID: dir, Package: dir})
	}
	tests := map[string]struct {
		paths []string
		want  []string
	}{
		"importers of importers, and tests that import": {[]string{"a/a.go"}, []string{".", "a", "b", "c"}},
		"what a test imports does not spread":           {[]string{"c/c.go"}, []string{"c", "d"}},
		"nobody imports the root":                       {[]string{"root.go"}, []string{"."}},
		"several files":                                 {[]string{"root.go", "d/d.go"}, []string{".", "d"}},
		"a new file in a package":                       {[]string{"d/new.go"}, []string{"d"}},
		"a new package cannot be told":                  {[]string{"e/e.go"}, []string{".", "a", "b", "c", "d"}},
		"data may be read from anywhere":                {[]string{"data/x.json"}, []string{".", "a", "b", "c", "d"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range suite.Affected(tree, tt.paths, all) {
				got = append(got, p.ID)
			}
			require.Equal(t, tt.want, got)
		})
	}
}
