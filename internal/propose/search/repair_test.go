package search

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/cover"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

const budgetCode = `package budget

// Budget counts tokens.
type Budget struct {
	limit, used int
}

func New(limit int) *Budget { return &Budget{limit: limit} }

// Spend takes n tokens when they are left.
func (b *Budget) Spend(n int) bool {
	if b.used+n >= b.limit {
		return false
	}
	b.used += n
	return true
}

// Left is what remains.
func (b *Budget) Left() int { return b.limit - b.used }

// Share divides the rest.
func (b *Budget) Share(parts int) int {
	if parts <= 0 {
		return 0
	}
	return b.Left() * parts
}
`

const budgetTests = `package budget

import "testing"

func TestSpendAll(t *testing.T) {
	b := New(10)
	if !b.Spend(10) {
		t.Error("got false, want true")
	}
}

func TestSpendTooMuch(t *testing.T) {
	b := New(10)
	if b.Spend(11) || !b.Spend(4) || b.Left() != 6 {
		t.Error("wrong")
	}
}

func TestShare(t *testing.T) {
	if got := New(10).Share(5); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}

func TestShareOfNone(t *testing.T) {
	if New(10).Share(0) != 0 {
		t.Error("wrong")
	}
}
`

// goProject is a module on the host, for trusted code only.
type goProject struct {
	t   *testing.T
	dir string
}

func (p goProject) write(name string, data []byte) {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), data, 0o600))
}

// build compiles the tests with coverage; false when they do not compile.
func (p goProject) build() bool {
	c := exec.CommandContext(p.t.Context(), "go", "test", "-c", "-cover", "-vet=off", "-o", "t.bin", ".")
	c.Dir = p.dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Logf("%s", out)
	}
	return err == nil
}

// run runs one test and gives its output and whether it passed.
func (p goProject) run(name string) (string, bool) {
	c := exec.CommandContext(p.t.Context(), filepath.Join(p.dir, "t.bin"), "-test.run", "^"+name+"$", "-test.timeout", "5s", "-test.coverprofile", "c.out")
	c.Dir = p.dir
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// TestRealProgramIsRepaired goes the whole way on the host: coverage of each
// test, diagnosis, candidates, and the tests again.
func TestRealProgramIsRepaired(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		require.Empty(t, os.Getenv("CI"), "the go tool is needed")
		t.Skip("the go tool is not installed: see https://go.dev/doc/install")
	}
	p := goProject{t, t.TempDir()}
	p.write("go.mod", []byte("module example.com/budget\n\ngo 1.24\n"))
	p.write("budget.go", []byte(budgetCode))
	p.write("budget_test.go", []byte(budgetTests))
	require.True(t, p.build())
	in := measure(t, p, "TestSpendAll", "TestSpendTooMuch", "TestShare", "TestShareOfNone")
	brief, err := diagnose.Diagnose(in)
	require.NoError(t, err)
	require.Len(t, brief.Weakest, 2)
	require.NotEqual(t, brief.Weakest[0].Cluster, brief.Weakest[1].Cluster, "two defects")

	fixed := map[string]int{}
	got := proposeAll(t, newProposer(t, Config{}), propose.Request{Brief: brief, Tree: in.Tree, N: 16, Seed: 1})
	for i, c := range got {
		if len(fixed) == 2 {
			break
		}
		p.write("budget.go", c.Edits[0].Data)
		require.True(t, p.build(), c.Hypothesis)
		for _, name := range []string{"TestSpendAll", "TestShare"} {
			if _, ok := p.run(name); ok && fixed[name] == 0 && stillPass(p, "TestSpendTooMuch", "TestShareOfNone") {
				fixed[name] = i + 1
				t.Logf("%d: %s", i+1, c.Hypothesis)
				require.Contains(t, c.Targets, "unit/"+name)
			}
		}
	}
	require.Contains(t, fixed, "TestSpendAll")
	require.Contains(t, fixed, "TestShare")
}

func stillPass(p goProject, names ...string) bool {
	for _, n := range names {
		if _, ok := p.run(n); !ok {
			return false
		}
	}
	return true
}

// measure runs each test by itself with coverage.
func measure(t *testing.T, p goProject, names ...string) diagnose.Input {
	in := diagnose.Input{Repo: "budget", Coverage: model.Coverage{Hits: map[string][]int{}}, Tree: model.Tree{Files: []model.File{
		{Path: "budget.go", Data: []byte(budgetCode)}, {Path: "budget_test.go", Data: []byte(budgetTests)},
		{Path: "go.mod", Data: []byte("module example.com/budget\n")},
	}}}
	index := map[model.Block]int{}
	for _, name := range names {
		id := "unit/" + name
		in.Problems = append(in.Problems, model.Problem{ID: id, Package: ".", Name: name, Split: model.SplitSearch})
		out, ok := p.run(name)
		r := model.Result{Problem: id, Outcome: model.Fail, Message: out}
		if ok {
			r.Outcome, r.Score = model.Pass, 1
		}
		in.Results = append(in.Results, r)
		profiles, err := cover.ParseProfiles(filepath.Join(p.dir, "c.out"))
		require.NoError(t, err)
		for _, profile := range profiles {
			for _, b := range profile.Blocks {
				if b.Count == 0 {
					continue
				}
				block := model.Block{
					File:      strings.TrimPrefix(profile.FileName, "example.com/budget/"),
					StartLine: b.StartLine, StartCol: b.StartCol, EndLine: b.EndLine, EndCol: b.EndCol,
				}
				if _, known := index[block]; !known {
					index[block] = len(in.Coverage.Blocks)
					in.Coverage.Blocks = append(in.Coverage.Blocks, block)
				}
				in.Coverage.Hits[id] = append(in.Coverage.Hits[id], index[block])
			}
		}
	}
	return in
}
