package search

import (
	"go/ast"
	"go/token"
	"sort"

	"ratchet/internal/diagnose"
)

// unreached is the suspicion of source that no failing test runs: a change
// there can hardly repair anything.
const unreached = 0.01

// places are the suspects of one file.
type places []diagnose.Suspect

// at finds the innermost suspect at a position.
func (p places) at(pos token.Position) (diagnose.Suspect, bool) {
	best, found := diagnose.Suspect{}, false
	for _, s := range p {
		if !inside(pos, s) {
			continue
		}
		if !found || smaller(s, best) {
			best, found = s, true
		}
	}
	return best, found
}

func inside(pos token.Position, s diagnose.Suspect) bool {
	after := pos.Line > s.StartLine || pos.Line == s.StartLine && pos.Column >= s.StartCol
	before := pos.Line < s.EndLine || pos.Line == s.EndLine && pos.Column < s.EndCol
	return after && before
}

func smaller(a, b diagnose.Suspect) bool {
	if la, lb := a.EndLine-a.StartLine, b.EndLine-b.StartLine; la != lb {
		return la < lb
	}
	return a.EndCol-a.StartCol < b.EndCol-b.StartCol
}

// position counts as the file itself does, whatever line directives say.
func (r *region) position(p token.Pos) token.Position { return r.u.fset.PositionFor(p, false) }

// suspicionAt is the suspicion of a node, and the suspect it comes from.
// Conditions of cases and the like are in no block of a cover profile; they
// count as the statement that they belong to.
func (r *region) suspicionAt(n ast.Node) (float64, diagnose.Suspect) {
	if r.indirect {
		return r.suspicion, diagnose.Suspect{Cluster: r.cluster, Problems: r.problems}
	}
	if s, ok := r.places.at(r.position(n.Pos())); ok {
		return s.Score, s
	}
	for ; n != nil; n = r.parents[n] {
		clause, ok := n.(*ast.CaseClause)
		if !ok {
			continue
		}
		if sw := r.parents[r.parents[clause]]; sw != nil {
			if s, ok := r.places.at(r.position(sw.Pos())); ok {
				return s.Score, s
			}
		}
	}
	return unreached * r.suspicion, diagnose.Suspect{Cluster: r.cluster, Problems: r.problems}
}

// regions finds the declarations that hold suspects, and those that these refer to.
func (q *query) regions() []*region {
	byFile := map[string]places{}
	for _, s := range q.brief.Suspects {
		byFile[s.File] = append(byFile[s.File], s)
	}
	files := make([]string, 0, len(byFile))
	for f := range byFile {
		files = append(files, f)
	}
	sort.Strings(files)
	var out []*region
	for _, f := range files {
		u, src := q.find(f)
		if src == nil || !q.allowed(f) {
			continue
		}
		for _, d := range src.syntax.Decls {
			if r := q.region(u, src, d, byFile[f]); r != nil {
				out = append(out, r)
			}
		}
	}
	return append(out, q.referred(out)...)
}

// region makes a region of a declaration when it holds suspects.
func (q *query) region(u *unit, src *source, d ast.Decl, all places) *region {
	start, end := u.fset.PositionFor(d.Pos(), false), u.fset.PositionFor(d.End(), false)
	var own places
	for _, s := range all {
		if s.StartLine <= end.Line && s.EndLine >= start.Line {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return nil
	}
	r := newRegion(u, src, d)
	r.places, r.literals, r.lex = own, q.pool(u), q.lex
	r.cluster, r.suspicion, r.problems = own[0].Cluster, own[0].Score, own[0].Problems
	for _, s := range own {
		if s.Score > r.suspicion {
			r.cluster, r.suspicion, r.problems = s.Cluster, s.Score, s.Problems
		}
	}
	return r
}

// indirectShare is the suspicion of a variable or constant of the package, as a
// share of that of the function that refers to it. Coverage does not see them.
const indirectShare = 0.5

// referred finds declarations of variables and constants that suspicious functions use.
func (q *query) referred(regions []*region) []*region {
	found := map[ast.Decl]*region{}
	var out []*region
	for _, r := range regions {
		for _, src := range r.u.files {
			if !q.allowed(src.path) {
				continue
			}
			for _, d := range src.syntax.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR && g.Tok != token.CONST || !r.refersTo(g) {
					continue
				}
				s := indirectShare * r.suspicion
				if old := found[d]; old != nil {
					if s > old.suspicion {
						old.suspicion, old.cluster, old.problems = s, r.cluster, r.problems
					}
					continue
				}
				x := newRegion(r.u, src, d)
				x.indirect, x.literals, x.lex = true, r.literals, r.lex
				x.suspicion, x.cluster, x.problems = s, r.cluster, r.problems
				found[d] = x
				out = append(out, x)
			}
		}
	}
	return out
}

func (r *region) refersTo(g *ast.GenDecl) bool {
	for o := range r.uses {
		if r.isPackageLevel(o) && g.Pos() <= o.Pos() && o.Pos() < g.End() {
			return true
		}
	}
	return false
}
