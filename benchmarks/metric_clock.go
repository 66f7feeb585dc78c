package benchmarks

import (
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
	// Only what is said to save at least this share of the trusted tree's run is
	// checked: less is within what a host scatters.
	checkedSaving = 0.3
	// So much of what is said to be saved must be missing from the host's clock.
	leastSaving = 0.25
)

// usage is what one run took.
type usage struct {
	wall  time.Duration  // by the host's clock
	busy  time.Duration  // that the command says it measured, at the least
	lines map[string]int // of each Go benchmark and unit
}

// usageOf sums up what a run says of itself: of Go benchmarks the time of all
// iterations, one benchmark after the other; of other times the longest, because
// several may be taken of the same work.
func usageOf(found []reading, wall time.Duration) usage {
	u := usage{wall: wall, lines: map[string]int{}}
	all, longest := 0.0, 0.0
	for _, r := range found {
		if r.lines > 0 {
			u.lines[r.name] = r.lines
			all += r.busy
		} else {
			longest = max(longest, r.busy)
		}
	}
	u.busy = seconds(all + longest)
	return u
}

// seconds converts without overflow: a printed number may be anything.
func seconds(s float64) time.Duration {
	const most = float64(24 * time.Hour)
	return time.Duration(min(s*float64(time.Second), most))
}

// check compares a run with one of the trusted tree, u, and says why it cannot be
// believed, or nothing. The benchmarks come from the trusted tree, so each has as
// many lines as there.
func (u usage) check(now usage) string {
	for _, name := range slices.Sorted(maps.Keys(u.lines)) {
		if n := now.lines[name]; n > u.lines[name] {
			return fmt.Sprintf("%s is printed %d times, and on the base commit %d", name, n, u.lines[name])
		}
	}
	return u.clockCheck(now)
}

// clockCheck compares times. What is said to have been spent was spent while the
// command ran, so what a faster tree saves of it must be missing from the host's
// clock as well; a clock that was slowed, and a line that was made up, save
// nothing there. Times that are a small part of the command's are not checked,
// because they are lost in what a host scatters.
func (u usage) clockCheck(now usage) string {
	saved, fell := u.busy-now.busy, u.wall-now.wall
	if float64(saved) < checkedSaving*float64(u.wall) || float64(fell) >= leastSaving*float64(saved) {
		return ""
	}
	return fmt.Sprintf("its times say that %s were saved, but by the host's clock the command took %s, and on the base commit %s",
		saved.Round(time.Millisecond), now.wall.Round(time.Millisecond), u.wall.Round(time.Millisecond))
}

// trustedUsage measures the trusted tree once for each suite and image, when one
// of the problems is a time or a Go benchmark's. It is nil when there is nothing to
// compare: no such problem, the code is the trusted tree, or that fails by now.
func (b *metricBench) trustedUsage(ctx context.Context, problems []model.Problem) (*usage, error) {
	t, s := b.target, b.suite
	if !slices.ContainsFunc(problems, isChecked) || sameTree(b.tree, s.tree(t.Trusted, t.Trusted)) {
		return nil, nil
	}
	key := t.Trusted.Hash + " " + t.Spec.Image
	if u, ok := s.recall(key); ok && t.Trusted.Hash != "" {
		return &u, nil
	}
	u, err := s.measureTrusted(ctx, t)
	if err != nil || u == nil {
		return nil, err
	}
	b.unpaid += u.wall
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trusted[key] = *u
	return u, nil
}

func (s *metricSuite) recall(key string) (usage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.trusted[key]
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
	o, err := b.execute(ctx)
	if err != nil || !o.OK() {
		return nil, err
	}
	found, err := readMetrics(o.Stdout)
	if err != nil {
		return nil, nil // the trusted tree itself cannot be read: there is nothing to compare with
	}
	taken := usageOf(found, o.Wall)
	return &taken, nil
}

// sameTree says that two trees hold the same files.
func sameTree(a, b model.Tree) bool {
	return len(a.Files) == len(b.Files) && len(changed(a, b)) == 0
}
