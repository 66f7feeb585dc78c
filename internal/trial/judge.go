package trial

import (
	"fmt"
	"strings"

	"ratchet/internal/model"
)

// Stages of a screen, as package benchmarks names them.
const (
	StageBuild   = "build"
	StageTargets = "targets"
	StageSearch  = "search"
)

// mostAgain is how many broken problems may be a matter of chance. A candidate that
// breaks more is worth no second run of them.
const mostAgain = 3

// Judge returns the policy of a screen of the given problems, of which the
// metrics count, and what is known of the parent. The function is safe for concurrent use. It rules on the results of one stage:
//
//   - build: nothing that ran on the parent stopped building;
//   - targets: a target that did not always pass on the parent passes, or a metric
//     is better by more than its minimum effect; a candidate without targets goes on;
//   - search: no problem that always passes fails, no metric is worse by more than
//     its noise explains, and there is something to claim (see Claims): a problem that
//     fails passes, a metric is better, or the noisy ones together did better
//     than is known of them. A known flaky problem that fails is not broken.
//
// The first failure of a problem that always passed says little: it may be flaky
// and not have shown it, and a right candidate would be lost. Where at most
// mostAgain problems seem broken, Judgement.Again asks for another run of them.
//
// An unknown stage is judged like search. A screen that is passed by luck costs
// sandbox time, never a wrong keep: only the confirmation decides that.
func Judge(problems []model.Problem, parent map[string]Rate) func(stage string, c model.Candidate, results []model.Result) model.Judgement {
	k := know(problems, parent)
	return func(stage string, c model.Candidate, results []model.Result) model.Judgement {
		switch stage {
		case StageBuild:
			return judgeBuild(parent, results)
		case StageTargets:
			return judgeTargets(k, c, results)
		}
		return judgeSearch(k.look(results, c.Targets))
	}
}

func judgeBuild(parent map[string]Rate, results []model.Result) model.Judgement {
	j := model.Judgement{Pass: true}
	unbuilt := 0
	for _, r := range results {
		if r.Outcome != model.BuildFailed {
			continue
		}
		unbuilt++
		if parent[r.Problem].Passed > 0 {
			j.Broken = append(j.Broken, r.Problem)
		}
	}
	if len(j.Broken) > 0 || unbuilt > 0 && unbuilt == len(results) {
		j.Pass, j.Reason = false, "it does not build"
	}
	return j
}

func judgeTargets(k knowledge, c model.Candidate, results []model.Result) model.Judgement {
	if len(c.Targets) == 0 {
		return model.Judgement{Pass: true}
	}
	j := model.Judgement{Reason: "none of its targets passes that did not before"}
	for _, r := range results {
		rate := k.rates[r.Problem]
		if passed(r) && (rate.Passed < rate.Runs || k.better(r)) {
			j.Fixed = append(j.Fixed, r.Problem)
		}
	}
	if len(j.Fixed) > 0 {
		j.Pass, j.Reason = true, ""
	}
	return j
}

func judgeSearch(s screen) model.Judgement {
	j := model.Judgement{Broken: s.broken}
	for _, x := range s.fixes {
		j.Fixed = append(j.Fixed, x.problem)
	}
	if len(s.broken) <= mostAgain && len(s.doubt) == len(s.broken) {
		j.Again = s.doubt
	}
	claims, gains := s.claims(), s.claimedGains()
	for _, x := range gains {
		j.Fixed = append(j.Fixed, x.problem)
	}
	if len(s.fixes)+len(gains) == 0 && len(claims) > 0 { // a gain spread over noisy problems
		for _, x := range s.noisy {
			if x.now {
				j.Fixed = append(j.Fixed, x.problem)
			}
		}
	}
	switch {
	case len(s.broken) > 0:
		j.Reason = fmt.Sprintf("it breaks %s", list(s.broken))
	case len(claims) == 0:
		j.Reason = "no problem improved by more than its known noise"
	default:
		j.Pass = true
	}
	return j
}

// list names up to three things.
func list(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
