package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

// How far reported times and the host's clock may disagree.
const (
	// Only what is said to save at least this share of the trusted tree's run, and
	// this much, is checked: less is within what a host scatters.
	checkedSaving = 0.3
	checkedTime   = 200 * time.Millisecond
	// So much of what is said to be saved must be missing from the host's clock.
	leastSaving = 0.5
	// The trusted tree is run so often, and the fastest run counts: whatever else a
	// host does makes a run slower, and would hide a clock that was slowed.
	trustedRuns = 2
)

// usage is what one run took.
type usage struct {
	wall time.Duration // by the host's clock
	said map[string]reading
}

func usageOf(found []reading, wall time.Duration) usage {
	u := usage{wall: wall, said: make(map[string]reading, len(found))}
	for _, r := range found {
		u.said[r.name] = r
	}
	return u
}

// busy is the time that the command says it measured at the least, in the metrics
// that also are in other: of Go benchmarks the time of all iterations, one benchmark
// after the other; of other times the longest, because several may be taken of the same work.
func (u usage) busy(other usage) time.Duration {
	all, longest := 0.0, 0.0
	for _, name := range slices.Sorted(maps.Keys(u.said)) { // equal sums on every run
		r := u.said[name]
		switch _, both := other.said[name]; {
		case !both:
		case r.lines > 0:
			all += r.busy
		default:
			longest = max(longest, r.busy)
		}
	}
	return durationOf(all + longest)
}

// durationOf converts seconds without overflow: a printed number may be anything.
func durationOf(s float64) time.Duration {
	const most = float64(24 * time.Hour)
	return time.Duration(min(s*float64(time.Second), most))
}

// sameBenchmarks compares a run with one of the trusted tree, u. Go benchmarks come
// from there, so there are no others, and none has more lines: else errForged.
func (u usage) sameBenchmarks(now usage) error {
	for _, name := range slices.Sorted(maps.Keys(now.said)) {
		if was, is := u.said[name].lines, now.said[name].lines; is > was {
			return fmt.Errorf("%w: %s is printed %d times, and on the base commit %d: %w", errReadings, name, is, was, errForged)
		}
	}
	return nil
}

// clockCheck compares times. What is said to have been spent was spent while the
// command ran, so what a faster tree saves of it must be missing from the host's
// clock as well; a clock that was slowed, and a line that was made up, save
// nothing there. Times that are a small part of the command's are not checked,
// because they are lost in what a host scatters.
func (u usage) clockCheck(now usage) string {
	saved, fell := u.busy(now)-now.busy(u), u.wall-now.wall
	if saved < checkedTime || float64(saved) < checkedSaving*float64(u.wall) || float64(fell) >= leastSaving*float64(saved) {
		return ""
	}
	return fmt.Sprintf("its times say that %s were saved, but by the host's clock the command took %s, and on the base commit %s",
		saved.Round(time.Millisecond), now.wall.Round(time.Millisecond), u.wall.Round(time.Millisecond))
}

// trustedUsage measures the trusted tree for each suite and image, when one
// of the problems is a time or a Go benchmark's. It is nil when there is nothing to
// compare: no such problem, the code is the trusted tree, or that fails by now.
func (b *metricBench) trustedUsage(ctx context.Context, problems []model.Problem) (*usage, error) {
	t, s := b.target, b.suite
	if !slices.ContainsFunc(problems, isChecked) || sameTree(b.tree, s.tree(t.Trusted, t.Trusted)) {
		return nil, nil
	}
	if u, ok := s.recall(t); ok {
		return &u, nil
	}
	return b.remeasure(ctx)
}

// remeasure runs the trusted tree now, and remembers what it took.
func (b *metricBench) remeasure(ctx context.Context) (*usage, error) {
	u, err := b.suite.measureTrusted(ctx, b.target)
	if err != nil || u == nil {
		return nil, err
	}
	b.unpaid += trustedRuns * u.wall
	b.suite.remember(b.target, *u)
	return u, nil
}

func trustedKey(t Target) string { return t.Trusted.Hash + " " + t.Spec.Image }

func (s *metricSuite) remember(t Target, u usage) {
	if t.Trusted.Hash == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trusted[trustedKey(t)] = u
}

func (s *metricSuite) recall(t Target) (usage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.trusted[trustedKey(t)]
	return u, ok
}

// isChecked says that a metric is a time other than the host's own, or a cost or
// rate as Go benchmarks have.
func isChecked(p model.Problem) bool {
	if p.Metric == nil || p.Name == WallMetric {
		return false
	}
	return secondsPer(p.Name, p.Metric.Unit) > 0 || strings.Contains(p.Metric.Unit, "/")
}

func (s *metricSuite) measureTrusted(ctx context.Context, t Target) (u *usage, err error) {
	t.Code = t.Trusted
	b := s.bench(t, t.Trusted)
	defer func() { err = closing(ctx, b, err) }()
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	if _, failed := b.failure(); failed {
		return nil, nil
	}
	for range trustedRuns {
		now, err := b.usageNow(ctx)
		if err != nil || now == nil {
			return nil, err
		}
		if u == nil || now.wall < u.wall {
			u = now
		}
	}
	return u, nil
}

// usageNow runs the command once. It is nil when the command fails, or prints what
// cannot be read: then there is nothing to compare with.
func (b *metricBench) usageNow(ctx context.Context) (*usage, error) {
	o, err := b.execute(ctx)
	if err != nil || !o.OK() {
		return nil, err
	}
	found, err := readMetrics(o.Stdout)
	if err != nil {
		return nil, nil
	}
	u := usageOf(found, o.Wall)
	return &u, nil
}

// sameTree says that two trees hold the same files.
func sameTree(a, b model.Tree) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y model.File) bool {
		return x.Path == y.Path && x.Mode == y.Mode && bytes.Equal(x.Data, y.Data)
	})
}
