package activities

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ratchet/benchmarks"
	"ratchet/benchmarks/suites"
	"ratchet/internal/model"
	"ratchet/internal/trial"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// AgentBenchmark says how an agent is to be measured.
type AgentBenchmark struct {
	Name     string // of the benchmark
	Suite    suites.Suite
	Problems []suites.Problem // of the suite
	Agent    suites.Agent
	Command  string         // the agent's command, for people
	Image    string         // of the agent's boxes; when empty, that of the problem's grader
	Limits   sandbox.Limits // of the agent's boxes
	Time     time.Duration  // for each problem, its own limit when zero
	Parallel int
	Rounds   int
}

// graderImages are the images in which hidden tests are run, by their kind, and agents
// work when no other image is named.
var graderImages = map[string]string{benchmarks.KindGoTest: docker.HostGo, benchmarks.KindPyTest: docker.HostPython}

// MeasureAgent lets an agent work on all problems, rounds times, and grades what
// it leaves behind. progress is told from one goroutine at a time.
func MeasureAgent(ctx context.Context, boxes Boxes, a AgentBenchmark, progress func(string)) (model.Benchmark, error) {
	started := time.Now()
	out := model.Benchmark{
		Name: a.Name, Suites: []string{a.Suite.Name}, Repo: "suite:" + a.Suite.Name, Tree: a.Suite.Hash,
		Agent: a.Command, Started: started.UTC(),
	}
	r, err := agentRunner(ctx, boxes, a, progress)
	if err != nil {
		return out, err
	}
	problems := make([]model.Problem, len(a.Problems))
	for i, p := range a.Problems {
		problems[i] = p.Model()
	}
	var runs []model.Run
	for range a.Rounds {
		results, err := r.Run(ctx, a.Problems)
		if err != nil {
			return out, err
		}
		var run model.Run
		for _, res := range results {
			run.Results = append(run.Results, res.Model())
			run.Sandbox += res.Sandbox
		}
		runs = append(runs, run)
		out.Runs, out.Results = append(out.Runs, run.Summary()), append(out.Results, run.Results...)
	}
	out.Score = trial.Summarise(problems, runs)
	out.Wall = time.Since(started)
	return out, nil
}

// agentRunner prepares the images that are needed.
func agentRunner(ctx context.Context, boxes Boxes, a AgentBenchmark, progress func(string)) (*suites.Runner, error) {
	spec := func(image string, l sandbox.Limits) (sandbox.Spec, error) {
		img, err := boxes.Prepare(ctx, docker.Target{Image: image}, progress)
		return sandbox.Spec{Image: img.ID, Env: img.Env, Network: sandbox.NetworkNone, Limits: l}, err
	}
	r := &suites.Runner{
		Boxes: boxes, Specs: map[string]sandbox.Spec{}, Agent: a.Agent, Time: a.Time, Parallel: a.Parallel,
		Grader:   &suites.Grader{Boxes: boxes, Specs: map[string]sandbox.Spec{}},
		Progress: func(r suites.Result) { progress(r.Problem + ": " + string(r.Outcome)) },
	}
	for _, kind := range kinds(a.Problems) {
		s, err := spec(graderImages[kind], sandbox.Limits{})
		if err != nil {
			return nil, err
		}
		r.Grader.Specs[kind] = s
		if a.Image == "" {
			s.Limits = a.Limits
			r.Specs[kind] = s
		}
	}
	var err error
	r.Spec, err = spec(cmp.Or(a.Image, docker.HostGo), a.Limits)
	return r, err
}

// kinds lists the kinds of the problems' checkers, each once.
func kinds(problems []suites.Problem) []string {
	var out []string
	for _, p := range problems {
		if p.Checker != nil && !slices.Contains(out, p.Checker.Kind) {
			out = append(out, p.Checker.Kind)
		}
	}
	return out
}
