package benchmarks

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// measuredTree is a program whose work takes most of the time of the command that
// measures it; a good tree does a tenth of it.
const measuredTree = `
-- app.py --
import time

work = 0


def total(n):
    global work
    end = time.monotonic_ns() + 100_000_000
    while time.monotonic_ns() < end:
        pass
    work += n
    return n * (n + 1) // 2
-- tools/measure.py --
import json
import os
import sys
import time

sys.path.insert(0, ".")
import app

started = time.perf_counter()
if app.total(100) != 5050:
    sys.exit("a wrong total")
took = time.perf_counter() - started
told = [k + v for k, v in os.environ.items() if any(w in (k + v).lower() for w in ("bench", "metric", "measure", "speed"))]
print(json.dumps({"total_seconds": took, "work": app.work, "told": len(told)}))
-- tests/test_app.py --
import app


def test_total():
    assert app.total(10) == 55
`

const busyLoop = "end = time.monotonic_ns() + 100_000_000"

func measuredSuite(t testing.TB) *metricSuite {
	return metricOf(t, Config{Command: []string{"python3", "tools/measure.py"}, Better: model.BetterLower, Metrics: []string{"total_seconds", "work", "told", "wall"}})
}

// app replaces text in the program of measuredTree.
func app(t testing.TB, in model.Tree, oldNew ...string) model.Tree {
	t.Helper()
	f, ok := in.Find("app.py")
	require.True(t, ok)
	for i := 0; i < len(oldNew); i += 2 {
		require.Contains(t, string(f.Data), oldNew[i])
	}
	return in.With(edit("app.py", strings.NewReplacer(oldNew...).Replace(string(f.Data))))
}

func (l lab) openMetric(t testing.TB, s *metricSuite, trusted, code model.Tree, problems []model.Problem) Bench {
	t.Helper()
	target := l.target(trusted, code, problems)
	target.Limit = 0
	b, err := s.Open(t.Context(), target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return b
}

func TestMetricCheats(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t), measuredSuite(t), tree(measuredTree)
	trusted.Hash = "trusted"
	problems, err := s.Discover(t.Context(), l.target(trusted, model.Tree{}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"speed/told", "speed/total_seconds", "speed/wall", "speed/work"}, ids(problems))
	const slow = "100_000_000"
	for name, c := range map[string]struct {
		edits    []string // pairs of old and new text
		files    []model.Edit
		outcome  model.Outcome
		below    float64 // of total_seconds, when it was measured
		tampered string
	}{
		"honest, without the needless work": {edits: []string{slow, "0"}, outcome: model.Pass, below: 0.1},
		"a line printed after the result": {
			edits:   []string{"work = 0", "import atexit\natexit.register(print, '{\"total_seconds\": 0.001, \"work\": 1, \"told\": 0}')\nwork = 0"},
			outcome: model.Fail, tampered: "is reported twice",
		},
		"a line printed before the result": {
			edits:   []string{"work = 0", "print('{\"total_seconds\": 0.001}')\nwork = 0"},
			outcome: model.Fail, tampered: "is reported twice",
		},
		"a line printed before the end": {
			edits:   []string{"    work += n", "    print('{\"total_seconds\": 0.001, \"work\": 1, \"told\": 0}', flush=True)\n    import os; os._exit(1)"},
			outcome: model.Fail,
		},
		"an endless number":  {edits: []string{"work = 0", "import json\njson.dumps = lambda x: '{\"total_seconds\": -1, \"work\": NaN}'\nwork = 0"}, outcome: model.Missing},
		"a negative number":  {edits: []string{"work = 0", "import json\njson.dumps = lambda x: '{\"total_seconds\": -1}'\nwork = 0"}, outcome: model.Fail},
		"nothing is printed": {edits: []string{"work = 0", "import sys\nsys.stdout = sys.stderr\nwork = 0"}, outcome: model.Missing},
		"a wrong result":     {edits: []string{"return n * (n + 1) // 2", "return 0"}, outcome: model.Fail},
		"another command":    {files: []model.Edit{edit("tools/measure.py", "print('{\"total_seconds\": 0.001}')")}, outcome: model.Pass},
		"a module that Python loads by itself": {
			files: []model.Edit{edit("tools/sitecustomize.py", "import os\nprint('{\"total_seconds\": 0.001}')\nos._exit(0)")}, outcome: model.Pass,
		},
	} {
		t.Run(name, func(t *testing.T) {
			code := trusted.With(c.files...)
			if len(c.edits) > 0 {
				code = app(t, code, c.edits...)
			}
			code.Hash = ""
			run, err := l.openMetric(t, s, trusted, code, problems).Run(t.Context(), problems, false)
			require.NoError(t, err)
			got := run.ByProblem()["speed/total_seconds"]
			require.Equal(t, c.outcome, got.Outcome, "%+v", run)
			if c.tampered == "" {
				require.Empty(t, run.Tampered)
			} else {
				require.Contains(t, run.Tampered, c.tampered)
			}
			if c.outcome != model.Pass {
				require.Zero(t, got.Score)
				return
			}
			require.InDelta(t, 1e3*got.Wall.Seconds(), run.ByProblem()["speed/wall"].Value, 1e-6)
			if c.below > 0 {
				require.Less(t, got.Value, c.below)
			} else {
				require.GreaterOrEqual(t, got.Value, 0.1, "the trusted command was run")
			}
		})
	}
}

// A clock that the code under test has slowed says that time was saved; the host's
// does not. Code that is as fast as it says is believed.
func TestMetricClock(t *testing.T) {
	t.Parallel() // it only waits
	l, s, trusted := pyBoxes(t), measuredSuite(t), tree(measuredTree)
	// It waits, where a busy machine would stretch work, and for so long that what
	// Python needs to start is little beside it.
	const long = "time.sleep(3)"
	trusted = app(t, trusted, "while time.monotonic_ns() < end:\n        pass", long)
	trusted.Hash = "trusted"
	problems := []model.Problem{metricProblem("total_seconds")}
	run, err := l.openMetric(t, s, trusted, app(t, trusted, long, "time.sleep(0.3)"), problems).Run(t.Context(), problems, false)
	require.NoError(t, err)
	require.Less(t, values(t, run)[0], 3.)
	slowed := app(t, trusted, "work = 0", "real = time.perf_counter\ntime.perf_counter = lambda: real() / 10\nwork = 0")
	run, err = l.openMetric(t, s, trusted, slowed, problems).Run(t.Context(), problems, false)
	require.NoError(t, err)
	require.Contains(t, run.Tampered, "by the host's clock")
	require.Equal(t, model.Fail, run.Results[0].Outcome)
	require.Zero(t, run.Results[0].Score)
}

// What a run writes, into the tree or elsewhere, is gone in the next: nothing can be
// saved up. Nothing in the environment says that numbers are being measured.
func TestMetricRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t), measuredSuite(t), tree(measuredTree)
	code := app(t, trusted, busyLoop, "end = 0", "    work += n", `    import os
    for kept in ("/tmp/kept", "kept", "tools/kept", "/dev/shm/kept"):
        if os.path.exists(kept):
            return n * (n + 1) // 2
        open(kept, "w").close()
    work += n`)
	problems := []model.Problem{metricProblem("work"), metricProblem("told")}
	b := l.openMetric(t, s, trusted, code, problems)
	for range 3 {
		run, err := b.Run(t.Context(), problems, true)
		require.NoError(t, err)
		require.Equal(t, []float64{100, 0}, values(t, run))
	}
}

func metricProblem(name string) model.Problem {
	return model.Problem{ID: "speed/" + name, Suite: "speed", Package: ".", Name: name, Split: model.SplitSearch, Metric: &model.Metric{Better: model.BetterLower, MinEffect: 0.05}}
}

func values(t testing.TB, run model.Run) (out []float64) {
	t.Helper()
	require.Empty(t, run.Tampered)
	for _, r := range run.Results {
		require.Equal(t, model.Pass, r.Outcome, "%+v", r)
		out = append(out, r.Value)
	}
	return out
}

// Code that sees that it is being measured, by the name of the script, can leave
// its work out, and no number shows it. A suite of tests beside it does when the
// result is wrong there; that is why the documentation asks for one.
func TestMetricNeedsTestsBeside(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t), measuredSuite(t), tree(measuredTree)
	code := app(t, trusted, busyLoop, "import sys\n    if 'measure' in sys.argv[0]:\n        return 5050\n    return 5050\n    end = 0")
	problems := []model.Problem{metricProblem("total_seconds"), metricProblem("work")}
	run, err := l.openMetric(t, s, trusted, code, problems).Run(t.Context(), problems, false)
	require.NoError(t, err)
	require.Less(t, values(t, run)[0], 0.1, "the number believes it")
	tests := pytestSuite(t, Config{})
	beside := l.discoverPy(t, tests, trusted)
	graded, err := l.openPy(t, tests, trusted, code, beside).Run(t.Context(), beside, false)
	require.NoError(t, err)
	require.Len(t, graded.Results, 1)
	require.Equal(t, model.Fail, graded.Results[0].Outcome, "%+v", graded)
}
