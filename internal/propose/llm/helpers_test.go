package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
)

// caller answers from a script, and keeps what it was asked. Only the model is
// scripted here.
type caller struct {
	window int // 0: large
	answer func(key string, r llm.Request) (llm.Answer, error)

	mu    sync.Mutex
	asked map[string]llm.Request
}

func (c *caller) Window(context.Context) (int, error) {
	if c.window == 0 {
		return 1 << 20, nil
	}
	return c.window, nil
}

func (c *caller) Call(ctx context.Context, key string, r llm.Request) (llm.Answer, error) {
	c.mu.Lock()
	if c.asked == nil {
		c.asked = map[string]llm.Request{}
	}
	c.asked[key] = r
	c.mu.Unlock()
	return c.answer(key, r)
}

// keys are those of the calls, in order.
func (c *caller) keys() []string {
	var out []string
	for k := range c.asked {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// of finds the question of a sample's turn.
func (c *caller) of(t *testing.T, sample, turn int) llm.Request {
	t.Helper()
	for k, r := range c.asked {
		if strings.HasPrefix(k, fmt.Sprintf("propose/llm/%d/%d/", sample, turn)) {
			return r
		}
	}
	t.Fatalf("sample %d was not asked in turn %d: %v", sample, turn, c.keys())
	return llm.Request{}
}

func sampleOf(t *testing.T, key string) (sample, turn int) {
	t.Helper()
	_, err := fmt.Sscanf(strings.TrimPrefix(key, "propose/llm/"), "%d/%d/", &sample, &turn)
	require.NoError(t, err, key)
	return sample, turn
}

const sumSource = `// Package calc adds.
package calc

import "errors"

// ErrEmpty is returned for no numbers.
var ErrEmpty = errors.New("no numbers")

// Sum adds numbers.
func Sum(xs []int) int {
	total := 1
	for _, x := range xs {
		total += x
	}
	return total
}

// Mean is the mean of numbers.
func Mean(xs []int) (float64, error) {
	if len(xs) == 0 {
		return 0, ErrEmpty
	}
	return float64(Sum(xs)) / float64(len(xs)+1), nil
}
`

const sumTest = `package calc

import "testing"

func TestSum(t *testing.T) {
	if got := Sum([]int{1, 2}); got != 3 {
		t.Fatalf("Sum: %d, want 3", got)
	}
}

func TestMean(t *testing.T) {
	if got, _ := Mean([]int{2, 4}); got != 3 {
		t.Fatalf("Mean: %v, want 3", got)
	}
}
`

func tree(files map[string]string) model.Tree {
	var t model.Tree
	for name, data := range files {
		t.Files = append(t.Files, model.File{Path: name, Mode: model.ModeFile, Data: []byte(data)})
	}
	slices.SortFunc(t.Files, func(a, b model.File) int { return strings.Compare(a.Path, b.Path) })
	t.Hash = "tree"
	return t
}

// calc is a request on a small repository with two defects.
func calc(n int) propose.Request {
	return propose.Request{
		Tree: tree(map[string]string{
			"go.mod": "module example.com/calc\n", "README.md": "# calc\n\nIt adds.\n",
			"calc/sum.go": sumSource, "calc/sum_test.go": sumTest, "calc/other.go": "package calc\n\nfunc Twice(x int) int { return 2 * x }\n",
		}),
		Brief: diagnose.Brief{
			Campaign: "night", Repo: "example.com/calc", Generation: 1, Parent: "c0ffee", ParentTree: "tree", Measured: 10,
			Weakest: []diagnose.Weakness{
				{Problem: "unit/calc/TestSum", Package: "calc", Name: "TestSum", Cluster: 0, Message: "sum_test.go:7: Sum: 4, want 3"},
				{Problem: "unit/calc/TestMean", Package: "calc", Name: "TestMean", Cluster: 1, Message: "sum_test.go:13: Mean: 2.3, want 3"},
			},
			Suspects: []diagnose.Suspect{
				{File: "calc/sum.go", StartLine: 11, EndLine: 12, Score: 0.9, Cluster: 0},
				{File: "calc/sum.go", StartLine: 20, EndLine: 24, Score: 0.7, Cluster: 1},
			},
		},
		Gate: func(c model.Candidate) *patch.Refusal { return gate(c) },
		N:    n, Seed: 7,
	}
}

// gate is the real one, with a harness.
func gate(c model.Candidate) *patch.Refusal {
	return patch.Gate(calc0, c, patch.Policy{Harness: func(p string) bool { return strings.HasSuffix(p, "_test.go") }})
}

var calc0 = tree(map[string]string{
	"go.mod": "module example.com/calc\n", "README.md": "# calc\n\nIt adds.\n",
	"calc/sum.go": sumSource, "calc/sum_test.go": sumTest, "calc/other.go": "package calc\n\nfunc Twice(x int) int { return 2 * x }\n",
})

// edit is one edit of an answer.
type edit struct{ path, search, replace string }

// says writes an answer as a model does.
func says(hypothesis string, gain float64, targets []string, edits ...edit) llm.Answer {
	list := make([]map[string]string, len(edits))
	for i, e := range edits {
		list[i] = map[string]string{"path": e.path, "search": e.search, "replace": e.replace}
	}
	if targets == nil {
		targets = []string{}
	}
	text, err := json.Marshal(map[string]any{"hypothesis": hypothesis, "expected_gain": gain, "targets": targets, "edits": list, "diff": ""})
	if err != nil {
		panic(err)
	}
	return llm.Answer{Text: string(text)}
}

var (
	mendSum  = edit{"calc/sum.go", "\ttotal := 1\n", "\ttotal := 0\n"}
	mendMean = edit{"calc/sum.go", "\treturn float64(Sum(xs)) / float64(len(xs)+1), nil\n", "\treturn float64(Sum(xs)) / float64(len(xs)), nil\n"}
)

func newProposer(t *testing.T, cfg Config, c Caller) *Proposer {
	t.Helper()
	p, err := New(cfg, c)
	require.NoError(t, err)
	return p
}

// always answers alike.
func always(a llm.Answer) *caller {
	return &caller{answer: func(string, llm.Request) (llm.Answer, error) { return a, nil }}
}
