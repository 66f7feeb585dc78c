package search

import (
	"go/ast"
	"sort"

	"ratchet/internal/diagnose"
)

// ground is a stretch of source, of any language, that is searched for repairs:
// a top-level declaration of Go, a function or statement of Python.
type ground interface {
	file() string
	source() []byte // the whole file
	// rewrite makes a mutation, false when the result does not parse.
	rewrite(m mutation) ([]byte, bool)
	// valid says whether a rewritten file can be right, and may tidy it up.
	valid(data []byte) ([]byte, bool)
	line(site ast.Node) int
	// suspicionAt is the suspicion of a site, and the suspect it comes from.
	suspicionAt(site ast.Node) (float64, diagnose.Suspect)
	// plausible is a factor on mutations of the site, 0..1.
	plausible(site ast.Node) float64
	failing() []string // problems that run it and fail
	suspected() float64
	symptoms(q *query) symptoms
	families(yield func(name string, mass float64, mutate func(emitter)))
}

// grounds lists what is searched, the most suspicious first.
func (q *query) grounds() []ground {
	var out []ground
	for _, r := range q.regions() {
		out = append(out, r)
	}
	out = append(out, q.python.grounds()...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].suspected() > out[j].suspected() })
	if len(out) > q.cfg.MaxRegions {
		out = out[:q.cfg.MaxRegions]
	}
	return out
}

func (r *region) file() string { return r.src.path }

func (r *region) source() []byte { return r.src.data }

func (r *region) rewrite(m mutation) ([]byte, bool) { return r.src.rewrite(m.changes, m.imports) }

func (r *region) valid(data []byte) ([]byte, bool) { return r.u.compiles(r.src, data) }

func (r *region) line(site ast.Node) int { return r.position(site.Pos()).Line }

func (r *region) failing() []string { return r.problems }

func (r *region) suspected() float64 { return r.suspicion }

func (r *region) symptoms(q *query) symptoms { return q.symptoms }

func (r *region) families(yield func(name string, mass float64, mutate func(emitter))) {
	for _, f := range families() {
		yield(f.name, f.mass, func(emit emitter) { r.each(f, emit) })
	}
}

// each offers every node of the region to a family.
func (r *region) each(f family, emit emitter) {
	ast.Inspect(r.node, func(n ast.Node) bool {
		if n != nil {
			f.mutate(r, n, emit)
		}
		return true
	})
}
