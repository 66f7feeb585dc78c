package search

import (
	"context"
	"go/format"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

// defect is a small program with one defect, in testdata/defects.txt as
// «wrong¦right».
type defect struct {
	name         string
	wrong, right string
}

var marked = regexp.MustCompile(`«([^«»¦]*)¦([^«»¦]*)»`)

func readDefects(t testing.TB) []defect {
	data, err := os.ReadFile("testdata/defects.txt")
	require.NoError(t, err)
	var out []defect
	for _, f := range txtar.Parse(data).Files {
		src := string(f.Data)
		wrong, err := format.Source([]byte(marked.ReplaceAllString(src, "$1")))
		require.NoError(t, err, f.Name)
		right, err := format.Source([]byte(marked.ReplaceAllString(src, "$2")))
		require.NoError(t, err, f.Name)
		require.NotEqual(t, string(wrong), string(right), f.Name)
		out = append(out, defect{f.Name, string(wrong), string(right)})
	}
	return out
}

// treeOf is a module with one file.
func treeOf(src string) model.Tree {
	return model.Tree{Files: []model.File{
		{Path: "go.mod", Mode: model.ModeFile, Data: []byte("module example.com/p\n\ngo 1.24\n")},
		{Path: "p.go", Mode: model.ModeFile, Data: []byte(src)},
	}}
}

// flatBrief suspects the whole file equally: the order is the ranking's own work.
func flatBrief(src string) diagnose.Brief {
	lines := strings.Count(src, "\n") + 1
	return diagnose.Brief{
		Repo: "p", Measured: 1,
		Weakest:  []diagnose.Weakness{{Problem: "unit/TestP", Package: ".", Name: "TestP"}},
		Suspects: []diagnose.Suspect{{File: "p.go", StartLine: 1, StartCol: 1, EndLine: lines, EndCol: 1, Score: 0.7, Problems: []string{"unit/TestP"}}},
	}
}

func newProposer(t testing.TB, cfg Config) *Proposer {
	p, err := New(cfg)
	require.NoError(t, err)
	return p
}

// rankOf is the place of the right repair, from 1; 0 when it is not proposed.
func rankOf(t testing.TB, p *Proposer, d defect, n int) int {
	got, err := p.Propose(context.Background(), propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: n, Seed: 1})
	require.NoError(t, err)
	for i, c := range got.Candidates {
		if string(c.Edits[0].Data) == d.right {
			return i + 1
		}
	}
	return 0
}

// TestRepairsOfDefectsComeEarly holds the order to account: with no help from
// localisation at all, the right repair must be among the first screens.
func TestRepairsOfDefectsComeEarly(t *testing.T) {
	p := newProposer(t, Config{Pairs: -1})
	var ranks []int
	missing := 0
	for _, d := range readDefects(t) {
		r := rankOf(t, p, d, 600)
		t.Logf("%-18s %d", d.name, r)
		if r == 0 {
			missing++
			r = 10000
		}
		ranks = append(ranks, r)
	}
	sort.Ints(ranks)
	within := func(n int) float64 { return float64(sort.SearchInts(ranks, n+1)) / float64(len(ranks)) }
	t.Logf("%d defects: median rank %d; within 10: %.0f%%, 24: %.0f%%, 48: %.0f%%, 120: %.0f%%; missing %d",
		len(ranks), ranks[len(ranks)/2], 100*within(10), 100*within(24), 100*within(48), 100*within(120), missing)
	require.GreaterOrEqual(t, len(ranks), 30)
	require.GreaterOrEqual(t, within(24), 0.6, "one generation's worth of candidates")
	require.GreaterOrEqual(t, within(120), 0.95, "five generations' worth")
}
