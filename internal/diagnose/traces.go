package diagnose

import "strings"

// Scores of places that are named without coverage. A trace through a function
// says more than a test that calls it by name.
const (
	tracedScore    = 0.6
	namedInTest    = 0.5 // the test's own name holds the function's
	calledScore    = 0.35
	traceLift      = 0.5 // how far the topmost frame raises a score towards 1
	maxTraceFrames = 8
)

// traces raises the suspects that stack traces run through: the topmost frame
// half of the way to 1, the next a quarter, and so on.
func (d *diagnosis) traces(found map[key]*Suspect) {
	for _, i := range d.failing {
		lift := traceLift * d.tests[i].weight()
		for _, f := range d.source.frames(d.tests[i].message) {
			hit := false
			for k, s := range found {
				if k.file == f.file && k.line <= f.line && f.line <= k.el {
					raise(s, lift, "its failing test's stack trace runs through it")
					s.Problems = addProblems(s.Problems, []string{d.tests[i].ID})
					hit = true
				}
			}
			if !hit {
				d.addTraced(found, f, d.tests[i], lift)
			}
			lift /= 2
		}
	}
}

// addTraced makes suspects of a frame that coverage does not know: the line,
// and the function around it.
func (d *diagnosis) addTraced(found map[key]*Suspect, f frame, t test, lift float64) {
	fn, ok := d.source.enclosing(f.file, f.line)
	if !ok {
		d.addLine(found, f, t)
		return
	}
	whole := fn.suspect(tracedScore*t.weight(), t, "its failing test's stack trace runs through the function")
	keepHigher(found, whole)
	line := whole
	line.StartLine, line.StartCol, line.EndLine, line.EndCol = f.line, 1, f.line+1, 1
	line.Why = "its failing test's stack trace names the line"
	raise(&line, lift, "")
	keepHigher(found, line)
}

// addLine makes a suspect of a line of a file whose functions are not known.
func (d *diagnosis) addLine(found map[key]*Suspect, f frame, t test) {
	if strings.HasSuffix(f.file, ".go") {
		return // outside of any function there is little that can be wrong
	}
	keepHigher(found, Suspect{
		File: f.file, StartLine: f.line, StartCol: 1, EndLine: f.line + 1, EndCol: 1,
		Score: tracedScore * t.weight(), Cluster: t.cluster, Problems: []string{t.ID}, Why: "its failing test's output names the line",
	})
}

// suspect makes a suspect of a function's body.
func (f function) suspect(score float64, t test, why string) Suspect {
	return Suspect{
		File: f.file, StartLine: f.start.Line, StartCol: f.start.Column, EndLine: f.end.Line, EndCol: f.end.Column,
		Score: score, Cluster: t.cluster, Problems: []string{t.ID}, Why: why,
	}
}

func raise(s *Suspect, lift float64, why string) {
	s.Score += (1 - s.Score) * lift
	if why != "" && !strings.Contains(s.Why, why) {
		if s.Why != "" {
			s.Why += "; "
		}
		s.Why += why
	}
}

// uncovered handles failing tests that have no coverage, such as those that
// panicked: the functions that the test names become suspects.
func (d *diagnosis) uncovered(found map[key]*Suspect) {
	blind := 0
	for _, i := range d.failing {
		t := d.tests[i]
		if len(t.hits) > 0 || d.guessed(t) {
			continue
		}
		blind++
		d.addCalled(found, t)
	}
	if blind > 0 {
		d.note("%d failing problems have no coverage; they are localised by stack traces and by what they call", blind)
	}
}

// addCalled makes suspects of the functions that a test's source names.
func (d *diagnosis) addCalled(found map[key]*Suspect, t test) {
	for _, f := range d.source.calledBy(t.Problem) {
		score, why := calledScore, "a failing test without coverage calls it"
		if named(t.Name, f.name) {
			score, why = namedInTest, "a failing test without coverage calls it and is named after it"
		}
		keepHigher(found, f.suspect(score*t.weight(), t, why))
	}
}

// named says that a test's name holds a function's name, such as TestParseHeader and parseHeader.
func named(test, fn string) bool {
	return len(fn) > 2 && strings.Contains(strings.ToLower(test), strings.ToLower(fn))
}
