package diagnose

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"ratchet/internal/model"
)

// Caps on what a brief holds, so that it stays a small artifact.
const (
	maxWeakest            = 200
	maxSuspects           = 600
	maxProblemsPerSuspect = 8
	maxFailures           = 20
	maxTried              = 400
	maxMessage            = 2 << 10 // bytes of one problem's message
	maxText               = 1 << 10 // bytes of any other quoted text
	maxTriedText          = 320     // bytes of a past hypothesis or reason
	maxMentions           = 8
)

// Rate counts the runs of one problem.
type Rate struct {
	Passed int `json:"passed"`
	Runs   int `json:"runs"`
	// Value is what a metric typically measured, in its unit; 0 when that is not known.
	Value float64 `json:"value,omitempty"`
}

// Input is what was measured and reported of one parent. Held-out problems in
// it are left out of everything that is derived.
type Input struct {
	Campaign   string
	Repo       string
	Generation int
	Parent     string // commit
	ParentTree string
	Problems   []model.Problem
	// Rates is how often each problem passed; a problem that is missing here is
	// rated by Results, and then by Coverage.Results.
	Rates map[string]Rate
	// Results are single runs on the parent, for rates and messages; later ones
	// supply the message.
	Results  []model.Result
	Coverage model.Coverage
	Failures []model.Failure
	Attempts []model.Attempt // recent ones, on any parent
	Tree     model.Tree      // without the source of held-out problems
	// Harness says which files belong to the grader and are never suspects; nil
	// means those that the go tool takes for tests.
	Harness func(path string) bool
	// Roots are the folders of suites that may report no coverage at all, by the
	// suites' names. When one does not, what its weak problems name is suspect, and
	// with a low score every function below its folder. Other suites are not guessed about.
	Roots map[string]string
	// Allowed says which files a candidate may change, for such guesses; nil is all.
	Allowed func(path string) bool
}

// Diagnose ranks the weakest search problems and localises their faults. It
// is deterministic. An error means that the input contradicts itself.
func Diagnose(in Input) (Brief, error) {
	if err := in.validate(); err != nil {
		return Brief{}, err
	}
	if in.Harness == nil {
		in.Harness = goTestFile
	}
	if in.Allowed == nil {
		in.Allowed = func(string) bool { return true }
	}
	b := Brief{
		Campaign: in.Campaign, Repo: in.Repo, Generation: in.Generation,
		Parent: in.Parent, ParentTree: in.ParentTree,
	}
	d := newDiagnosis(in)
	b.Measured = len(d.tests)
	b.Weakest = d.weakest()
	b.Failures, d.mentions = failureNotes(in.Failures, d.source)
	b.Suspects = d.suspects()
	b.Tried = tried(in.Attempts)
	d.cap(&b)
	b.Notes = d.notes
	return b, nil
}

func (in Input) validate() error {
	for id, hits := range in.Coverage.Hits {
		for _, h := range hits {
			if h < 0 || h >= len(in.Coverage.Blocks) {
				return fmt.Errorf("diagnose %s: coverage of %s names block %d of %d: the coverage is damaged, measure it again",
					in.Repo, id, h, len(in.Coverage.Blocks))
			}
		}
	}
	for id, r := range in.Rates {
		if r.Passed < 0 || r.Passed > r.Runs {
			return fmt.Errorf("diagnose %s: %s passed %d of %d runs: the counts are damaged", in.Repo, id, r.Passed, r.Runs)
		}
	}
	return nil
}

func goTestFile(path string) bool { return strings.HasSuffix(path, "_test.go") }

// test is one search problem with what is known of it.
type test struct {
	model.Problem
	rate    float64 // share of runs passed
	value   float64 // of a metric
	message string
	hits    []int // blocks outside the harness
	cluster int   // of a failing test
}

// weight is how much a test counts as failing, 0..1.
func (t test) weight() float64 {
	if t.Metric != nil {
		return max(1-t.rate, metricRoom)
	}
	return 1 - t.rate
}

// sound is how much it counts as passing.
func (t test) sound() float64 {
	if t.Metric != nil {
		return min(t.rate, 1-metricRoom)
	}
	return t.rate
}

// diagnosis is one call of Diagnose at work.
type diagnosis struct {
	in       Input
	tests    []test // search problems that were measured, by id
	failing  []int  // indexes into tests: what fails, and metrics
	clusters [][]int
	blind    map[string]bool // suites of which no problem has coverage
	source   *source
	mentions map[string]bool // "file" or "file:function" named by failure reports
	notes    []string
}

func newDiagnosis(in Input) *diagnosis {
	d := &diagnosis{in: in, source: newSource(in.Tree, in.Harness)}
	rates, messages := measured(in)
	values := typicalValues(in)
	unmeasured := 0
	for _, p := range in.Problems {
		if p.Split != model.SplitSearch {
			continue
		}
		rate, ok := rates[p.ID]
		if !ok || rate.Runs == 0 {
			unmeasured++
			continue
		}
		d.tests = append(d.tests, test{
			Problem: p, rate: float64(rate.Passed) / float64(rate.Runs), value: values[p.ID],
			message: messages[p.ID], hits: d.ownHits(p.ID),
		})
	}
	sort.Slice(d.tests, func(i, j int) bool { return d.tests[i].ID < d.tests[j].ID })
	for i, t := range d.tests {
		if t.weight() > 0 {
			d.failing = append(d.failing, i)
		}
	}
	d.blind = blindSuites(d.tests)
	d.clusters = clusters(d.tests, d.failing, len(in.Coverage.Blocks))
	for c, members := range d.clusters {
		for _, i := range members {
			d.tests[i].cluster = c
		}
	}
	if unmeasured > 0 {
		d.note("%d search problems were not measured and are not considered", unmeasured)
	}
	return d
}

func (d *diagnosis) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// ownHits are the blocks that a problem runs, without those of the harness.
func (d *diagnosis) ownHits(id string) []int {
	var own []int
	for _, h := range d.in.Coverage.Hits[id] {
		if !d.in.Harness(d.in.Coverage.Blocks[h].File) {
			own = append(own, h)
		}
	}
	return own
}

// measured sums up rates, and picks the message of a failing run where there is one.
func measured(in Input) (map[string]Rate, map[string]string) {
	rates, messages := map[string]Rate{}, map[string]string{}
	metrics := metricIDs(in.Problems)
	for _, results := range [][]model.Result{in.Results, in.Coverage.Results} {
		counted := map[string]Rate{}
		for _, r := range results {
			c := counted[r.Problem]
			c.Runs++
			if r.Score >= 1 || metrics[r.Problem] && r.Outcome == model.Pass {
				c.Passed++
			} else if r.Message != "" && messages[r.Problem] == "" {
				messages[r.Problem] = r.Message
			}
			counted[r.Problem] = c
		}
		// Coverage runs are slower and may time out: they count only when there is nothing better.
		for id, c := range counted {
			if _, known := rates[id]; !known {
				rates[id] = c
			}
		}
	}
	for id, r := range in.Rates {
		if r.Runs > 0 {
			rates[id] = r
		}
	}
	return rates, messages
}

func (d *diagnosis) weakest() []Weakness {
	out := make([]Weakness, 0, len(d.failing))
	for _, i := range d.failing {
		t := d.tests[i]
		out = append(out, Weakness{
			Problem: t.ID, Package: t.Package, Name: t.Name, PassRate: t.rate,
			Cluster: t.cluster, Message: tail(t.message, maxMessage), Metric: t.Metric, Value: t.value,
		})
		if t.Metric != nil {
			out[len(out)-1].Message = tail(t.figure(), maxMessage)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].PassRate < out[j].PassRate })
	return out
}

// cap cuts the lists and says so.
func (d *diagnosis) cap(b *Brief) {
	b.Weakest = cut(d, b.Weakest, maxWeakest, "failing problems, the worst are shown")
	b.Suspects = cut(d, b.Suspects, maxSuspects, "suspects, the most suspicious are shown")
	b.Failures = cut(d, b.Failures, maxFailures, "reports from production, the latest are shown")
	b.Tried = cut(d, b.Tried, maxTried, "past attempts, the latest are shown")
}

func cut[T any](d *diagnosis, list []T, max int, what string) []T {
	if len(list) <= max {
		return list
	}
	d.note("%d of %d %s", max, len(list), what)
	return list[:max]
}

// tried notes the attempts, the latest generation first.
func tried(attempts []model.Attempt) []TriedNote {
	sorted := append([]model.Attempt(nil), attempts...)
	sort.SliceStable(sorted, func(i, j int) bool {
		if sorted[i].Generation != sorted[j].Generation {
			return sorted[i].Generation > sorted[j].Generation
		}
		return sorted[i].Order < sorted[j].Order
	})
	out := make([]TriedNote, 0, len(sorted))
	for _, a := range sorted {
		out = append(out, TriedNote{
			Hypothesis: head(a.Hypothesis, maxTriedText), Outcome: string(a.Status), Reason: head(a.Reason, maxTriedText),
		})
	}
	return out
}

const cutMark = "…"

// tail keeps the end of s, at most n bytes and a mark, on a rune's boundary.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return cutMark + s[i:]
}

// head keeps the beginning of s likewise.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}
