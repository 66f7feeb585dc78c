package suites

import (
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/model"
)

// checkerKinds are the kinds of suite that can grade: their tests are files that
// a grader can lay over what an agent wrote, and each run holds canaries.
var checkerKinds = []string{benchmarks.KindGoTest, benchmarks.KindPyTest}

const maxTime = 24 * time.Hour

// parser reads one problem.
type parser struct {
	*archive
	h header
}

// ParseProblem reads one problem file; name is the file's, for messages, and its
// base without ".txtar" the problem's name. Errors are Flaws.
func ParseProblem(suite, name string, data []byte) (Problem, error) {
	p := &parser{archive: split(name, data)}
	if line, problem := decode(p.header, &p.h); line > 0 {
		p.flaw(line, "header: %s", problem)
		return Problem{}, p.flaws.result()
	}
	out := Problem{
		Name: strings.TrimSuffix(path.Base(name), problemExt), Title: strings.TrimSpace(p.h.Title), Tags: p.h.Tags,
		Statement: p.text(statementFile), Discussion: p.text("discussion.md"),
		Split: p.split(), Files: model.Tree{Files: p.below("files")},
		Solution: p.below("solution"), Wrong: p.variants("wrong"),
	}
	out.ID = suite + "/" + out.Name
	out.Limits.Time = p.duration("limits", p.h.Limits.Time, DefaultTime)
	out.Answer, out.Checker = p.answer(), p.checker()
	p.check(out)
	return out, p.flaws.result()
}

func (p *parser) split() model.Split {
	switch s := model.Split(p.h.Split); s {
	case "":
		return model.SplitSearch
	case model.SplitSearch, model.SplitHeldout:
		return s
	}
	p.key("split", "split is %q, want search or heldout", p.h.Split)
	return model.SplitSearch
}

// key notes a flaw of a key of the header.
func (p *parser) key(name, format string, args ...any) {
	p.flaw(keyLine(p.header, name), format, args...)
}

func (p *parser) duration(key, text string, otherwise time.Duration) time.Duration {
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTime {
		p.key(key, "%s: %q is not a time such as 90s or 5m, more than 0 and at most %s", key, text, maxTime)
		return otherwise
	}
	return d
}

func (p *parser) answer() *Answer {
	h := p.h.Answer
	if h == nil {
		return nil
	}
	a := &Answer{Text: strings.TrimSpace(h.Text), Number: h.Number, Tolerance: h.Tolerance}
	if (a.Text == "") == (a.Number == nil) {
		p.key("answer", "answer: give one of text and number")
	}
	if a.Number != nil && (math.IsNaN(*a.Number) || math.IsInf(*a.Number, 0)) {
		p.key("answer", "answer: number is not finite")
	}
	if !(a.Tolerance >= 0 && a.Tolerance < 1) || a.Tolerance > 0 && a.Number == nil {
		p.key("answer", "answer: tolerance is for numbers, at least 0 and less than 1")
	}
	return a
}

func (p *parser) checker() *Checker {
	h := p.h.Checker
	if h == nil {
		return nil
	}
	if !slices.Contains(checkerKinds, h.Kind) {
		p.key("checker", "checker: kind is %q, want one of %s", h.Kind, strings.Join(checkerKinds, ", "))
		return nil
	}
	return &Checker{
		Kind: h.Kind, Timeout: p.duration("checker", h.Timeout, benchmarks.DefaultLimit), Grader: p.below("grader"),
	}
}

// check finds what is missing or contradictory.
func (p *parser) check(x Problem) {
	if !validName(x.Name) {
		p.flaw(1, "the file's name is not 1 to 64 characters of a-z, 0-9, _ and -, followed by %s", problemExt)
	}
	if x.Title == "" || strings.Contains(x.Title, "\n") {
		p.key("title", "title: one line is needed")
	}
	if x.Statement == "" {
		p.flaw(1, "%s is missing or empty", statementFile)
	}
	if len(x.Wrong) == 0 {
		p.flaw(1, "there is no wrong solution (files below wrong/<name>/): nothing shows that the grader can refuse one")
	}
	switch {
	case (p.h.Answer == nil) == (p.h.Checker == nil):
		p.flaw(1, "give one of answer and checker")
	case x.Checker != nil:
		p.checkTests(x)
	case x.Answer != nil:
		p.checkAnswer(x)
	}
	p.checkSections()
}

func (p *parser) checkTests(x Problem) {
	if len(x.Checker.Grader) == 0 {
		p.flaw(1, "the checker has no files below grader/")
	}
	if len(x.Solution) == 0 {
		p.flaw(1, "there is no solution/: nothing shows that the problem can be solved")
	}
	suite, err := x.Checker.suite()
	if err != nil {
		p.key("checker", "checker: %v", err)
		return
	}
	for _, f := range x.Checker.Grader {
		if !suite.Harness(f.Path) {
			p.flaw(p.lineOf("grader/"+f.Path), "%s is not part of the harness of %s: the agent's file would be used in its place", f.Path, x.Checker.Kind)
		}
	}
	for _, f := range x.Solution {
		if suite.Harness(f.Path) {
			p.flaw(p.lineOf("solution/"+f.Path), "%s is part of the harness of %s: it would not be used", f.Path, x.Checker.Kind)
		}
	}
}

func (p *parser) checkAnswer(x Problem) {
	for name, files := range x.Wrong {
		if len(files) != 1 || files[0].Path != answerFile {
			p.flaw(1, "wrong/%s: a wrong answer is the file %s alone", name, answerFile)
		}
	}
}

// checkSections refuses files that nothing reads.
func (p *parser) checkSections() {
	for _, s := range p.sections {
		top, rest, _ := strings.Cut(s.path, "/")
		wrong := top == "wrong" && strings.Contains(rest, "/")
		grader, solution := top == "grader" && p.h.Checker != nil, top == "solution" && p.h.Checker != nil
		if s.path != statementFile && s.path != "discussion.md" && !wrong && !solution && !grader && (top != "files" || rest == "") {
			p.flaw(s.line, "%s is neither statement.md, discussion.md, nor below files/, wrong/<name>/ or, with a checker, grader/ and solution/", s.path)
		}
	}
}

func validName(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
