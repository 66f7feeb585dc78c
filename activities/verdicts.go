package activities

import (
	"slices"

	"ratchet/benchmarks"
	"ratchet/internal/model"
)

// verdicts puts together what several suites say of each candidate. It is
// screened by the suites that have targets of it. When one of them sees a gain and
// none sees harm, all other suites run it too, to see whether it breaks anything;
// it passes when none finds it to break, tamper or not build. That a suite saw
// none of its targets repaired says nothing against a candidate.
type verdicts struct {
	suites map[string][]string // names of the suites that have targets of it, by key
	left   map[string]int      // suites that have not spoken yet
	guards map[string]int      // suites that will speak when it has passed the others
	sofar  map[string]benchmarks.Screened
	done   map[string]bool
}

func newVerdicts(suites []benchmarks.Suite, problems []model.Problem, cs []model.Candidate) *verdicts {
	v := &verdicts{
		suites: map[string][]string{}, left: map[string]int{}, guards: map[string]int{},
		sofar: map[string]benchmarks.Screened{}, done: map[string]bool{},
	}
	for _, s := range suites {
		for _, c := range aimedAt(s.Name(), problems, cs) {
			v.suites[c.Key] = append(v.suites[c.Key], s.Name())
		}
	}
	for _, c := range cs {
		v.left[c.Key] = len(v.suites[c.Key])
		v.guards[c.Key] = len(suites) - v.left[c.Key]
	}
	return v
}

// aimed lists the candidates with a target in a suite on which there is no verdict yet.
func (v *verdicts) aimed(suite string, cs []model.Candidate) []model.Candidate {
	return slices.DeleteFunc(slices.Clone(cs), func(c model.Candidate) bool {
		return v.done[c.Key] || !slices.Contains(v.suites[c.Key], suite)
	})
}

// guarded lists those without one, that have passed where they have.
func (v *verdicts) guarded(suite string, cs []model.Candidate) []model.Candidate {
	return slices.DeleteFunc(slices.Clone(cs), func(c model.Candidate) bool {
		return v.done[c.Key] || slices.Contains(v.suites[c.Key], suite)
	})
}

// take adds what one suite says; final means that nothing can change any more.
func (v *verdicts) take(r benchmarks.Screened) (whole benchmarks.Screened, final bool) {
	v.left[r.Key]--
	if before, ok := v.sofar[r.Key]; ok {
		r = together(before, r)
	}
	v.sofar[r.Key] = r
	if v.left[r.Key] == 0 && r.Passed {
		v.left[r.Key], v.guards[r.Key] = v.guards[r.Key], 0
	}
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
