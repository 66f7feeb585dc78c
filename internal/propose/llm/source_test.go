package llm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// FuzzSource takes any file apart: each line belongs to exactly one region, and
// what is shown of it fits.
func FuzzSource(f *testing.F) {
	f.Add(sumSource, ".go", 12, 14, 500)
	f.Add("import os\n\n@cache\ndef f(x):\n    return x\n\nclass A:\n    def m(self): return 1\n", ".py", 4, 4, 120)
	f.Add("package a; func f() {}; func g() {\n}\r\n\x1b]x\n//line b.go:700\nfunc h() {}", ".go", 1, 9, 2000)
	f.Add(strings.Repeat("x", 5000)+"\n\n\u202e", ".txt", -3, 1<<40, 900)
	f.Fuzz(func(t *testing.T, text, kind string, first, last, room int) {
		file := model.File{Path: "a" + kind, Mode: model.ModeFile, Data: []byte(text)}
		if !readable(file) {
			return
		}
		s := newSource(file)
		next := 1
		for _, r := range s.regions {
			require.Equal(t, next, r.first)
			require.LessOrEqual(t, r.first, r.last)
			require.NotPanics(t, func() { _ = r.title() })
			next = r.last + 1
		}
		require.Equal(t, len(s.lines)+1, next)

		s.suspect(first, last, 0.5)
		room = min(max(room, 0), 1<<20)
		var items []item
		for _, r := range s.regions {
			items = append(items, newItem([]*region{r}, r.score))
		}
		chosen := choose(items, s.regions[:1], room)
		var d document
		chosen.quote(&d, func(string) bool { return false })
		require.LessOrEqual(t, d.weight(), room)
		require.GreaterOrEqual(t, chosen.left, 0)
	})
}

// A function that does not fit is cut to what there is, and later filled up.
func TestCutFunctionsAreFilledUp(t *testing.T) {
	s := newSource(model.File{Path: "calc/sum.go", Mode: model.ModeFile, Data: []byte(sumSource)})
	s.suspect(12, 12, 0.9)
	whole := newItem(s.regions, 0.9)
	chosen := choose([]item{whole}, []*region{s.at(12)}, 4000)
	require.NotContains(t, excerpt(s.lines, chosen.lines[s]), gapMark)
	require.Empty(t, choose([]item{whole}, []*region{s.at(12)}, 100).lines, "too little for anything")
}
