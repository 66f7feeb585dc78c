package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/shlex"
	"github.com/spf13/pflag"

	"ratchet/activities"
	"ratchet/benchmarks/suites"
	"ratchet/internal/model"
	"ratchet/sandbox/docker"
)

// suitePrefix tells a suite of problems from a campaign file.
const suitePrefix = "suite:"

// agentFlagNames are the flags that only agents have.
var agentFlagNames = []string{"agent", "agent-dir", "image", "name", "parallel", "problems", "split", "timeout"}

// agentFlags describe an agent and what it is to work on.
type agentFlags struct {
	command, dir, image, name, split string
	problems                         []string
	timeout                          time.Duration
	parallel                         int
}

func (f *agentFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.command, "agent", "", "command of the agent; words as in a shell, but run without one")
	fl.StringVar(&f.dir, "agent-dir", "", "folder with the agent's files, laid in at /box/agent")
	fl.StringVar(&f.image, "image", "", "image of the agent's sandbox (default: host-go or host-python, by what the problem is graded with)")
	fl.StringVar(&f.name, "name", "", "name of the benchmark (default: the suite's)")
	fl.IntVar(&f.parallel, "parallel", 1, "problems that are worked on at once")
	fl.StringSliceVar(&f.problems, "problems", nil, "only these problems of the suite")
	fl.StringVar(&f.split, "split", "", "only the problems of this split: search or heldout")
	fl.DurationVar(&f.timeout, "timeout", 0, "time limit for each problem (default: its own)")
}

// mostParallel bounds --parallel: each problem takes a box.
const mostParallel = 256

func (f agentFlags) check() error {
	switch {
	case f.timeout < 0:
		return usage("--timeout is %s: it cannot be negative", f.timeout)
	case f.parallel < 1 || f.parallel > mostParallel:
		return usage("--parallel is %d: give a number from 1 to %d", f.parallel, mostParallel)
	case f.split != "" && f.split != string(model.SplitSearch) && f.split != string(model.SplitHeldout):
		return usage("--split is %q: give search or heldout", f.split)
	}
	_, err := words(f.command)
	return err
}

// suite loads a suite of problems: a built-in one by its name, or a folder by a
// path, which has a slash or begins with a dot.
func (a *app) suite(name string) (suites.Suite, error) {
	var s suites.Suite
	var err error
	if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		s, err = suites.Load(os.DirFS(a.absolute(name)))
	} else {
		s, err = suites.Builtin(name)
	}
	if err != nil {
		return s, usage("suite %s:\n%v", name, err)
	}
	return s, nil
}

// pick are the problems that the flags ask for.
func (f agentFlags) pick(s suites.Suite) ([]suites.Problem, error) {
	chosen := s.Problems
	if len(f.problems) > 0 {
		chosen = nil
		seen := map[string]bool{}
		for _, name := range f.problems {
			p, ok := s.Find(strings.TrimSpace(name))
			if !ok {
				return nil, usage("--problems: there is no problem %q in the suite %s (see ratchet benchmark problems %s)", name, s.Name, s.Name)
			}
			if !seen[p.ID] {
				seen[p.ID], chosen = true, append(chosen, p)
			}
		}
	}
	var out []suites.Problem
	for _, p := range chosen {
		if f.split == "" || string(p.Split) == f.split {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, usage("--split %s leaves no problem of those asked for", f.split)
	}
	return out, nil
}

func (a *app) runAgent(ctx context.Context, name string, f benchmarkFlags) error {
	s, err := a.suite(name)
	if err != nil {
		return err
	}
	job := activities.AgentBenchmark{
		Name: f.agent.name, Suite: s, Command: f.agent.command, Image: f.agent.image,
		Time: f.agent.timeout, Parallel: f.agent.parallel, Rounds: f.rounds,
	}
	if job.Name == "" {
		job.Name = s.Name
	}
	if job.Problems, err = f.agent.pick(s); err != nil {
		return err
	}
	if job.Agent.Argv, err = words(f.agent.command); err != nil {
		return err
	}
	if f.agent.dir != "" {
		if job.Agent.Files, err = agentFiles(a.absolute(f.agent.dir)); err != nil {
			return err
		}
	}
	err = a.benchmarked(ctx, f.baseline, func(boxes *docker.Engine) (model.Benchmark, error) {
		return activities.MeasureAgent(ctx, boxes, job, a.progressLine)
	})
	if errors.Is(err, suites.ErrAgent) {
		return usage("%v", err)
	}
	return err
}

// maxAgent bounds the files of an agent, in bytes.
const maxAgent = 256 << 20

// agentFiles reads a folder: regular files, and symlinks as they are.
func agentFiles(dir string) (files []model.File, err error) {
	total := int64(0)
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		f, err := agentFile(dir, p, d)
		if total += int64(len(f.Data)); err == nil && total > maxAgent {
			err = fmt.Errorf("it holds more than %d bytes", maxAgent)
		}
		files = append(files, f)
		return err
	})
	if err == nil && len(files) == 0 {
		err = errors.New("it holds no file")
	}
	if err != nil {
		return nil, usage("--agent-dir %s: %v", dir, err)
	}
	return files, nil
}

func agentFile(dir, p string, d fs.DirEntry) (f model.File, err error) {
	rel, err := filepath.Rel(dir, p)
	if err != nil {
		return f, err
	}
	info, err := d.Info()
	if err != nil {
		return f, err
	}
	f = model.File{Path: filepath.ToSlash(rel), Mode: model.ModeFile}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		f.Mode, f.Data = model.ModeSymlink, []byte(target)
		return f, err
	case !mode.IsRegular():
		return f, fmt.Errorf("%s is neither a file nor a folder", rel)
	case info.Size() > maxAgent:
		return f, fmt.Errorf("%s is larger than %d bytes", rel, maxAgent)
	case mode&0o111 != 0:
		f.Mode = model.ModeExec
	}
	f.Data, err = os.ReadFile(p)
	return f, err
}

// words splits a command line as a shell does, but expands nothing.
func words(line string) ([]string, error) {
	out, err := shlex.Split(line)
	if err != nil {
		return nil, usage("--agent: %s: %v", line, err)
	}
	if len(out) == 0 || out[0] == "" {
		return nil, usage("--agent is empty: give the command of the agent that is to be measured")
	}
	return out, nil
}
