package search

import (
	"go/ast"

	"ratchet/internal/propose/search/names"
)

// mutation is one way to change a region.
type mutation struct {
	// site is the node that is suspected; its place gives the suspicion.
	site ast.Node
	// weight says how likely this change is among those of its family at its
	// site, 0..1: the nearest is 1.
	weight  float64
	what    string // completes "file:line: …"
	changes []change
	imports []string
}

// emitter takes a mutation of a site.
type emitter func(m mutation)

// family is a class of mutations. Mass is the prior that a defect is repaired
// by the family, relative to the others; it is spread over the family's sites in a region.
// mutate is called for every node of a region and must neither change nor keep anything.
type family struct {
	name   string
	mass   float64
	mutate func(r *region, n ast.Node, emit emitter)
}

// families lists all mutations. The masses follow what studies of one-line
// repairs found in many languages: identifiers, called functions, operators and
// literals lead, missing and superfluous conditions follow, moved statements
// are rare (Karampatsis and Sutton, "How Often Do Single-Statement Bugs Occur?
// The ManySStuBs4J Dataset", MSR 2020; Campos and Maia, "Common Bug-fix Patterns:
// A Large-Scale Observational Study", ESEM 2017).
func families() []family {
	return []family{
		{"relational operator", 1.0, relational},
		{"logical operator", 0.5, logical},
		{"negated condition", 0.5, negated},
		{"constant condition", 0.06, constantCondition},
		{"dropped operand", 0.5, droppedOperand},
		{"added operand", 0.35, addedOperand},
		{"arithmetic operator", 0.9, arithmetic},
		{"assignment operator", 0.5, assignment},
		{"increment", 0.3, increment},
		{"operand order", 0.35, operandOrder},
		{"added term", 0.25, addedTerm},
		{"grouping", 0.25, grouping},
		{"sign", 0.3, sign},
		{"numeric conversion", 0.3, conversion},
		{"integer constant", 0.8, integers},
		{"other constant", 0.5, constants},
		{"string constant", 0.4, stringConstants},
		{"off by one", 0.7, offByOne},
		{"slice bound", 0.4, sliceBounds},
		{"variable", 1.0, variables},
		{"field", 0.5, fields},
		{"variable exchange", 0.2, exchanged},
		{"called function", 0.9, functions},
		{"argument order", 0.45, arguments},
		{"call dropped", 0.35, droppedCall},
		{"call added", 0.3, addedCall},
		{"removed statement", 0.5, removed},
		{"removed part", 0.25, removedPart},
		{"unwrapped branch", 0.25, unwrapped},
		{"moved statement", 0.3, moved},
		{"repeated statement", 0.3, repeated},
		{"missing reset", 0.25, resets},
		{"missing update", 0.3, updates},
		{"missing record", 0.4, records},
		{"early exit", 0.35, exits},
		{"exit kind", 0.4, exitKind},
		{"entry guard", 0.4, entryGuards},
		{"loop guard", 0.2, loopGuards},
		{"unchecked error", 0.4, uncheckedErrors},
		{"returned value", 0.5, returned},
		{"composite value", 0.3, composites},
		{"range variable", 0.25, ranges},
		{"lock", 0.3, locks},
		{"missing else", 0.2, missingElse},
		{"idiom", 0.35, idioms},
	}
}

// becomes emits a replacement of one node by text.
func becomes(r *region, n ast.Node, text string, weight float64, emit emitter, imports ...string) {
	old := r.text(n)
	if old == text {
		return
	}
	emit(mutation{
		site: n, weight: weight, what: names.Quote(old) + " should be " + names.Quote(text),
		changes: []change{r.replace(n, text)}, imports: imports,
	})
}
