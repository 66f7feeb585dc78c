package pysearch

import (
	"strconv"
	"strings"

	"ratchet/internal/pysrc"
)

func isOne(e *pysrc.Expr) bool { return e.Kind == pysrc.NumberExpr && e.Name == "1" }

// offByOne adds or takes 1 at expressions where limits stand: comparisons,
// indexes, slice bounds, ranges and returned values. What already ends in ±1 loses it.
func offByOne(r *Region, e *pysrc.Expr, emit emitter) {
	if constant(e) || !r.valued(e) && !r.bound(e) {
		return
	}
	if k := r.kindOf(e); k.known() && k.name != "int" {
		return
	}
	if e.Kind == pysrc.BinaryExpr && (e.Op == "+" || e.Op == "-") && isOne(e.Parts[1]) {
		r.becomes(e, r.text(e.Parts[0]), 1, emit)
		r.becomes(e, r.text(e.Parts[0])+" "+e.Op+" 2", 0.3, emit)
		return
	}
	switch e.Kind {
	case pysrc.NameExpr, pysrc.CallExpr, pysrc.AttributeExpr, pysrc.BinaryExpr, pysrc.SubscriptExpr:
	default:
		return
	}
	w := r.limitWeight(e)
	if w == 0 || isLogical(e) {
		return
	}
	text := r.tight(e, inSum)
	minus, plus := r.outer(e, text+" - 1", inSum), r.outer(e, text+" + 1", inSum)
	first, second := minus, plus
	if r.callee(e) != "len" {
		first, second = plus, minus
	}
	r.becomes(e, first, w, emit)
	r.becomes(e, second, 0.9*w, emit)
}

// bound says that an expression is one of a slice.
func (r *Region) bound(e *pysrc.Expr) bool {
	p := r.parent[e]
	return p != nil && p.Kind == pysrc.SliceExpr && p.Parts[2] != e
}

// limitWeight says how likely an expression's place is one for an off-by-one, 0 for none.
func (r *Region) limitWeight(e *pysrc.Expr) float64 {
	p := r.parent[e]
	if p == nil {
		switch {
		case r.owner[e].Kind == "return":
			return 0.9
		case r.role[e] == pysrc.RoleValue:
			return 0.7
		}
		return 0
	}
	switch p.Kind {
	case pysrc.ParenExpr:
		return r.limitWeight(p)
	case pysrc.SubscriptExpr:
		if p.Parts[1] != e {
			return 0
		}
		if r.kindOf(p.Parts[0]).name == "dict" {
			return 0.3
		}
		return 1
	case pysrc.SliceExpr:
		return 1
	case pysrc.CompareExpr:
		return r.comparedLimit(p)
	case pysrc.BinaryExpr:
		return r.summedLimit(p)
	case pysrc.CallExpr:
		if r.callee(p) == "range" {
			return 1
		}
		return 0.4
	case pysrc.ListExpr, pysrc.TupleExpr, pysrc.KeywordExpr, pysrc.ItemExpr:
		return 0.4
	}
	return 0
}

func (r *Region) comparedLimit(p *pysrc.Expr) float64 {
	if len(p.Ops) == 1 && p.Ops[0].Text[0] != 'i' && p.Ops[0].Text[0] != 'n' {
		return 0.5
	}
	return 0.3
}

func (r *Region) summedLimit(p *pysrc.Expr) float64 {
	switch p.Op {
	case "+", "-":
		if r.limitWeight(p) > 0 { // one off the whole is the same
			return 0
		}
		return 0.4
	case "*", "/", "//", "%", "**":
		return 0.3
	}
	return 0
}

// sliceBounds adds, drops and moves the bounds of slices, and turns an index from
// the front into one from the back.
func sliceBounds(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.SubscriptExpr || r.assigned(e) {
		return
	}
	base := r.text(e.Parts[0])
	if e.Parts[1].Kind == pysrc.SliceExpr {
		r.slices(e, base, emit)
		return
	}
	if r.kindOf(e.Parts[0]).name == "dict" {
		return
	}
	r.indexes(e, base, emit)
}

func (r *Region) slices(e *pysrc.Expr, base string, emit emitter) {
	s := e.Parts[1]
	lo, hi, step := r.text(s.Parts[0]), r.text(s.Parts[1]), r.text(s.Parts[2])
	to := func(lo, hi, step string, w float64) {
		text := base + "[" + lo + ":" + hi
		if step != "" {
			text += ":" + step
		}
		r.becomes(e, text+"]", w, emit)
	}
	if lo != "" {
		to("", hi, step, 0.6)
		to("", lo, step, 1)
		to("-"+r.operand(s.Parts[0]), hi, step, 0.5)
	} else {
		to("1", hi, step, 0.8)
	}
	if hi != "" {
		to(lo, "", step, 0.6)
		to(hi, "", step, 1)
		to(lo, "-"+r.operand(s.Parts[1]), step, 0.5)
	} else {
		to(lo, "-1", step, 0.7)
	}
	if lo != "" && hi != "" {
		to(lo, r.tight(s.Parts[0], inSum)+" + "+r.tight(s.Parts[1], inProduct), step, 0.7)
	}
	r.steps(lo, hi, step, to)
	r.becomes(e, base, 0.4, emit)
}

func (r *Region) steps(lo, hi, step string, to func(lo, hi, step string, w float64)) {
	switch {
	case step == "":
		to(lo, hi, "-1", 0.5)
		to(lo, hi, "2", 0.4)
	case step == "-1":
		to(lo, hi, "", 0.8)
	default:
		to(lo, hi, "", 0.6)
		if !strings.HasPrefix(step, "-") {
			to(lo, hi, "-"+step, 0.3)
		}
	}
}

func (r *Region) indexes(e *pysrc.Expr, base string, emit emitter) {
	index := e.Parts[1]
	text := r.text(index)
	switch {
	case text == "0":
		r.becomes(index, "-1", 1, emit)
		r.becomes(index, "1", 0.6, emit)
	case text == "-1":
		r.becomes(index, "0", 1, emit)
		r.becomes(index, "-2", 0.6, emit)
	case index.Kind == pysrc.NumberExpr:
		if v, err := strconv.Atoi(index.Name); err == nil {
			r.becomes(index, strconv.Itoa(-v), 0.6, emit)
			r.becomes(index, strconv.Itoa(-v-1), 0.4, emit)
		}
	case index.Kind == pysrc.TupleExpr:
	default:
		r.becomes(index, "len("+base+") - 1 - "+r.operand(index), 0.4, emit)
		r.becomes(index, "-"+r.operand(index), 0.2, emit)
		r.becomes(index, "-"+r.operand(index)+" - 1", 0.3, emit)
	}
	if index.Kind != pysrc.TupleExpr {
		r.becomes(e, base+"["+text+":]", 0.2, emit)
		r.becomes(e, base+"[:"+text+"]", 0.2, emit)
	}
}

// ranges changes what a loop or comprehension goes over.
func ranges(r *Region, e *pysrc.Expr, emit emitter) {
	if !r.iterated(e) {
		if r.callee(e) == "range" {
			r.rangeArguments(e, emit)
		}
		return
	}
	switch r.callee(e) {
	case "range":
		r.rangeArguments(e, emit)
		if n := len(e.Parts); r.callee(e.Parts[n-1]) == "len" && len(e.Parts[n-1].Parts) == 2 {
			r.becomes(e, r.text(e.Parts[n-1].Parts[1]), 0.6, emit)
		}
		r.becomes(e, "reversed("+r.text(e)+")", 0.3, emit)
		return
	case "enumerate":
		if len(e.Parts) == 2 {
			r.becomes(e, "enumerate("+r.text(e.Parts[1])+", 1)", 0.8, emit)
		} else if len(e.Parts) == 3 {
			r.becomes(e, "enumerate("+r.text(e.Parts[1])+")", 1, emit)
		}
		return
	case "items", "keys", "values", "zip":
		return
	}
	r.iterables(e, emit)
}

// iterated says that a loop goes over the value of the expression.
func (r *Region) iterated(e *pysrc.Expr) bool {
	p := r.parent[e]
	if p == nil {
		return r.role[e] == pysrc.RoleIterable
	}
	return p.Kind == pysrc.ForClause && p.Parts[1] == e
}

func (r *Region) rangeArguments(e *pysrc.Expr, emit emitter) {
	args := e.Parts[1:]
	for _, a := range args {
		if a.Kind == pysrc.StarExpr {
			return
		}
	}
	switch len(args) {
	case 1:
		n := r.text(args[0])
		r.becomes(e, "range(1, "+n+")", 0.9, emit)
		r.becomes(e, "range(1, "+r.tight(args[0], inSum)+" + 1)", 1, emit)
		r.becomes(e, "range(2, "+n+")", 0.3, emit)
		r.becomes(e, "range(0, "+n+", 2)", 0.3, emit)
		r.becomes(e, "range("+r.tight(args[0], inSum)+" - 1, -1, -1)", 0.4, emit)
	case 2:
		a, b := r.text(args[0]), r.text(args[1])
		r.becomes(e, "range("+b+")", 0.7, emit)
		r.becomes(e, "range("+a+", "+r.tight(args[1], inSum)+" + 1)", 1, emit)
		r.becomes(e, "range("+a+", "+b+", 2)", 0.5, emit)
		if a != "1" {
			r.becomes(e, "range(1, "+b+")", 0.6, emit)
		}
	case 3:
		r.becomes(e, "range("+r.text(args[0])+", "+r.text(args[1])+")", 0.8, emit)
		r.becomes(args[2], "-"+r.operand(args[2]), 0.5, emit)
	}
}

// iterables changes a sequence that is gone through.
func (r *Region) iterables(e *pysrc.Expr, emit emitter) {
	text := r.tight(e, inPrimary)
	k := r.kindOf(e)
	if k.name == "dict" || !k.known() {
		for i, m := range []string{".items()", ".values()", ".keys()"} {
			w := 0.8 / float64(i+1)
			if !k.known() {
				w *= 0.3
			}
			r.becomes(e, text+m, w, emit)
		}
	}
	if k.name == "int" {
		r.becomes(e, "range("+r.text(e)+")", 1, emit)
	}
	if k.ordered() || !k.known() {
		if e.Kind != pysrc.SubscriptExpr {
			r.becomes(e, text+"[1:]", 0.6, emit)
			r.becomes(e, text+"[:-1]", 0.5, emit)
			r.becomes(e, text+"[::-1]", 0.5, emit)
		}
		r.becomes(e, "range(len("+r.text(e)+"))", 0.5, emit)
	}
	r.becomes(e, "sorted("+r.text(e)+")", 0.4, emit)
}
