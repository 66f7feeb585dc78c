package benchmarks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// goProcess is one run of a test binary: what it was asked to run.
type goProcess struct {
	pkg   *goBinary
	names []string // problems, by name
}

// alone reports whether nothing but one problem could have ended the process.
func (p goProcess) alone() bool { return len(p.names) == 1 }

// goVerdict is what one process showed.
type goVerdict struct {
	// settled says that results holds one for each name asked. Otherwise the
	// process ended early, and its tests must run again in smaller companies.
	settled  bool
	results  map[string]model.Result
	tampered string
	culprits []string // when not settled: tests that may have ended the process
}

// judge reads the outcome of a process. Its rules, in order:
//
//   - Reports that the testing package cannot have written (a canary that must
//     fail passes, the wrong words, more results than there are tests, failures
//     counted but not shown) are tampering: nothing of the package counts.
//   - A process that ran to its end, canaries and exit status included, is believed.
//   - Any other process ended early, which is honest when a test panics, hangs or
//     exits. Of several problems it says nothing. A problem alone has failed, and
//     when it is reported as passed by a process that neither crashed nor was
//     killed but left out the canaries, the report is forged.
func judge(p goProcess, o sandbox.Outcome) goVerdict {
	s := parseStream(o.Stdout)
	if why := forged(p, s, o); why != "" {
		return refuse(p, why)
	}
	if complete(p, s, o) {
		return believe(p, s)
	}
	if !p.alone() {
		return goVerdict{culprits: s.culprits()}
	}
	return judgeAlone(p, s, o)
}

// forged says what in the reports cannot be, or nothing.
func forged(p goProcess, s *stream, o sandbox.Outcome) string {
	c := p.pkg.canaries
	for name, r := range s.tests {
		if want := p.pkg.expected(name); len(r.ended) > want {
			return fmt.Sprintf("%s was reported %d times and ran %d", name, len(r.ended), want)
		}
	}
	if o, ended := s.outcome(c.pass, 1); ended && o != model.Pass {
		return "the canary that passes was reported as " + string(o)
	}
	for kind, name := range c.fail {
		o, ended := s.outcome(name, 1)
		if !ended {
			continue
		}
		if o != model.Fail {
			return "the canary that must fail was reported as " + string(o)
		}
		if why := c.misreported(kind, s, p); why != "" {
			return why
		}
	}
	if s.final == "PASS" && len(p.names) > 0 && !o.Truncated {
		return "the process reported success, although a canary in it must fail"
	}
	return ""
}

// misreported checks the words of a failing canary that was reported.
func (c canaries) misreported(kind testKind, s *stream, p goProcess) string {
	words := s.test(c.fail[kind]).output.b
	switch {
	case bytes.Contains(words, []byte(c.diverted)):
		if p.pkg.testMain { // trusted code, which may have its reasons
			return ""
		}
		return "results were written through another file than standard output"
	case bytes.Contains(words, []byte(c.dirty)):
		if s.showsFailure(kind, p.names) {
			return ""
		}
		return "a failure was counted and not reported"
	case !bytes.Contains(words, []byte(c.clean)):
		return "the canary that must fail was reported with the wrong words"
	}
	return ""
}

// showsFailure reports whether a test of the given kind was reported as failed.
func (s *stream) showsFailure(kind testKind, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return kindOf(n) == kind && s.tests[n] != nil && slices.Contains(s.tests[n].ended, model.Fail)
	})
}

// complete reports whether the process ran to the end of the testing package's
// work: all canaries reported, the last line written, and exit status 1, since
// one of them fails. (A trusted TestMain may turn that into another status.)
func complete(p goProcess, s *stream, o sandbox.Outcome) bool {
	if o.TimedOut || o.OutOfMemory || o.Truncated || o.Signal != "" || s.final != "FAIL" {
		return false
	}
	if o.ExitCode != 1 && !(o.ExitCode == 0 && p.pkg.testMain) {
		return false
	}
	for _, name := range p.pkg.canaries.asked(p.names) {
		if _, ended := s.outcome(name, 1); !ended {
			return false
		}
	}
	return true
}

// believe takes the results as they are reported.
func believe(p goProcess, s *stream) goVerdict {
	v := goVerdict{settled: true, results: map[string]model.Result{}}
	for _, name := range p.names {
		o, _ := s.outcome(name, p.pkg.expected(name))
		r := model.Result{Problem: p.pkg.ids[name], Outcome: o}
		if t := s.tests[name]; t != nil {
			r.Wall = t.wall
			r.Message = t.output.String()
		}
		if o == model.Pass {
			r.Score = 1
		}
		v.results[name] = r
	}
	return v
}

// judgeAlone rules on a process that ended early with one problem in it.
func judgeAlone(p goProcess, s *stream, o sandbox.Outcome) goVerdict {
	name := p.names[0]
	claim, ended := s.outcome(name, p.pkg.expected(name))
	r := model.Result{Problem: p.pkg.ids[name], Wall: o.Wall, Message: tailOf(o.Stdout, o.Stderr)}
	if t := s.tests[name]; t != nil {
		r.Message = tailOf(t.output.b, []byte("\n"), o.Stderr)
	}
	r.Outcome = earlyEnd(o)
	switch {
	case r.Outcome == model.Timeout:
		r.TimedOut = true
	case o.Truncated:
		r.Message = fmt.Sprintf("printed more than %d MiB, so its result was not seen", maxTestOutput>>20)
	case r.Outcome == model.Missing && ended && claim == model.Pass:
		return refuse(p, name+" was reported as passed, and then "+p.unfinished(s, o))
	case r.Outcome == model.Missing && ended:
		r.Outcome = claim
	}
	return goVerdict{settled: true, results: map[string]model.Result{name: r}}
}

// unfinished says what is missing from the end of a process.
func (p goProcess) unfinished(s *stream, o sandbox.Outcome) string {
	for _, name := range p.pkg.canaries.asked(p.names) {
		if _, ended := s.outcome(name, 1); !ended {
			return "a canary was not reported"
		}
	}
	return fmt.Sprintf("the process ended with exit status %d, although a canary in it failed", o.ExitCode)
}

// earlyEnd says how a process ended that did not get to its end.
func earlyEnd(o sandbox.Outcome) model.Outcome {
	switch {
	case o.OutOfMemory:
		return model.OutOfMemory
	case o.TimedOut, bytes.Contains(o.Stderr, []byte("panic: test timed out after ")):
		return model.Timeout
	case o.Signal != "", o.ExitCode == 2 && crashTrace(o.Stderr):
		return model.Crashed
	}
	return model.Missing
}

// crashTrace reports whether the Go runtime ended the process.
func crashTrace(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("panic: ")) || bytes.Contains(stderr, []byte("fatal error: "))
}

// refuse gives every problem of the process a score of 0.
func refuse(p goProcess, why string) goVerdict {
	why = fmt.Sprintf("package %s: %s", p.pkg.dir, why)
	v := goVerdict{settled: true, tampered: why, results: map[string]model.Result{}}
	for _, name := range p.names {
		v.results[name] = model.Result{
			Problem: p.pkg.ids[name], Outcome: model.Missing, Message: "not believed: " + why,
		}
	}
	return v
}

// runPattern is the -test.run expression for exactly these names.
func runPattern(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }
