package search

import "sort"

// maxPaired bounds the mutations that pairs are made of.
const maxPaired = 60

// pairs combines the best single mutations of one file by two, the likeliest
// pair first, in bounded number.
func (q *query) pairs() func() (ranked, bool) {
	var out []ranked
	for i, a := range q.singles {
		for _, b := range q.singles[:i] {
			if a.ground.file() == b.ground.file() && a.cluster == b.cluster && !overlapping(a.changes, b.changes) {
				out = append(out, pair(b, a))
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	if len(out) > q.cfg.Pairs {
		out = out[:q.cfg.Pairs]
	}
	return func() (ranked, bool) {
		if len(out) == 0 {
			return ranked{}, false
		}
		m := out[0]
		out = out[1:]
		return m, true
	}
}

func overlapping(a, b []change) bool {
	for _, x := range a {
		for _, y := range b {
			if x.start <= y.end && y.start <= x.end {
				return true
			}
		}
	}
	return false
}

func pair(a, b ranked) ranked {
	m := a
	m.score = a.score * b.score
	m.what = a.what + ", and " + b.what
	m.changes = append(append([]change(nil), a.changes...), b.changes...)
	if len(b.problems) > len(m.problems) {
		m.problems = b.problems
	}
	return m
}
