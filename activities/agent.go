package activities

import (
	"context"
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
	Image    string         // of the agent's boxes
	Limits   sandbox.Limits // of the agent's boxes
	Time     time.Duration  // for each problem, its own limit when zero
	Parallel int
	Rounds   int
}

// graderImages are the images in which hidden tests are run, by their kind.
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
	grader := suites.Grader{Boxes: boxes, Specs: map[string]sandbox.Spec{}}
	for _, p := range a.Problems {
		if p.Checker == nil || grader.Specs[p.Checker.Kind].Image != "" {
			continue
		}
		s, err := spec(graderImages[p.Checker.Kind], sandbox.Limits{})
		if err != nil {
			return nil, err
		}
		grader.Specs[p.Checker.Kind] = s
	}
	own, err := spec(a.Image, a.Limits)
	if err != nil {
		return nil, err
	}
	return &suites.Runner{
		Boxes: boxes, Spec: own, Agent: a.Agent, Grader: grader, Time: a.Time, Parallel: a.Parallel,
		Progress: func(r suites.Result) { progress(r.Problem + ": " + string(r.Outcome)) },
	}, nil
}
