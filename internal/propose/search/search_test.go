package search

import (
	"bytes"
	"context"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

func proposeAll(t testing.TB, p *Proposer, r propose.Request) []model.Candidate {
	got, err := p.Propose(context.Background(), r)
	require.NoError(t, err)
	return got.Candidates
}

// TestCandidatesCompile checks mutants with an importer that the proposer does not use.
func TestCandidatesCompile(t *testing.T) {
	p := newProposer(t, Config{Pairs: 20})
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "source", nil)
	for _, d := range readDefects(t) {
		for _, c := range proposeAll(t, p, propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 30}) {
			require.Len(t, c.Edits, 1)
			require.Equal(t, "p.go", c.Edits[0].Path)
			formatted, err := format.Source(c.Edits[0].Data)
			require.NoError(t, err)
			require.Equal(t, string(formatted), string(c.Edits[0].Data), c.Hypothesis)
			f, err := parser.ParseFile(fset, "p.go", c.Edits[0].Data, 0)
			require.NoError(t, err)
			conf := types.Config{Importer: imp}
			_, err = conf.Check("p", fset, []*ast.File{f}, nil)
			require.NoError(t, err, "%s: %s\n%s", d.name, c.Hypothesis, c.Edits[0].Data)
			require.Equal(t, []string{"unit/TestP"}, c.Targets)
			require.Regexp(t, `^p\.go:\d+: .+; TestP runs this and fails$`, c.Hypothesis)
			require.Greater(t, c.ExpectedGain, 0.0)
			require.LessOrEqual(t, c.ExpectedGain, 0.25)
		}
	}
}

func TestProposalsAreDeterministicAndSeeded(t *testing.T) {
	d := readDefects(t)[10]
	r := propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 100, Seed: 7}
	first := proposeAll(t, newProposer(t, Config{}), r)
	require.Equal(t, first, proposeAll(t, newProposer(t, Config{}), r))
	r.Seed = 8
	other := proposeAll(t, newProposer(t, Config{}), r)
	require.NotEqual(t, keys(first), keys(other), "the seed breaks ties")
}

func keys(cs []model.Candidate) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Key
	}
	return out
}

func TestSkippedCandidatesGiveWayToTheNext(t *testing.T) {
	d := readDefects(t)[0]
	p := newProposer(t, Config{})
	r := propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 48}
	all := keys(proposeAll(t, p, r))
	require.Len(t, all, 48)
	tried := map[string]bool{}
	for _, k := range all[:24] {
		require.False(t, tried[k], "no candidate twice")
		tried[k] = true
	}
	r.N, r.Skip = 24, func(k string) bool { return tried[k] }
	require.Equal(t, all[24:], keys(proposeAll(t, p, r)))
}

// TestFailedIdeasComeLaterOnAnotherParent: attempts are retired by parent, but
// after a repair elsewhere the search must not begin all over.
func TestFailedIdeasComeLaterOnAnotherParent(t *testing.T) {
	d := readDefects(t)[0]
	p := newProposer(t, Config{})
	r := propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 10}
	first := proposeAll(t, p, r)
	other := strings.Replace(d.wrong, "package p\n", "package p\n\n// Another line.\n", 1)
	r = propose.Request{Brief: flatBrief(other), Tree: treeOf(other), N: 10}
	for _, c := range first {
		r.Brief.Tried = append(r.Brief.Tried, diagnose.TriedNote{Hypothesis: c.Hypothesis, Outcome: string(model.AttemptFailed)})
	}
	again := 0
	tried := triedIdeas(r.Brief.Tried)
	for _, c := range proposeAll(t, p, r) {
		what := hypothesisPattern.FindStringSubmatch(c.Hypothesis)[2]
		if tried[idea("p.go", what[:strings.LastIndex(what, "; ")])] {
			again++
		}
	}
	require.LessOrEqual(t, again, 4, "of 10 that were first before")
}

func TestPairsFollowWhenSinglesAreExhausted(t *testing.T) {
	src := "package p\n\nfunc f(a int) bool {\n\treturn a < 3\n}\n"
	p := newProposer(t, Config{Pairs: 30})
	singles := proposeAll(t, newProposer(t, Config{Pairs: -1}), propose.Request{Brief: flatBrief(src), Tree: treeOf(src), N: 1000})
	both := proposeAll(t, p, propose.Request{Brief: flatBrief(src), Tree: treeOf(src), N: 1000})
	require.Equal(t, keys(singles), keys(both)[:len(singles)])
	require.Greater(t, len(both), len(singles))
	require.LessOrEqual(t, len(both), len(singles)+30)
	require.Contains(t, both[len(singles)].Hypothesis, ", and ")
}

func TestOnlyAllowedFilesAreTouched(t *testing.T) {
	tree := model.Tree{Files: []model.File{
		{Path: "a/a.go", Mode: model.ModeFile, Data: []byte("package a\n\nfunc A(x int) bool { return x < 1 }\n")},
		{Path: "a/a_test.go", Mode: model.ModeFile, Data: []byte("package a\n\nfunc h(x int) bool { return x < 1 }\n")},
		{Path: "b/b.go", Mode: model.ModeFile, Data: []byte("package b\n\nfunc B(x int) bool { return x < 1 }\n")},
	}}
	brief := diagnose.Brief{Weakest: []diagnose.Weakness{{Problem: "unit/a/TestA"}}}
	for _, f := range tree.Files {
		brief.Suspects = append(brief.Suspects, diagnose.Suspect{File: f.Path, StartLine: 3, StartCol: 1, EndLine: 4, EndCol: 1, Score: 1})
	}
	got := proposeAll(t, newProposer(t, Config{}), propose.Request{
		Brief: brief, Tree: tree, N: 500, Allowed: func(p string) bool { return strings.HasPrefix(p, "a/") },
	})
	require.NotEmpty(t, got)
	for _, c := range got {
		for _, e := range c.Edits {
			require.Equal(t, "a/a.go", e.Path)
		}
	}
}

func TestNothingToRepair(t *testing.T) {
	p := newProposer(t, Config{})
	d := readDefects(t)[0]
	brief := flatBrief(d.wrong)
	brief.Suspects = nil
	require.Empty(t, proposeAll(t, p, propose.Request{Brief: brief, Tree: treeOf(d.wrong), N: 10}))
	brief = flatBrief(d.wrong)
	brief.Weakest = nil
	require.Empty(t, proposeAll(t, p, propose.Request{Brief: brief, Tree: treeOf(d.wrong), N: 10}))
	require.Empty(t, proposeAll(t, p, propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf("package p\n\nfunc {"), N: 10}))
}

func TestUnformattedFilesKeepTheirBytes(t *testing.T) {
	src := "package p\n\n\n\nfunc  f( a int )bool {\n        return a<3   // odd\n}\nvar   x=1\n"
	for _, c := range proposeAll(t, newProposer(t, Config{Pairs: -1}), propose.Request{Brief: flatBrief(src), Tree: treeOf(src), N: 50}) {
		got := string(c.Edits[0].Data)
		require.Contains(t, got, "\n\n\n\nfunc  f( a int )bool {\n")
	}
}

// TestRegionsTakeTurns: a long function must not keep a short one waiting.
func TestRegionsTakeTurns(t *testing.T) {
	long := "package p\n\nfunc long(a, b, c int) int {\n" + strings.Repeat("\tif a < b && b < c {\n\t\ta += b*c - 1\n\t}\n", 40) + "\treturn a\n}\n"
	short := "package p\n\nfunc short(a int) bool {\n\treturn a < 3\n}\n"
	tree := model.Tree{Files: []model.File{{Path: "long.go", Data: []byte(long)}, {Path: "short.go", Data: []byte(short)}}}
	brief := diagnose.Brief{
		Weakest: []diagnose.Weakness{{Problem: "u/TestLong"}, {Problem: "u/TestShort", Cluster: 1}},
		Suspects: []diagnose.Suspect{
			{File: "long.go", StartLine: 1, EndLine: 200, Score: 1},
			{File: "short.go", StartLine: 1, EndLine: 20, Score: 0.8, Cluster: 1},
		},
	}
	count := 0
	for _, c := range proposeAll(t, newProposer(t, Config{}), propose.Request{Brief: brief, Tree: tree, N: 24}) {
		if c.Edits[0].Path == "short.go" {
			count++
		}
	}
	require.GreaterOrEqual(t, count, 5)
	require.LessOrEqual(t, count, 19)
}

func TestWithoutStandardLibraryItStillRepairs(t *testing.T) {
	p := newProposer(t, Config{Pairs: -1, NoStdlib: true})
	found := 0
	for _, d := range readDefects(t) {
		if r := rankOf(t, p, d, 120); r > 0 {
			found++
		}
	}
	require.GreaterOrEqual(t, found, 35)
}

func TestTypesOfOtherPackagesOfTheTreeAreKnown(t *testing.T) {
	tree := model.Tree{Files: []model.File{
		{Path: "cmd/main.go", Data: []byte("package main\n\nimport \"example.com/p/units\"\n\nfunc f(x float64) float64 {\n\treturn units.ToFeet(x)\n}\n\nfunc main() { f(1) }\n")},
		{Path: "go.mod", Data: []byte("module example.com/p\n")},
		{Path: "units/units.go", Data: []byte("package units\n\nfunc ToFeet(x float64) float64 { return x }\n\nfunc ToMetres(x float64) float64 { return x }\n")},
	}}
	brief := diagnose.Brief{
		Weakest:  []diagnose.Weakness{{Problem: "u/TestF"}},
		Suspects: []diagnose.Suspect{{File: "cmd/main.go", StartLine: 5, EndLine: 7, EndCol: 2, Score: 1}},
	}
	var texts []string
	for _, c := range proposeAll(t, newProposer(t, Config{}), propose.Request{Brief: brief, Tree: tree, N: 10}) {
		texts = append(texts, string(c.Edits[0].Data))
	}
	require.Contains(t, strings.Join(texts, ""), "units.ToMetres(x)")
}

func TestConcurrentProposalsAgree(t *testing.T) {
	d := readDefects(t)[13]
	p := newProposer(t, Config{})
	r := propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 20}
	results := make([][]model.Candidate, 4)
	var group errgroup.Group
	for i := range results {
		group.Go(func() error {
			got, err := p.Propose(context.Background(), r)
			results[i] = got.Candidates
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, got := range results[1:] {
		require.Equal(t, results[0], got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{MaxRegions: -1})
	require.Error(t, err)
}

func TestCancelledSearchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := readDefects(t)[0]
	_, err := newProposer(t, Config{}).Propose(ctx, propose.Request{Brief: flatBrief(d.wrong), Tree: treeOf(d.wrong), N: 1})
	require.ErrorIs(t, err, context.Canceled)
}

// FuzzPropose feeds arbitrary source: whatever comes out must parse and differ.
func FuzzPropose(f *testing.F) {
	for _, d := range readDefects(f) {
		f.Add(d.wrong)
	}
	for _, name := range []string{"op_value.go", "op_insert.go", "rank.go", "region.go"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Add("package p\nfunc f() { L: for { break L }; switch x := any(nil).(type) { case int: _ = x; default: }; select {}; go func() {}() }")
	f.Add("package p\nfunc g[T any](x ...T) (y T, _ error) { for range 3 { defer func() { recover() }() }; return }\nvar _ = map[string][]int{\"a\": {1, 2}}")
	f.Add("package p\nfunc f(){;;if x{}else if y{}else{};return}\n//line a.go:9\nfunc h(){a,b:=1;a[b]++;*c=<-d}")
	p := newProposer(f, Config{Pairs: 10, NoStdlib: true, MaxPerFamily: 50})
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 20000 {
			return
		}
		for _, c := range proposeAll(t, p, propose.Request{Brief: flatBrief(src), Tree: treeOf(src), N: 60}) {
			_, err := parser.ParseFile(token.NewFileSet(), "p.go", c.Edits[0].Data, 0)
			require.NoError(t, err, c.Hypothesis)
			require.False(t, bytes.Equal(c.Edits[0].Data, []byte(src)))
		}
	})
}
