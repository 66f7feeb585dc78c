package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

func metricOf(t testing.TB, c Config) *metricSuite {
	t.Helper()
	if c.Name == "" {
		c.Name = "speed"
	}
	if len(c.Command) == 0 {
		c.Command = []string{"python3", "tools/measure.py"}
	}
	c.Kind = KindMetric
	s, err := New(c)
	require.NoError(t, err)
	return s.(*metricSuite)
}

func TestMetricConfig(t *testing.T) {
	for name, c := range map[string]struct {
		c    Config
		want string
	}{
		"no command":        {Config{}, "command is missing"},
		"better":            {Config{Command: []string{"x"}, Better: "faster"}, `better is "faster"`},
		"min effect":        {Config{Command: []string{"x"}, MinEffect: -0.1}, "min_effect is -0.1"},
		"a metric twice":    {Config{Command: []string{"x"}, Metrics: []string{"a", "a"}}, `"a" is empty or there twice`},
		"an empty metric":   {Config{Command: []string{"x"}, Metrics: []string{""}}, `"" is empty`},
		"a harness pattern": {Config{Command: []string{"x"}, Harness: []string{"[x"}}, `harness pattern "[x"`},
	} {
		t.Run(name, func(t *testing.T) {
			c.c.Name, c.c.Kind = "speed", KindMetric
			_, err := New(c.c)
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestMetricHarness(t *testing.T) {
	s := metricOf(t, Config{Root: "svc", Harness: []string{"data/**"}, Command: []string{"python3", "tools/measure.py", "-n", "3"}, Prepare: [][]string{{"make", "-f", "bench.mk"}}})
	for p, want := range map[string]bool{
		"svc/tools/measure.py": true, "tools/measure.py": false, "svc/bench.mk": true, "data/in.csv": true,
		"svc/bench/x.py": true, "benchmarks/deep/x.py": true, "svc/parse_bench.py": true, "bench_parse.py": true,
		"svc/parse_test.go": true, "go.mod": true, "vendor/x/y.go": true, "svc/testdata/x": true, "conftest.py": true, "svc/sitecustomize.py": true,
		"Makefile": true, "svc/tests/helper.py": true, "pyproject.toml": true,
		"svc/app.py": false, "svc/benchlib/x.py": false, "svc/workbench.py": false, "bench": false,
	} {
		require.Equal(t, want, s.Harness(p), p)
	}
	timed := metricOf(t, Config{Command: []string{"python3", "app.py"}, Metrics: []string{"wall"}})
	require.False(t, timed.Harness("app.py"), "where the host measures, the command is what is measured")
	require.True(t, metricOf(t, Config{Command: []string{"python3", "app.py"}, Metrics: []string{"wall", "x"}}).Harness("app.py"))
}

func TestMetricHidesNothing(t *testing.T) {
	s := metricOf(t, Config{})
	in := tree("-- a --\n")
	out, err := s.Hide(in, nil)
	require.NoError(t, err)
	require.Equal(t, in, out)
	_, err = s.Hide(in, []model.Problem{{ID: "speed/x"}})
	require.ErrorIs(t, err, ErrCannotHide)
	_, err = s.Discover(t.Context(), Target{Trusted: in})
	require.ErrorIs(t, err, ErrNeedsBox)
	require.Len(t, s.Affected(in, []string{"a"}, []model.Problem{{ID: "speed/x"}}), 1)
}

func TestMetricProblems(t *testing.T) {
	ok := func(out string) sandbox.Outcome {
		return sandbox.Outcome{Stdout: []byte(out), Wall: 2 * time.Second}
	}
	find := func(c Config, o sandbox.Outcome) ([]model.Problem, error) {
		s := metricOf(t, c)
		found, err := s.found(o)
		if err != nil {
			return nil, err
		}
		return s.problems(found)
	}
	ps, err := find(Config{Better: model.BetterLower, MinEffect: 0.1}, ok(`{"p50 ms": 3, "load": {"s": 2}}`))
	require.NoError(t, err)
	require.Equal(t, []model.Problem{
		{ID: "speed/load/s", Suite: "speed", Package: ".", Name: "load/s", Split: model.SplitSearch, Metric: &model.Metric{Unit: "s", Better: "lower", MinEffect: 0.1}},
		{ID: "speed/p50_ms", Suite: "speed", Package: ".", Name: "p50_ms", Split: model.SplitSearch, Metric: &model.Metric{Unit: "ms", Better: "lower", MinEffect: 0.1}},
	}, ps)
	ps, err = find(Config{Metrics: []string{"wall", "Encode/small/MB/s"}}, ok(goOutput))
	require.NoError(t, err)
	require.Equal(t, []string{"speed/example.com/m/calc/Encode/small/MB/s", "speed/wall"}, ids(ps))
	require.Equal(t, model.Metric{Unit: "MB/s", Better: "higher", MinEffect: model.DefaultMinEffect}, *ps[0].Metric)
	require.Equal(t, model.BetterLower, ps[1].Metric.Better)
	ps, err = find(Config{Metrics: []string{"op"}}, ok(goOutput))
	require.NoError(t, err)
	require.Len(t, ps, 3, "a part at the end of the name means all that have it")
	ps, err = find(Config{Better: model.BetterHigher, Metrics: []string{"wall"}}, ok("nothing"))
	require.NoError(t, err)
	require.Equal(t, model.BetterLower, ps[0].Metric.Better, "of the host's clock less is better whatever the numbers want")
	for name, c := range map[string]struct {
		c    Config
		o    sandbox.Outcome
		kind error
		want string
	}{
		"prints nothing":   {Config{}, ok("hello"), ErrNoProblems, "prints no number"},
		"no better":        {Config{}, ok(`{"a": 1}`), ErrConfig, "better is missing: say whether a"},
		"an unknown name":  {Config{Better: "lower", Metrics: []string{"b"}}, ok(`{"a": 1}`), ErrConfig, `"b"; it prints a, wall`},
		"fails":            {Config{Better: "lower"}, sandbox.Outcome{ExitCode: 3, Stdout: []byte(`{"a": 1}`)}, ErrConfig, "exit status 3"},
		"takes too long":   {Config{}, sandbox.Outcome{TimedOut: true}, ErrConfig, "too long"},
		"prints one twice": {Config{Better: "lower"}, ok("{\"a\": 1}\n{\"a\": 2}"), ErrConfig, "a is reported twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := find(c.c, c.o)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestGradeMetrics(t *testing.T) {
	p := func(name string) model.Problem {
		return model.Problem{ID: "speed/" + name, Name: name, Metric: &model.Metric{Better: "lower", Reference: 10}}
	}
	problems := []model.Problem{p("a"), p("b"), p(WallMetric)}
	for name, c := range map[string]struct {
		o        sandbox.Outcome
		outcomes [3]model.Outcome
		tampered string
	}{
		"measured":    {sandbox.Outcome{Stdout: []byte(`{"a": 5, "b": 20, "wall": 0.001}`), Wall: time.Second}, [3]model.Outcome{model.Pass, model.Pass, model.Pass}, ""},
		"one missing": {sandbox.Outcome{Stdout: []byte(`{"a": 5}`)}, [3]model.Outcome{model.Pass, model.Missing, model.Pass}, ""},
		"fails":       {sandbox.Outcome{Stdout: []byte(`{"a": 5, "b": 1}`), ExitCode: 1}, [3]model.Outcome{model.Fail, model.Fail, model.Fail}, ""},
		"killed":      {sandbox.Outcome{Signal: "killed", ExitCode: -1}, [3]model.Outcome{model.Crashed, model.Crashed, model.Crashed}, ""},
		"too slow":    {sandbox.Outcome{TimedOut: true}, [3]model.Outcome{model.Timeout, model.Timeout, model.Timeout}, ""},
		"no memory":   {sandbox.Outcome{OutOfMemory: true}, [3]model.Outcome{model.OutOfMemory, model.OutOfMemory, model.OutOfMemory}, ""},
		"a bad value": {sandbox.Outcome{Stdout: []byte(`{"a": -5, "b": 1}`)}, [3]model.Outcome{model.Fail, model.Fail, model.Fail}, ""},
		"twice":       {sandbox.Outcome{Stdout: []byte("{\"a\": 5, \"b\": 1}\n{\"a\": 1}")}, [3]model.Outcome{model.Fail, model.Fail, model.Fail}, "a is reported twice"},
	} {
		t.Run(name, func(t *testing.T) {
			run, late := grade(problems, c.o, nil)
			results, tampered := run.Results, run.Tampered
			require.Empty(t, late)
			require.Len(t, results, 3)
			for i, r := range results {
				require.Equal(t, problems[i].ID, r.Problem)
				require.Equal(t, c.outcomes[i], r.Outcome)
				require.Equal(t, r.Outcome == model.Pass, r.Message == "", r.Message)
				require.Equal(t, r.Outcome == model.Timeout, r.TimedOut)
				require.Equal(t, c.o.Wall, r.Wall)
				if r.Outcome != model.Pass {
					require.Zero(t, r.Score)
				}
			}
			require.Contains(t, tampered, c.tampered)
			require.Equal(t, c.tampered == "", tampered == "")
		})
	}
	run, _ := grade(problems, sandbox.Outcome{Stdout: []byte(`{"a": 5, "b": 20, "wall": 0.001}`), Wall: time.Second}, nil)
	results := run.Results
	require.Equal(t, []float64{5, 20, 1000}, []float64{results[0].Value, results[1].Value, results[2].Value}, "the host's clock, not what is printed")
	require.InDelta(t, 2./3, results[0].Score, 1e-12)
}

// What is said to be saved must be missing from the host's clock.
func TestClockCheck(t *testing.T) {
	run := func(wall, busy float64) usage {
		return usageOf([]reading{{name: "a", busy: busy}}, durationOf(wall))
	}
	for name, c := range map[string]struct {
		trusted, now usage
		refused      bool
	}{
		"nothing changed":                    {run(2, 1.5), run(2, 1.5), false},
		"ten times faster, and so it is":     {run(2, 1.5), run(0.65, 0.15), false},
		"ten times faster, on a slower host": {run(2, 1.5), run(1.3, 0.3), false},
		"a slowed clock":                     {run(2, 1.5), run(2, 0.15), true},
		"a stopped clock":                    {run(2, 1.5), run(2.1, 0), true},
		"a clock slowed by a third":          {run(2, 1.5), run(2, 0.8), true},
		"too small a part to tell":           {run(2, 0.3), run(2, 0.03), false},
		"the same time, more iterations":     {run(2, 1.5), run(2, 1.5), false},
		"a short run":                        {run(0.2, 0.15), run(0.2, 0.01), false},
		"slower":                             {run(2, 1.5), run(5, 4), false},
		"a number beyond all bounds":         {run(2, 1e300), run(2, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.refused, c.trusted.clockCheck(c.now) != "", c.trusted.clockCheck(c.now))
		})
	}
	u := usageOf([]reading{{name: "x", busy: 1, lines: 1}, {name: "y", busy: 1, lines: 1}, {name: "p50", busy: 2}, {name: "p99", busy: 3}}, time.Second)
	require.Equal(t, 5*time.Second, u.busy(u))
	part := usageOf([]reading{{name: "x", lines: 2}, {name: "p50"}}, time.Second)
	require.Equal(t, 3*time.Second, u.busy(part), "what is not measured any more has failed, and saves nothing")
	require.ErrorContains(t, u.sameBenchmarks(part), "x is printed 2 times, and on the base commit 1")
	require.NoError(t, u.sameBenchmarks(u))
	strange := usageOf([]reading{{name: "z", lines: 1}}, time.Second)
	require.ErrorIs(t, u.sameBenchmarks(strange), errForged)
}

func TestWhichMetricsAreCompared(t *testing.T) {
	for _, c := range []struct {
		name, unit string
		want       bool
	}{
		{"load_ms", "ms", true}, {"X/ns/op", "ns/op", true}, {"X/allocs/op", "allocs/op", true},
		{"hits", "", false}, {"load", "seconds", true}, {WallMetric, "ms", false},
	} {
		p := model.Problem{Name: c.name, Metric: &model.Metric{Unit: c.unit}}
		require.Equal(t, c.want, isChecked(p), c.name)
	}
	require.False(t, isChecked(model.Problem{Name: "test"}))
}
