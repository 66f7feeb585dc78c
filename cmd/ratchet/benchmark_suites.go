package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/benchmarks/suites"
	"ratchet/internal/model"
)

// problemLine is one problem of a suite in a list.
type problemLine struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Split   model.Split `json:"split"`
	Tags    []string    `json:"tags"`
	Seconds float64     `json:"time_limit_seconds"`
	Graded  string      `json:"graded"` // by "answer", or the kind of its hidden tests
}

func problemLineOf(p suites.Problem) problemLine {
	l := problemLine{ID: p.ID, Title: p.Title, Split: p.Split, Tags: append([]string{}, p.Tags...), Seconds: p.Limits.Time.Seconds(), Graded: "answer"}
	if p.Checker != nil {
		l.Graded = p.Checker.Kind
	}
	return l
}

func (a *app) benchmarkProblems() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "problems [SUITE]", Short: "List the problems of the built-in suites, or of one suite", Args: atMost("SUITE"),
		Example: "  ratchet benchmark problems\n  ratchet benchmark problems coding --json\n  ratchet benchmark problems ./mine",
		RunE: func(_ *cobra.Command, args []string) error {
			names := suites.Names()
			if len(args) > 0 {
				names = []string{strings.TrimPrefix(args[0], suitePrefix)}
			}
			return a.listProblems(names)
		},
	})
}

func (a *app) listProblems(names []string) error {
	lines := []problemLine{}
	var rows []string
	for _, name := range names {
		s, err := a.suite(name)
		if err != nil {
			return err
		}
		for _, p := range s.Problems {
			l := problemLineOf(p)
			lines = append(lines, l)
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", l.ID, l.Split, l.Graded, strings.Join(l.Tags, " "), l.Title))
		}
	}
	if a.json {
		return a.print(lines)
	}
	return a.table("problem\tsplit\tgraded by\ttags\ttitle", rows)
}

func (a *app) benchmarkShow() *cobra.Command {
	var answer bool
	c := &cobra.Command{
		Use: "show SUITE/PROBLEM", Short: "Print the statement of a problem", Args: exactly("SUITE/PROBLEM"),
		Example: "  ratchet benchmark show coding/fix-lru\n  ratchet benchmark show coding/fix-lru --answer",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.showProblem(strings.TrimPrefix(args[0], suitePrefix), answer)
		},
	}
	c.Flags().BoolVar(&answer, "answer", false, "print the discussion, and the answer or the reference solution, too")
	return a.withJSON(c)
}

// problemView is a problem as it is shown. What is kept from agents is there only
// when it is asked for.
type problemView struct {
	problemLine
	Statement  string            `json:"statement"`
	Files      []string          `json:"files"`
	Discussion string            `json:"discussion,omitempty"`
	Answer     string            `json:"answer,omitempty"`
	Solution   map[string]string `json:"solution,omitempty"` // text by path
}

func (a *app) showProblem(id string, answer bool) error {
	i := strings.LastIndex(id, "/")
	if i <= 0 {
		return usage("problem %q: name a suite and a problem of it, such as coding/fix-lru (see ratchet benchmark problems)", id)
	}
	s, err := a.suite(id[:i])
	if err != nil {
		return err
	}
	p, ok := s.Find(id[i+1:])
	if !ok {
		return usage("there is no problem %q in the suite %s (see ratchet benchmark problems %s)", id[i+1:], id[:i], id[:i])
	}
	v := viewOf(p, answer)
	if a.json {
		return a.print(v)
	}
	a.printProblem(v, p.Limits.Time)
	return nil
}

func viewOf(p suites.Problem, answer bool) problemView {
	v := problemView{problemLine: problemLineOf(p), Statement: p.Statement, Files: []string{}}
	for _, f := range p.Files.Files {
		v.Files = append(v.Files, f.Path)
	}
	if !answer {
		return v
	}
	v.Discussion = p.Discussion
	switch {
	case p.Answer != nil && p.Answer.Number != nil:
		v.Answer = fmt.Sprint(*p.Answer.Number)
	case p.Answer != nil:
		v.Answer = p.Answer.Text
	}
	for _, f := range p.Solution {
		if v.Solution == nil {
			v.Solution = map[string]string{}
		}
		v.Solution[f.Path] = string(f.Data)
	}
	return v
}

func (a *app) printProblem(v problemView, limit time.Duration) {
	a.say("%s: %s\n%s, %s, time limit %s, graded by %s, files: %s\n\n%s",
		v.ID, v.Title, v.Split, strings.Join(v.Tags, " "), limit, v.Graded, listed(v.Files), v.Statement)
	if v.Discussion != "" {
		a.say("\nDiscussion\n\n%s", v.Discussion)
	}
	if v.Answer != "" {
		a.say("\nAnswer: %s", v.Answer)
	}
	for _, path := range slices.Sorted(maps.Keys(v.Solution)) {
		a.say("\nSolution: %s\n\n%s", path, v.Solution[path])
	}
}
