package benchmarks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ratchet/internal/model"
)

// verify holds a report against what the runner showed on the trusted tree:
//
//   - the report was written by this run, and can be read;
//   - the canaries are in it, once each, as failed, with their words;
//   - the exit status says that something failed exactly when the report does;
//   - suites state the numbers that their cases have;
//   - no case is reported more often than on the trusted tree;
//   - what the runner prints at its end does not tell of more failures.
//
// Of these, only those are checked that held on the trusted tree. What cannot be
// explained but by a forgery is tampering. Where a report lacks what it should
// have, as after a crash, nothing in it counts.
func (r *junitRun) verify() {
	if r.unread != "" || r.tampered != "" {
		return
	}
	for _, check := range []func() (tampered, doubt string){r.checkCanaries, r.checkExit, r.checkNumbers, r.checkTally} {
		tampered, doubt := check()
		if r.tampered == "" {
			r.tampered = tampered
		}
		if r.doubt == "" {
			r.doubt = doubt
		}
	}
}

func (r *junitRun) checkCanaries() (tampered, doubt string) {
	for _, c := range r.bench.canaries {
		found := r.canaries[c.name]
		switch {
		case len(found) == 0 && r.outcome.ExitCode == 0:
			return fmt.Sprintf("the canary in %s, which must fail, was not reported, and the exit status is 0", c.path), ""
		case len(found) == 0:
			doubt = fmt.Sprintf("the canary in %s was not reported", c.path)
		case len(found) > 1:
			return fmt.Sprintf("the canary in %s was reported %d times", c.path, len(found)), ""
		case found[0].outcome != model.Fail:
			return fmt.Sprintf("the canary in %s, which must fail, was reported as %s", c.path, found[0].outcome), ""
		case !strings.Contains(found[0].message, c.words):
			return fmt.Sprintf("the canary in %s failed with the wrong words", c.path), ""
		}
	}
	return "", doubt
}

func (r *junitRun) checkExit() (tampered, doubt string) {
	code := r.outcome.ExitCode
	switch {
	case !r.bench.m.exits || (r.bad > 0) == (code != 0):
		return "", ""
	case code == 0:
		return fmt.Sprintf("%d cases are reported as failed, and the exit status is 0", r.bad), ""
	default:
		return "", fmt.Sprintf("no case is reported as failed, and the exit status is %d", code)
	}
}

func (r *junitRun) checkNumbers() (tampered, doubt string) {
	if r.bench.m.stated && !r.consistent {
		return "a suite states other numbers than its cases have", ""
	}
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		if n, got := r.bench.m.counts[id], len(r.byID[id]); n > 0 && got > n {
			return fmt.Sprintf("%s was reported %d times and ran %d", id, got, n), ""
		}
	}
	return "", ""
}

func (r *junitRun) checkTally() (tampered, doubt string) {
	t := r.bench.m.tally
	if t == nil {
		return "", ""
	}
	n, ok := t.read(r.outcome.Stdout, r.outcome.Stderr)
	switch {
	case !ok:
		return "", "the runner did not print how many cases failed"
	case n > r.bad:
		return fmt.Sprintf("the runner printed that %d cases failed, and %d are reported", n, r.bad), ""
	}
	return "", ""
}
