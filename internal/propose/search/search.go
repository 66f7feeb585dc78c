// Package search proposes repairs of Go and Python code without a model: it
// changes suspicious tokens, expressions and statements, one at a time, the
// likeliest repair first.
//
// The parts, for Go: places.go finds the declarations that hold suspects;
// registry.go lists the families of mutations, which op_*.go implement; check.go
// drops what does not compile. For Python python.go does so with package pysearch.
// For both, as grounds (ground.go): rank.go orders what they yield, pairs.go combines two.
package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/propose/search/names"
)

// Name is the kind of this proposer.
const Name = "search"

// maxTargets bounds the problems that one candidate claims.
const maxTargets = 8

// Config bounds the search. The zero value takes the defaults.
type Config struct {
	// Key identifies a candidate; patch.Key by default.
	Key func(edits []model.Edit, base model.Tree) string
	// MaxRegions bounds the declarations that are searched; 80 by default.
	MaxRegions int
	// MaxPerFamily bounds the mutations of one family in one declaration; 2000 by default.
	MaxPerFamily int
	// Pairs is how many candidates of two mutations may follow those of one; 400
	// by default, negative for none.
	Pairs int
	// NoStdlib keeps the search from reading the standard library's source in
	// GOROOT; types that come from it are then unknown.
	NoStdlib bool
}

func (c Config) withDefaults() (Config, error) {
	if c.MaxRegions < 0 || c.MaxPerFamily < 0 {
		return c, errors.New("search proposer: MaxRegions and MaxPerFamily must not be negative")
	}
	if c.Key == nil {
		c.Key = patch.Key
	}
	if c.MaxRegions == 0 {
		c.MaxRegions = 80
	}
	if c.MaxPerFamily == 0 {
		c.MaxPerFamily = 2000
	}
	if c.Pairs == 0 {
		c.Pairs = 400
	}
	return c, nil
}

// Proposer is the search. It is safe for concurrent use and deterministic for
// equal requests and an equal standard library.
type Proposer struct {
	cfg Config
	std *stdlib
	lex names.Lexicon
}

var _ propose.Proposer = (*Proposer)(nil)

// New makes a search proposer, or says what is wrong with the configuration.
func New(cfg Config) (*Proposer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	std := newStdlib()
	if cfg.NoStdlib {
		std.ctx.GOROOT = ""
	}
	return &Proposer{cfg: cfg, std: std, lex: names.NewLexicon()}, nil
}

// Name implements propose.Proposer.
func (p *Proposer) Name() string { return Name }

// Propose implements propose.Proposer. Without failing search problems or
// without suspects there is nothing to propose.
func (p *Proposer) Propose(ctx context.Context, r propose.Request) (propose.Proposal, error) {
	if r.N <= 0 || len(r.Brief.Weakest) == 0 || len(r.Brief.Suspects) == 0 {
		return propose.Proposal{}, nil
	}
	q := p.query(r)
	grounds := q.grounds()
	queues := make([][]ranked, 0, len(grounds))
	for _, g := range grounds {
		if err := ctx.Err(); err != nil {
			return propose.Proposal{}, fmt.Errorf("search for repairs of %s: %w", r.Brief.Repo, err)
		}
		queues = append(queues, q.collect(g))
	}
	if err := q.take(ctx, newStream(queues).next, r.N); err != nil {
		return propose.Proposal{}, err
	}
	if len(q.out) < r.N && p.cfg.Pairs > 0 {
		if err := q.take(ctx, q.pairs(), r.N); err != nil {
			return propose.Proposal{}, err
		}
	}
	return propose.Proposal{Candidates: q.out}, nil
}

// query is one call of Propose at work.
type query struct {
	cfg      Config
	lex      names.Lexicon
	brief    diagnose.Brief
	tree     model.Tree
	allowed  func(string) bool
	skip     func(string) bool
	seed     int64
	loader   *loader
	pools    map[*unit]*pool
	symptoms symptoms // of Go
	python   python
	tried    map[string]bool // ideas that failed on some parent
	seen     map[string]bool // keys, of what was proposed or found wanting
	singles  []ranked        // that compile, the best first, for pairs
	out      []model.Candidate
}

func (p *Proposer) query(r propose.Request) *query {
	q := &query{
		cfg: p.cfg, lex: p.lex, brief: r.Brief, tree: r.Tree, seed: r.Seed,
		loader: newLoader(r.Tree, p.std), pools: map[*unit]*pool{},
		symptoms: newSymptoms(r.Brief.Weakest, readSymptoms), tried: triedIdeas(r.Brief.Tried), seen: map[string]bool{},
		skip: r.Skip, allowed: func(path string) bool {
			return strings.HasSuffix(path, ".go") && !isTestFile(path) && (r.Allowed == nil || r.Allowed(path))
		},
	}
	q.python = newPython(r, p.lex)
	if q.skip == nil {
		q.skip = func(string) bool { return false }
	}
	return q
}

// find gives the unit that compiles a file, and the file in it.
func (q *query) find(file string) (*unit, *source) {
	dir := "."
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir = file[:i]
	}
	u := q.loader.unit(dir)
	if u == nil {
		return nil, nil
	}
	for _, s := range u.files {
		if s.path == file {
			return u, s
		}
	}
	return nil, nil
}

// take turns mutations into candidates until there are n.
func (q *query) take(ctx context.Context, next func() (ranked, bool), n int) error {
	for len(q.out) < n {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("search for repairs of %s: %w", q.brief.Repo, err)
		}
		m, ok := next()
		if !ok {
			return nil
		}
		q.try(m)
	}
	return nil
}

// try makes a candidate of a mutation unless it is known, skipped, or does not compile.
func (q *query) try(m ranked) {
	data, ok := m.ground.rewrite(m.mutation)
	if !ok || bytes.Equal(data, m.ground.source()) {
		return
	}
	path := m.ground.file()
	edits := []model.Edit{{Path: path, Data: data}}
	key := q.cfg.Key(edits, q.tree)
	if q.seen[key] {
		return
	}
	q.seen[key] = true
	if q.skip(key) {
		q.remember(m)
		return
	}
	checked, ok := m.ground.valid(data)
	if !ok {
		return
	}
	if !bytes.Equal(checked, data) { // left-overs were tidied up
		edits = []model.Edit{{Path: path, Data: checked}}
		if key = q.cfg.Key(edits, q.tree); q.seen[key] || q.skip(key) {
			return
		}
		q.seen[key] = true
	}
	q.remember(m)
	q.out = append(q.out, q.candidate(m, key, edits))
}

func (q *query) remember(m ranked) {
	if len(q.singles) < maxPaired && len(m.imports) == 0 {
		q.singles = append(q.singles, m)
	}
}

func (q *query) candidate(m ranked, key string, edits []model.Edit) model.Candidate {
	targets := m.problems
	if len(targets) == 0 {
		targets = m.ground.failing()
	}
	if len(targets) > maxTargets {
		targets = targets[:maxTargets]
	}
	targets = append([]string(nil), targets...)
	sort.Strings(targets)
	return model.Candidate{
		Key: key, Proposer: Name, Edits: edits, Targets: targets,
		Hypothesis:   q.hypothesis(m, targets),
		ExpectedGain: q.gain(len(targets)),
	}
}

// gain expects a candidate to repair all its targets with a probability that
// falls from a quarter with its place in the order.
func (q *query) gain(targets int) float64 {
	p := 0.25 / (1 + float64(len(q.out))/8)
	return p * float64(targets) / float64(max(q.brief.Measured, len(q.brief.Weakest), targets, 1))
}

// hypothesis is the sentence of a candidate.
func (q *query) hypothesis(m ranked, targets []string) string {
	s := fmt.Sprintf("%s:%d: %s", m.ground.file(), m.ground.line(m.site), m.what)
	names := make([]string, 0, 3)
	for _, t := range targets {
		if len(names) == 2 && len(targets) > 3 {
			names = append(names, fmt.Sprintf("%d more", len(targets)-2))
			break
		}
		names = append(names, shortName(t))
	}
	one, many := "runs this and fails", "run this and fail"
	if len(targets) > 0 && q.measured(targets[0]) {
		one, many = "is measured on this", "are measured on this"
	}
	switch len(names) {
	case 0:
		return s
	case 1:
		return s + "; " + names[0] + " " + one
	}
	return s + "; " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " " + many
}

// measured says whether a problem is a number rather than a test.
func (q *query) measured(id string) bool {
	return slices.ContainsFunc(q.brief.Weakest, func(w diagnose.Weakness) bool { return w.Problem == id && w.Metric != nil })
}

// shortName is a problem's id without suite and folders. A slash in the
// parameters of a test is none between folders.
func shortName(id string) string {
	path, _, _ := strings.Cut(id, "[")
	return id[strings.LastIndexByte(path, '/')+1:]
}
