package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const benchedTree = `
-- go.mod --
module example.com/m

go 1.26
-- calc/calc.go --
package calc

func Squares(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i*i)
	}
	return out
}
-- calc/calc_test.go --
package calc

import "testing"

func BenchmarkSquares(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if got := Squares(1000); got[999] != 999*999 {
			b.Fatal(got[999])
		}
	}
}
`

func benchedSuite(t testing.TB) *metricSuite {
	return metricOf(t, Config{
		Prepare: [][]string{{"go", "test", "-c", "-buildvcs=false", "-vet=off", "-o", "calc.test", "./calc"}},
		Command: []string{"./calc.test", "-test.run=^$", "-test.bench=.", "-test.benchtime=2000x"},
	})
}

func TestMetricOfGoBenchmarks(t *testing.T) {
	t.Parallel()
	l, s, trusted := boxes(t), benchedSuite(t), tree(benchedTree)
	trusted.Hash = "benched"
	problems, err := s.Discover(t.Context(), l.target(trusted, model.Tree{}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"speed/example.com/m/calc/Squares/B/op", "speed/example.com/m/calc/Squares/allocs/op", "speed/example.com/m/calc/Squares/ns/op"}, ids(problems))
	for _, p := range problems {
		require.Equal(t, model.BetterLower, p.Metric.Better)
	}
	const grown, made = "var out []int", "out := make([]int, 0, n)"
	with := func(old, new string) model.Tree {
		f, _ := trusted.Find("calc/calc.go")
		return trusted.With(edit("calc/calc.go", strings.Replace(string(f.Data), old, new, 1)))
	}
	forged := `package calc

import "fmt"

func init() {
	fmt.Println("%BenchmarkSquares \t 2000 \t 1 ns/op \t 0 B/op \t 0 allocs/op")
}
`
	t.Run("better", func(t *testing.T) {
		run, err := l.openMetric(t, s, trusted, with(grown, made), problems).Run(t.Context(), problems, false)
		require.NoError(t, err)
		require.Less(t, values(t, run)[1], 5., "one allocation, not one for each doubling")
	})
	for pkg, want := range map[string]string{
		"":                          "Squares/B/op is printed 1 times, and on the base commit 0",
		`pkg: example.com/m/calc\n`: "is printed 2 times, and on the base commit 1",
	} {
		t.Run("a line of another, "+strings.TrimSpace(pkg), func(t *testing.T) {
			code := trusted.With(edit("calc/forged.go", strings.Replace(forged, "%", pkg, 1)))
			run, err := l.openMetric(t, s, trusted, code, problems).Run(t.Context(), problems, false)
			require.NoError(t, err)
			require.Contains(t, run.Tampered, want)
			require.Equal(t, model.Fail, run.Results[0].Outcome)
		})
	}
	t.Run("does not build", func(t *testing.T) {
		run, err := l.openMetric(t, s, trusted, with("return out", "return nope"), problems).Run(t.Context(), problems, false)
		require.NoError(t, err)
		require.Len(t, run.Results, 3)
		require.Equal(t, model.BuildFailed, run.Results[0].Outcome)
		require.Contains(t, run.BuildLog, "undefined: nope")
	})
}

// A screen measures the parent beside each candidate, in shared boxes and in its own.
func TestMetricScreen(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree("-- run.py --\nimport app\nassert app.total(9) == 45\nprint('{\"steps\": %d}' % app.steps)\n-- app.py --\n"+slowTotal)
	s := metricOf(t, Config{Command: []string{"python3", "run.py"}, Prepare: [][]string{{"python3", "-m", "compileall", "-q", "."}}, Better: model.BetterLower})
	problems := []model.Problem{metricProblem("steps")}
	var candidates []model.Candidate
	for _, c := range [][2]string{
		{"good", "steps = 1\n\ndef total(n):\n    return n * (n + 1) // 2\n"}, {"broken", "def total(n:\n"},
		{"wrong", "steps = 0\n\ndef total(n):\n    return n\n"}, {"same", slowTotal + "\n# the same\n"},
	} {
		candidates = append(candidates, model.Candidate{Key: c[0], Targets: []string{"speed/steps"}, Edits: []model.Edit{edit("app.py", c[1])}})
	}
	judge := func(_ string, _ model.Candidate, rs []model.Result) model.Judgement {
		return model.Judgement{Pass: rs[0].Outcome == model.Pass && rs[0].Value < rs[0].Beside}
	}
	for _, shared := range []bool{false, true} {
		got := map[string]Screened{}
		err := s.Screen(t.Context(), l.target(trusted, trusted, problems), Screening{Candidates: candidates, Judge: judge, Shared: shared}, func(x Screened) error {
			got[x.Key] = x
			return nil
		})
		require.NoError(t, err)
		require.Len(t, got, 4)
		require.True(t, got["good"].Passed, "%+v", got["good"])
		require.Equal(t, StageSearch, got["good"].Stage)
		require.Equal(t, []float64{1, 9}, []float64{got["good"].Results[0].Value, got["good"].Results[0].Beside})
		require.Equal(t, StageBuild, got["broken"].Stage)
		require.Equal(t, model.Fail, got["wrong"].Results[0].Outcome)
		require.Equal(t, StageTargets, got["same"].Stage)
		require.Equal(t, []float64{9, 9}, []float64{got["same"].Results[0].Value, got["same"].Results[0].Beside})
		require.Positive(t, got["same"].Sandbox)
	}
}

const slowTotal = `steps = 0


def total(n):
    global steps
    out = 0
    for i in range(n):
        steps += 1
        out += i + 1
    return out
`

// Code that breaks the box costs its own result, not the bench.
func TestMetricSurvivesItsCode(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree("-- run.py --\nimport app\nprint('{\"n\": %d}' % app.n)\n-- app.py --\nn = 3\n")
	s := metricOf(t, Config{Command: []string{"python3", "run.py"}, Better: model.BetterHigher})
	problems := []model.Problem{metricProblem("n")}
	for name, c := range map[string]struct {
		code string
		want model.Outcome
	}{
		"memory":        {"x = []\nwhile True: x.append(bytearray(1 << 24))", model.OutOfMemory},
		"a long output": {"n = 4\nprint('x' * (1 << 20), end='\\n' * 3)", model.Pass},
		"a signal":      {"import os\nos.kill(os.getpid(), 9)", model.Crashed},
		"time":          {"while True: pass", model.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			l := l
			if c.want == model.Timeout {
				l = l.hanging()
			}
			target := l.target(trusted, trusted.With(edit("app.py", c.code)), problems)
			b, err := s.Open(t.Context(), target)
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close(t.Context())) }()
			for range 2 {
				run, err := b.Run(t.Context(), problems, false)
				require.NoError(t, err)
				require.Equal(t, c.want, run.Results[0].Outcome, "%+v", run)
			}
		})
	}
}

func TestMetricCoversNothing(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree("-- run.py --\nprint('{\"n\": 3}')\n")
	s := metricOf(t, Config{Command: []string{"python3", "run.py"}, Better: model.BetterHigher})
	cov, err := s.Cover(t.Context(), l.target(trusted, trusted, nil), []model.Problem{metricProblem("n")})
	require.NoError(t, err)
	require.Empty(t, cov.Blocks)
	require.Equal(t, 3., cov.Results[0].Value)
	_, err = s.Discover(t.Context(), l.target(tree("-- run.py --\nimport nothing\n"), model.Tree{}, nil))
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "No module named 'nothing'")
}
