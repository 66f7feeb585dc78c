package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Discover lists the tests that pytest collects in the trusted tree, each set of
// parameters as a problem of its own. A file that cannot be collected is one
// problem, named after it, that passes once it can be. Parameters whose names
// differ between two processes (an address, a time) make one problem of their
// function, which passes when all pass. Only tests in files that belong to the
// harness count: others could be deleted by a candidate.
func (s *pySuite) Discover(ctx context.Context, t Target) ([]model.Problem, error) {
	if !s.hasTests(t.Trusted) {
		return nil, s.none()
	}
	if t.Boxes == nil {
		return nil, fmt.Errorf("suite %q: list the tests: %w", s.cfg.Name, ErrNeedsBox)
	}
	var found [2]pyCollection
	if err := s.collect(ctx, t, found[:]); err != nil {
		return nil, fmt.Errorf("suite %q: list the tests: %w", s.cfg.Name, err)
	}
	problems := s.problems(found[0], found[1])
	if len(problems) == 0 {
		return nil, s.none()
	}
	return problems, nil
}

func (s *pySuite) none() error {
	return fmt.Errorf("suite %q: %w: %s finds no test in folder %q",
		s.cfg.Name, ErrNoProblems, strings.Join(append([]string{"pytest"}, s.cfg.Args...), " "), s.cfg.Root)
}

// hasTests reports whether there is a Python file of the harness below the root.
func (s *pySuite) hasTests(t model.Tree) bool {
	return slices.ContainsFunc(t.Files, func(f model.File) bool {
		return s.Harness(f.Path) && (s.cfg.Root == "." || strings.HasPrefix(f.Path, s.cfg.Root+"/"))
	})
}

// pyCollection is what one process collected.
type pyCollection struct {
	groups map[string]string // node id to that without parameters
	homes  map[string]string // that without parameters to where its source stands
	broken []string          // files
}

// collect fills each element of found by a process of its own.
func (s *pySuite) collect(ctx context.Context, t Target, found []pyCollection) (err error) {
	b := &pyBench{suite: s, target: t, tree: s.merge(t.Trusted, t.Trusted), limit: s.cfg.Build}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.refresh(ctx, nil); err != nil {
		return err
	}
	cmds, keys := make([]sandbox.Command, len(found)), make([][]byte, len(found))
	for i := range found {
		r := s.request(pyModeCollect, t.Trusted, s.cfg.Build)
		r.Select = orEmpty(s.args.selects)
		keys[i] = r.key()
		cmds[i] = r.command(2 * s.start(s.cfg.Build))
	}
	return b.box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Runner}, func(i int, o sandbox.Outcome) error {
		if err := started(o); err != nil {
			return err
		}
		found[i], err = readCollection(o, keys[i])
		return err
	})
}

// readCollection reads the report of a process that collected.
func readCollection(o sandbox.Outcome, key []byte) (pyCollection, error) {
	c := pyCollection{groups: map[string]string{}, homes: map[string]string{}}
	frames, complete := parsePyFrames(o.Stdout, key)
	for _, f := range frames {
		switch f.Kind {
		case "item":
			c.groups[f.ID], c.homes[f.Group] = f.Group, f.Home
		case "broken":
			if !f.Skipped {
				c.broken = append(c.broken, f.File)
			}
		case "exit":
			if !f.Done {
				return c, fmt.Errorf("pytest failed: %s", f.failure())
			}
		}
	}
	if !complete {
		return c, fmt.Errorf("the process ended early with status %d: %s", o.ExitCode, tailOf(o.Stderr))
	}
	return c, nil
}

// problems are those of two collections of the same tree, in the order of their ids.
func (s *pySuite) problems(a, b pyCollection) []model.Problem {
	byID := map[string]model.Problem{}
	add := func(node, home string) {
		if p := s.problem(node, home); s.Harness(path.Join(s.cfg.Root, nodeFile(node))) && !strings.HasPrefix(node, "../") {
			byID[p.ID] = p
		}
	}
	for _, file := range append(slices.Clone(a.broken), b.broken...) {
		add(nodeFile(file), nodeFile(file))
	}
	for _, c := range [][2]pyCollection{{a, b}, {b, a}} {
		for node, group := range c[0].groups {
			if _, stable := c[1].groups[node]; !stable {
				node = group
			}
			add(node, c[0].homes[group])
		}
	}
	return sortedProblems(byID)
}

func sortedProblems(byID map[string]model.Problem) []model.Problem {
	out := make([]model.Problem, 0, len(byID))
	for _, p := range byID {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b model.Problem) int { return strings.Compare(a.ID, b.ID) })
	return out
}
