package llm

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

// big is a request on a repository of n files, each with one function of about
// 40 lines, of which the first is the most suspicious.
func big(n, samples int) propose.Request {
	files := map[string]string{"go.mod": "module example.com/big\n"}
	r := propose.Request{N: samples, Brief: diagnose.Brief{Campaign: "big", Repo: "example.com/big", Generation: 1, ParentTree: "tree", Measured: n}}
	for i := range n {
		name := fmt.Sprintf("lib/f%02d.go", i)
		body := fmt.Sprintf("package lib\n\n// F%d computes.\nfunc F%d(x int) int {\n\tv := %d // start\n", i, i, i)
		for j := range 140 {
			body += fmt.Sprintf("\tv += x*%d - %d\n", j, i)
		}
		files[name] = body + "\treturn v\n}\n"
		r.Brief.Weakest = append(r.Brief.Weakest, diagnose.Weakness{
			Problem: fmt.Sprintf("unit/lib/TestF%d", i), Package: "lib", Name: fmt.Sprintf("TestF%d", i), Cluster: 0,
			Message: fmt.Sprintf("lib_test.go:%d: F%d is wrong: got %d\n%s", i, i, i, strings.Repeat("trace line of the test\n", 20)),
		})
		r.Brief.Suspects = append(r.Brief.Suspects, diagnose.Suspect{File: name, StartLine: 5, EndLine: 6, Score: 1 - float64(i)/float64(n+1)})
		r.Brief.Tried = append(r.Brief.Tried, diagnose.TriedNote{Hypothesis: fmt.Sprintf("change %d", i), Outcome: "screened_out", Reason: "unit/lib/TestF0 still fails"})
	}
	r.Tree = tree(files)
	return r
}

func user(p *prompt, i int) string { return p.system + p.messages(i)[1].Text }

// common is the length of the prefix that texts share.
func common(texts ...string) int {
	n := len(texts[0])
	for _, s := range texts[1:] {
		i := 0
		for i < min(n, len(s)) && s[i] == texts[0][i] {
			i++
		}
		n = i
	}
	return n
}

func TestSamplesShareTheirBeginning(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	for name, r := range map[string]propose.Request{"small": calc(8), "big": big(60, 8)} {
		p := newPrompts(cfg, r, 8).of(cfg.PromptTokens)
		var texts []string
		longest := 0
		for i := range 8 {
			texts = append(texts, user(p, i))
			longest = max(longest, len(texts[i]))
		}
		share := float64(common(texts...)) / float64(longest)
		t.Logf("%s: %d bytes, about %d tokens, %.1f%% shared", name, longest, p.size(), 100*share)
		require.GreaterOrEqual(t, share, 0.9, name)
	}
}

// A generation that changes nothing but the past attempts begins with the same
// words, all source among them, and even with those of earlier attempts.
func TestGenerationsOnOneTreeShareTheSource(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	r := big(60, 2)
	r.Brief.Tried = r.Brief.Tried[:3]
	before := user(newPrompts(cfg, r, 2).of(cfg.PromptTokens), 0)
	r.Brief.Generation = 2
	r.Brief.Tried = append([]diagnose.TriedNote{{Hypothesis: "the newest idea", Outcome: "reverted", Reason: "no gain"}}, r.Brief.Tried...)
	r.Brief.Reflections = []diagnose.ReflectionNote{{Generation: 1, Outcome: "reverted", Learn: "look elsewhere"}}
	after := user(newPrompts(cfg, r, 2).of(cfg.PromptTokens), 0)
	shared := before[:common(before, after)]
	t.Logf("%.1f%% of the prompt is shared with that of the next generation", 100*float64(len(shared))/float64(len(after)))
	require.Contains(t, shared, "# Weak problems")
	require.Contains(t, shared, "# Past attempts")
	require.Contains(t, shared, "change 0")
	require.Contains(t, after, "the newest idea")
	require.Greater(t, len(shared), len(after)*8/10)
}

func TestPromptsNeverExceedTheirBound(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	r := big(80, 8)
	r.Brief.Hints = []diagnose.HintNote{{By: "Ann", Text: strings.Repeat("look at the bounds ", 500)}}
	for range 20 {
		r.Brief.Failures = append(r.Brief.Failures, diagnose.FailureNote{Task: strings.Repeat("ж", 900), Actual: strings.Repeat("x\n", 400), Mentions: []string{"lib/f07.go:F7"}})
		r.Brief.Reflections = append(r.Brief.Reflections, diagnose.ReflectionNote{Learn: strings.Repeat("learn ", 99)})
	}
	p := newPrompts(cfg, r, 8)
	last := 0
	for _, limit := range []int{1024, 1500, 2048, 3000, 4096, 8192, 16384, 50000, 200000} {
		x := p.of(limit)
		require.LessOrEqual(t, x.size(), limit)
		require.GreaterOrEqual(t, x.size(), last, "more room is used")
		last = x.size()
		if limit >= 4096 && limit <= 16384 {
			require.Greater(t, x.size(), limit/2, "room is not wasted")
		}
	}
}

func TestTheLeastSuspiciousGoesFirst(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	const n = 40
	p := newPrompts(cfg, big(n, 1), 1)
	last := n + 1
	for _, limit := range []int{60000, 16384, 8192, 4096} {
		shown, text := 0, p.of(limit).shared
		for i := range n {
			whole := strings.Contains(text, fmt.Sprintf("\tv += x*139 - %d\n\treturn v", i))
			if whole {
				require.Equal(t, shown, i, "%d tokens: a less suspicious function is shown whole and a more suspicious one is not", limit)
				shown++
			}
		}
		require.Less(t, shown, last, "%d tokens", limit)
		require.Positive(t, shown+boolInt(limit < 5000), "%d tokens", limit)
		last = shown
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAHugeFunctionIsCutRoundItsSuspects(t *testing.T) {
	var b strings.Builder
	b.WriteString("package lib\n\n// Huge does much.\nfunc Huge(x int) int {\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "\tx = step%d(x)\n", i)
	}
	b.WriteString("\treturn x\n}\n")
	r := propose.Request{N: 1, Tree: tree(map[string]string{"lib/huge.go": b.String()}), Brief: diagnose.Brief{
		Weakest:  []diagnose.Weakness{{Problem: "unit/lib/TestHuge", Package: "lib", Name: "TestHuge"}},
		Suspects: []diagnose.Suspect{{File: "lib/huge.go", StartLine: 2005, EndLine: 2006, Score: 1}},
	}}
	cfg, err := Config{PromptTokens: 4096}.withDefaults()
	require.NoError(t, err)
	p := newPrompts(cfg, r, 1).of(cfg.PromptTokens)
	require.LessOrEqual(t, p.size(), 4096)
	for _, want := range []string{"func Huge(x int) int {", "x = step2000(x)", "x = step2001(x)", "x = step1980(x)", "x = step2020(x)"} {
		require.Contains(t, p.shared, want)
	}
	require.NotContains(t, p.shared, "step3900(")
	gaps := regexp.MustCompile(`\[ratchet: (\d+) lines are left out here\]`).FindAllStringSubmatch(p.shared, -1)
	require.NotEmpty(t, gaps)
	left := 0
	for _, g := range gaps {
		n := 0
		_, err := fmt.Sscan(g[1], &n)
		require.NoError(t, err)
		left += n
	}
	_, shown, _ := strings.Cut(p.shared, "file: lib/huge.go\n")
	shown, _, _ = strings.Cut(shown, fenceEnd)
	require.Equal(t, strings.Count(b.String(), "\n"), left+strings.Count(shown, "\n")-len(gaps), "the marks count what is missing")
}

// Search blocks are copied from the prompt, so that nothing may stand before a line.
func TestSourceIsShownAsItIs(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	p := newPrompts(cfg, calc(1), 1).of(cfg.PromptTokens)
	require.Contains(t, p.shared, "file: calc/sum.go\n"+sumSource)
	require.Contains(t, p.shared, "file: calc/sum_test.go (read-only)\n")
	require.Contains(t, p.shared, "func TestSum(t *testing.T) {", "the test that fails")
	require.Contains(t, p.shared, "calc/sum_test.go (read-only)\n")
	require.NotContains(t, p.shared, "calc/other.go (read-only)")
}

func TestWithoutSuspectsThereIsStillSource(t *testing.T) {
	r := calc(1)
	r.Brief.Suspects = nil
	r.Brief.Weakest[0].Package = "elsewhere"
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	p := newPrompts(cfg, r, 1).of(cfg.PromptTokens)
	require.Contains(t, p.shared, sumSource)
	require.Contains(t, p.shared, "It adds.")
}

func TestMetricsSayWhatIsBetter(t *testing.T) {
	r := calc(2)
	r.Brief.Weakest = []diagnose.Weakness{{
		Problem: "speed/latency", Name: "latency", PassRate: 1, Value: 12.5,
		Metric: &model.Metric{Unit: "ms", Better: model.BetterLower, MinEffect: 0.05},
	}}
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	p := newPrompts(cfg, r, 2).of(cfg.PromptTokens)
	require.Contains(t, p.shared, "problem: speed/latency\n")
	require.Contains(t, p.shared, "a number, 12.5 ms now, lower is better, changes of less than 5% do not count")
	require.Contains(t, p.foci[0], metricAngles[0])
	require.Contains(t, p.foci[1], metricAngles[1])
}

func TestFocusGoesRoundTheGroups(t *testing.T) {
	var all []group
	for i := range 5 {
		all = append(all, group{cluster: i, problems: []string{fmt.Sprint(i)}, places: []*region{{}, {}}})
	}
	clusters := func(n, generation int) (out []int) {
		for _, f := range focuses(all, n, generation) {
			out = append(out, f.group.cluster)
		}
		return out
	}
	require.Equal(t, []int{0, 1, 2}, clusters(3, 1))
	require.Equal(t, []int{3, 4, 0}, clusters(3, 2))
	require.Equal(t, []int{0, 1, 2, 3, 4, 0, 1}, clusters(7, 9))
	again := focuses(all, 12, 1)
	require.Equal(t, []int{0, 1, 0}, []int{again[0].first, again[5].first, again[10].first})
	require.Equal(t, angles[:3], []string{again[0].angle, again[5].angle, again[10].angle})
	require.Empty(t, focuses(nil, 3, 1))
}

func TestLargeTreesAreListedByFolder(t *testing.T) {
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("pkg/p%d/sub/file%d.go", i%300, i)] = "package p\n"
	}
	asked := 0
	may := func(string) bool { asked++; return true }
	require.Equal(t, "pkg/: 3000 files\n", listing(tree(files), may, 3000))
	require.Contains(t, listing(tree(files), may, 6000), "pkg/p7/: 10 files\n")
	require.Less(t, asked, 400, "the gate is not asked about what is not listed")
	require.Contains(t, listing(tree(files), may, 1<<20), "pkg/p0/sub/file0.go\n")
}

func TestPythonFunctionsAreTakenApart(t *testing.T) {
	s := newSource(model.File{Path: "a.py", Mode: model.ModeFile, Data: []byte("import os\n\n@cache\ndef f(x):\n    def g():\n        pass\n    return x\n\nclass A:\n    def m(self):\n        return 1\n")})
	var names []string
	for _, r := range s.regions {
		names = append(names, fmt.Sprintf("%s %d-%d", r.name, r.first, r.last))
	}
	require.Equal(t, []string{" 1-2", "f 3-7", " 8-9", "m 10-11"}, names)
	require.Equal(t, "def f(x):", s.regions[1].title())
}

func TestEstimateIsOfTheRequest(t *testing.T) {
	c := always(says("x", 1, nil, mendSum))
	p := newProposer(t, Config{}, c)
	_, err := p.Propose(t.Context(), calc(8))
	require.NoError(t, err)
	most := 0
	for _, r := range c.asked {
		if roles(r.Messages)[len(r.Messages)-1] == llm.RoleUser && len(r.Messages) == 2 {
			most = max(most, tokens(weighAll(r.Messages)))
		}
	}
	require.Equal(t, most, p.PromptSize(calc(8)))
}
