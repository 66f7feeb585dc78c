package pysearch

import (
	"strings"

	"ratchet/internal/pysrc"
)

// family is a class of mutations. Mass is the prior that a defect is repaired by
// the family, relative to the others. It has a function for expressions, for
// statements, or for both, which must not change what they are given.
type family struct {
	name string
	mass float64
	expr func(r *Region, e *pysrc.Expr, emit emitter)
	stmt func(r *Region, s *pysrc.Stmt, emit emitter)
}

// families lists all mutations. Names that Go's search has as well mean the same
// there, and so do most masses, whose sources are cited there; what only Python
// has (indentation, built-in functions, missing returns) is placed among them.
func families() []family {
	return []family{
		{"relational operator", 1.0, relational, nil},
		{"logical operator", 0.5, logical, nil},
		{"negated condition", 0.5, negated, nil},
		{"constant condition", 0.06, nil, constantCondition},
		{"dropped operand", 0.5, droppedOperand, nil},
		{"added operand", 0.35, addedOperand, nil},
		{"conditional expression", 0.3, conditional, nil},
		{"arithmetic operator", 0.9, arithmetic, nil},
		{"assignment operator", 0.5, nil, assignment},
		{"operand order", 0.35, operandOrder, nil},
		{"added term", 0.25, addedTerm, nil},
		{"grouping", 0.25, grouping, nil},
		{"sign", 0.3, sign, nil},
		{"numeric conversion", 0.3, conversion, nil},
		{"integer constant", 0.8, integers, nil},
		{"other constant", 0.5, constants, nil},
		{"string constant", 0.4, stringConstants, nil},
		{"off by one", 0.7, offByOne, nil},
		{"slice bound", 0.4, sliceBounds, nil},
		{"variable", 1.0, variables, nil},
		{"field", 0.5, fields, nil},
		{"variable exchange", 0.2, nil, exchanged},
		{"called function", 0.9, functions, nil},
		{"argument order", 0.45, argumentOrder, nil},
		{"argument", 0.35, arguments, nil},
		{"call dropped", 0.35, droppedCall, nil},
		{"call added", 0.3, addedCall, nil},
		{"other expression", 0.25, ingredients, nil},
		{"removed statement", 0.5, nil, removed},
		{"removed part", 0.25, removedElement, removedClause},
		{"unwrapped branch", 0.25, nil, unwrapped},
		{"moved statement", 0.4, nil, moved},
		{"repeated statement", 0.3, nil, repeated},
		{"missing reset", 0.25, nil, resets},
		{"missing update", 0.3, nil, updates},
		{"missing record", 0.4, nil, records},
		{"missing return", 0.4, nil, missingReturn},
		{"early exit", 0.35, nil, exits},
		{"exit kind", 0.4, nil, exitKind},
		{"entry guard", 0.4, nil, entryGuards},
		{"loop guard", 0.2, nil, loopGuards},
		{"returned value", 0.5, nil, returned},
		{"composite value", 0.3, composites, nil},
		{"range variable", 0.35, ranges, nil},
		{"missing else", 0.2, nil, missingElse},
		{"exception", 0.3, exceptions, nil},
		{"default value", 0.3, nil, mutableDefaults},
		{"idiom", 0.35, idioms, nil},
	}
}

// Each hands every family with its mutations of the region to yield, in a fixed order.
func (r *Region) Each(yield func(name string, mass float64, mutate func(emit func(Mutation)))) {
	for _, f := range families() {
		yield(f.name, f.mass, func(emit func(Mutation)) { r.apply(f, emit) })
	}
}

func (r *Region) apply(f family, emit emitter) {
	if f.expr != nil {
		for _, e := range r.exprs {
			f.expr(r, e, r.spelled(e, emit))
		}
	}
	if f.stmt != nil {
		for _, s := range r.stmts {
			f.stmt(r, s, emit)
		}
	}
}

// spelled keeps out of the fields of an f-string what cannot be written there
// before Python 3.12: quotes, backslashes and braces.
func (r *Region) spelled(e *pysrc.Expr, emit emitter) emitter {
	if !r.field[e] {
		return emit
	}
	return func(m Mutation) {
		for _, c := range m.Changes {
			if strings.ContainsAny(c.Text, "'\"\\{}\r\n") {
				return
			}
		}
		emit(m)
	}
}

// option is a replacement with its weight.
type option struct {
	text   string
	weight float64
}
