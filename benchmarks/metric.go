package benchmarks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// KindMetric scores numbers that a command prints.
const KindMetric = "metric"

// WallMetric is the name of the metric that the host measures: how long the
// command took, in milliseconds, lower being better. A command cannot print it.
const WallMetric = "wall"

// metricSuite measures numbers: each run of its command gives a value of every
// metric, from one process and a clean work area. It prints them as JSON or in the
// format of Go benchmarks (see readMetrics), and has to exit with status 0.
//
// # What a number proves
//
// The command comes from the trusted tree and the value is read outside, but
// between the two the code under test runs in the same process. Refused are
// results of a command that failed, a value that is given twice, benchmarks with
// more lines than on the trusted tree, and times that fell while the host's clock says that
// nothing was saved (see usage.clockCheck). What an earlier run left in the box is removed.
//
// Not refused can be: code that learns that it is being measured and does other
// work then, that leaves out work which the command does not check, that slows or
// stops a clock where the measured time is a small part of the command's, or that
// replaces the printing of the command. Therefore measure WallMetric where it will
// do, and put a suite of tests beside it: they have the same environment, and a
// shortcut that gives a wrong result fails there.
//
// The suite is safe for concurrent use.
type metricSuite struct {
	commandSuite
	named map[string]bool

	mu      sync.Mutex
	trusted map[string]usage // what a run of a trusted tree took, by tree and image
}

func newMetricSuite(c Config) (Suite, error) {
	s := &metricSuite{trusted: map[string]usage{}}
	base, err := newCommandSuite(c, s.owns, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Better != "" && c.Better != model.BetterLower && c.Better != model.BetterHigher:
		return nil, base.refuse("better is %q: it is %s or %s", c.Better, model.BetterLower, model.BetterHigher)
	case c.MinEffect < 0 || c.MinEffect > 10:
		return nil, base.refuse("min_effect is %g: it is more than 0 and at most 10", c.MinEffect)
	case c.MinEffect == 0:
		base.cfg.MinEffect = model.DefaultMinEffect
	}
	for i, name := range base.cfg.Metrics {
		if metricName(name) == "" || slices.Contains(base.cfg.Metrics[:i], name) {
			return nil, base.refuse("metrics: %q is empty or there twice", name)
		}
	}
	s.commandSuite = base
	if !s.wallOnly() { // else the command is what is measured, and prints nothing that is read
		s.named = base.named()
	}
	return s, nil
}

// wallOnly says that nothing which the command prints counts.
func (s *metricSuite) wallOnly() bool {
	return slices.Equal(s.cfg.Metrics, []string{WallMetric})
}

// benchFolders are the folders in which benchmarks lie by convention.
var benchFolders = []string{"bench", "benches", "benchmark", "benchmarks", "vendor"}

// owns covers the files that the command and those of Prepare name, benchmarks and
// tests by the conventions of many languages, and what configures how they are built
// and run: Prepare runs as Builder, who could rewrite all of them.
func (s *metricSuite) owns(p string) bool {
	if s.named[p] {
		return true
	}
	base := path.Base(p)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if strings.HasSuffix(stem, "_bench") || strings.HasPrefix(base, "bench_") {
		return true
	}
	if slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(part string) bool {
		return testFolders[part] || slices.Contains(benchFolders, part)
	}) {
		return true
	}
	return slices.ContainsFunc(testFiles, func(pattern string) bool {
		ok, err := path.Match(pattern, base)
		return err == nil && ok
	})
}

// Discover runs the command on the trusted tree and lists the numbers that it
// prints, or those of them that the configuration names.
func (s *metricSuite) Discover(ctx context.Context, t Target) ([]model.Problem, error) {
	if t.Boxes == nil {
		return nil, fmt.Errorf("suite %q: list the metrics: %w", s.cfg.Name, ErrNeedsBox)
	}
	b := s.bench(Target{Boxes: t.Boxes, Spec: t.Spec, Trusted: t.Trusted, Code: t.Trusted, Limit: t.Limit}, t.Trusted)
	defer func() { _ = b.Close(context.WithoutCancel(ctx)) }() // what was read is good whether or not the box goes quietly
	if err := b.open(ctx); err != nil {
		return nil, fmt.Errorf("suite %q: list the metrics: %w", s.cfg.Name, err)
	}
	if log, failed := b.failure(); failed {
		return nil, s.refuse("prepare failed on the base commit: %s", log)
	}
	o, err := b.execute(ctx)
	if err != nil {
		return nil, fmt.Errorf("suite %q: list the metrics: %w", s.cfg.Name, err)
	}
	found, err := s.found(o)
	if err != nil {
		return nil, err
	}
	return s.problems(found)
}

// found reads what the command printed on the trusted tree.
func (s *metricSuite) found(o sandbox.Outcome) ([]reading, error) {
	if !o.OK() {
		return nil, s.refuse("the command fails on the base commit (%s): %s", ending(o), tailOf(o.Stdout, []byte("\n"), o.Stderr))
	}
	found, err := readMetrics(o.Stdout)
	if err != nil {
		return nil, s.refuse("what the command prints on the base commit: %w", err)
	}
	found = slices.DeleteFunc(found, func(r reading) bool { return r.name == WallMetric })
	return append(found, wallReading(o)), nil
}

func wallReading(o sandbox.Outcome) reading {
	return reading{name: WallMetric, unit: "ms", value: 1e3 * o.Wall.Seconds(), better: model.BetterLower}
}

// problems makes a problem of each metric that counts, in the order of the ids.
func (s *metricSuite) problems(found []reading) ([]model.Problem, error) {
	var out []model.Problem
	for _, r := range found {
		if !s.counts(r.name) {
			continue
		}
		better := r.better
		if s.cfg.Better != "" && r.name != WallMetric {
			better = s.cfg.Better
		}
		if better == "" {
			return nil, s.refuse("better is missing: say whether %s is to become lower or higher", r.name)
		}
		out = append(out, model.Problem{
			ID: s.cfg.Name + "/" + r.name, Suite: s.cfg.Name, Package: ".", Name: r.name, Split: model.SplitSearch,
			Metric: &model.Metric{Unit: r.unit, Better: better, MinEffect: s.cfg.MinEffect},
		})
	}
	for _, wanted := range s.cfg.Metrics {
		if !slices.ContainsFunc(found, func(r reading) bool { return means(wanted, r.name) }) {
			return nil, s.refuse("the command does not print the metric %q; it prints %s", wanted, listed(found))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("suite %q: %w: the command prints no number as JSON or in the format of Go benchmarks", s.cfg.Name, ErrNoProblems)
	}
	slices.SortFunc(out, func(a, b model.Problem) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// counts says whether the configuration asks for a metric: by its name or the end
// of it, or for all that are printed.
func (s *metricSuite) counts(name string) bool {
	if len(s.cfg.Metrics) == 0 {
		return name != WallMetric
	}
	return slices.ContainsFunc(s.cfg.Metrics, func(wanted string) bool { return means(wanted, name) })
}

// means says whether a name in the configuration is that of a metric, or a part at
// its end: "Encode/ns/op" and "ns/op" both mean "example.com/codec/Encode/ns/op".
func means(wanted, name string) bool {
	wanted = metricName(wanted)
	return name == wanted || wanted != WallMetric && strings.HasSuffix(name, "/"+wanted)
}

// listed names some of the metrics that were found.
func listed(found []reading) string {
	const most = 10
	var names []string
	for _, r := range found[:min(len(found), most)] {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}

// Hide cannot hide anything: which files belong to a number is not known.
func (s *metricSuite) Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error) {
	if len(problems) > 0 {
		return model.Tree{}, fmt.Errorf("suite %q: %w: a metric has no files of its own", s.cfg.Name, ErrCannotHide)
	}
	return trusted, nil
}

// Open lays the tree into a new box and prepares it.
func (s *metricSuite) Open(ctx context.Context, t Target) (Bench, error) {
	b := s.bench(t, t.Code)
	if err := b.open(ctx); err != nil {
		return nil, closing(ctx, b, err)
	}
	return b, nil
}

// Cover measures each problem in a run of its own. Which code a number depends
// on cannot be told.
func (s *metricSuite) Cover(ctx context.Context, t Target, problems []model.Problem) (cov model.Coverage, err error) {
	b := s.bench(t, t.Code)
	defer func() { err = closing(ctx, b, err) }()
	if err := b.open(ctx); err != nil {
		return cov, err
	}
	run, err := b.Run(ctx, problems, false)
	return model.Coverage{Results: run.Results, Sandbox: run.Sandbox, Hits: map[string][]int{}}, err
}
