package activities

import (
	"ratchet/benchmarks"
	"ratchet/internal/model"
)

// verdicts puts together what several suites say of each candidate. It passes
// when it passed in one suite and no other found it to break, tamper or not
// build: that a suite saw none of its targets repaired says nothing against it,
// and the confirmation runs the problems of all suites in any case.
type verdicts struct {
	left  map[string]int // suites that have not spoken yet, by key
	sofar map[string]benchmarks.Screened
	done  map[string]bool
}

func newVerdicts(suites []benchmarks.Suite, problems []model.Problem, cs []model.Candidate) *verdicts {
	v := &verdicts{left: map[string]int{}, sofar: map[string]benchmarks.Screened{}, done: map[string]bool{}}
	for _, s := range suites {
		for _, c := range aimedAt(s.Name(), problems, cs) {
			v.left[c.Key]++
		}
	}
	return v
}

// open leaves out the candidates on which there is a verdict already.
func (v *verdicts) open(cs []model.Candidate) []model.Candidate {
	var out []model.Candidate
	for _, c := range cs {
		if !v.done[c.Key] {
			out = append(out, c)
		}
	}
	return out
}

// take adds what one suite says; final means that nothing can change any more.
func (v *verdicts) take(r benchmarks.Screened) (whole benchmarks.Screened, final bool) {
	v.left[r.Key]--
	if before, ok := v.sofar[r.Key]; ok {
		r = together(before, r)
	}
	v.sofar[r.Key] = r
	v.done[r.Key] = v.left[r.Key] == 0 || refuted(r)
	return r, v.done[r.Key]
}

// refuted says that a candidate does harm, whatever other suites say.
func refuted(r benchmarks.Screened) bool {
	return r.Tampered != "" || len(r.Judged.Broken) > 0 || !r.Passed && r.Stage == benchmarks.StageBuild
}

// together is what two suites say of one candidate. Results are those of suites
// that ran all their search problems, because claims are chosen from them.
func together(a, b benchmarks.Screened) benchmarks.Screened {
	if refuted(b) || !refuted(a) && b.Passed && !a.Passed {
		a, b = b, a // a now has the word
	}
	out := a
	out.Passed = a.Passed && !refuted(b)
	out.Sandbox = a.Sandbox + b.Sandbox
	out.Judged.Fixed = append(append([]string{}, a.Judged.Fixed...), b.Judged.Fixed...)
	out.Judged.Broken = append(append([]string{}, a.Judged.Broken...), b.Judged.Broken...)
	out.Results = nil
	for _, r := range []benchmarks.Screened{a, b} {
		if r.Stage == benchmarks.StageSearch || !out.Passed {
			out.Results = append(out.Results, r.Results...)
		}
	}
	return out
}
