package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
)

func TestAnswersBecomeCandidates(t *testing.T) {
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		if i, _ := sampleOf(t, key); i == 0 {
			return says("the sum starts at one", 0.1, []string{"unit/calc/TestSum", "unit/calc/Other"}, mendSum), nil
		}
		return says("the mean divides by too much", 0.2, []string{"nonsense"}, mendMean), nil
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(2))
	require.NoError(t, err)
	require.Empty(t, got.Notes)
	require.Empty(t, got.Refused)
	require.False(t, got.Exhausted)
	require.Len(t, got.Candidates, 2)
	mean, sum := got.Candidates[0], got.Candidates[1]
	require.Equal(t, "the mean divides by too much", mean.Hypothesis)
	require.Equal(t, []string{"unit/calc/TestMean"}, mean.Targets, "what it was pointed at")
	require.Equal(t, []string{"unit/calc/TestSum"}, sum.Targets)
	require.Equal(t, "llm", sum.Proposer)
	require.Equal(t, patch.Key(sum.Edits, calc0), sum.Key)
	require.Contains(t, string(sum.Edits[0].Data), "total := 0")
	require.Len(t, c.asked, 2)
}

func TestNothingToAsk(t *testing.T) {
	c := always(says("x", 1, nil, mendSum))
	p := newProposer(t, Config{}, c)
	fine := calc(3)
	fine.Brief.Weakest = nil
	for _, r := range []propose.Request{calc(0), calc(-1), fine, {N: 5}} {
		got, err := p.Propose(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, propose.Proposal{}, got)
		require.Zero(t, p.PromptSize(r))
	}
	require.Empty(t, c.asked)
}

func TestAsksNoMoreThanSamples(t *testing.T) {
	c := always(says("x", 1, nil, mendSum))
	got, err := newProposer(t, Config{Samples: 3}, c).Propose(t.Context(), calc(10))
	require.NoError(t, err)
	require.Len(t, c.asked, 3)
	require.Len(t, got.Candidates, 1)
	require.Equal(t, []string{"2 answers were equal to those of other samples"}, got.Notes)
}

func TestSamplesDifferInSeedTemperatureAndFocus(t *testing.T) {
	c := always(says("x", 1, nil, mendSum))
	p := newProposer(t, Config{Temperatures: []float64{0.1, 0.9}}, c)
	_, err := p.Propose(t.Context(), calc(4))
	require.NoError(t, err)
	seeds, ends := map[int64]bool{}, map[string]bool{}
	for i := range 4 {
		r := c.of(t, i, 0)
		require.Equal(t, []float64{0.1, 0.9, 0.1, 0.9}[i], r.Temperature)
		require.Equal(t, 4096, r.MaxTokens)
		require.NotNil(t, r.Schema)
		require.GreaterOrEqual(t, r.Seed, int64(0))
		seeds[r.Seed] = true
		_, end, found := strings.Cut(r.Messages[1].Text, "# Your part")
		require.True(t, found)
		ends[end] = true
	}
	require.Len(t, seeds, 4)
	require.Len(t, ends, 4)
	first := c.of(t, 0, 0).Seed
	next := calc(4)
	next.Brief.Generation = 2
	c.asked = nil
	_, err = p.Propose(t.Context(), next)
	require.NoError(t, err)
	require.NotEqual(t, first, c.of(t, 0, 0).Seed)
	require.Equal(t, 0.9, c.of(t, 0, 0).Temperature, "each generation begins a rung higher")
}

// The same request makes the same calls, so that a crash pays for none twice.
func TestCallsAreNamedByTheirQuestion(t *testing.T) {
	one, two, other := always(says("x", 1, nil, mendSum)), always(says("x", 1, nil, mendSum)), always(says("x", 1, nil, mendSum))
	for _, c := range []*caller{one, two} {
		_, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(4))
		require.NoError(t, err)
	}
	require.Equal(t, one.keys(), two.keys())
	r := calc(4)
	r.Seed++
	_, err := newProposer(t, Config{}, other).Propose(t.Context(), r)
	require.NoError(t, err)
	for _, k := range other.keys() {
		require.NotContains(t, one.keys(), k)
	}
}

func TestOrderIsThatOfTheSamplesNotOfArrival(t *testing.T) {
	const n = 6
	propose := func(last int) propose.Proposal {
		var others sync.WaitGroup
		others.Add(n - 1)
		c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
			i, _ := sampleOf(t, key)
			if i == last {
				others.Wait()
			} else {
				defer others.Done()
			}
			return says(fmt.Sprintf("idea %d", i), 0.5, nil, edit{"calc/sum.go", "total := 1", fmt.Sprintf("total := %d", 10+i/2)}), nil
		}}
		got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(n))
		require.NoError(t, err)
		return got
	}
	first := propose(0)
	require.Len(t, first.Candidates, 3)
	require.Equal(t, "idea 0", first.Candidates[0].Hypothesis)
	for last := 1; last < n; last++ {
		require.Equal(t, first, propose(last))
	}
}

func TestAnswersAreRepairedOnce(t *testing.T) {
	tried := patch.Key([]model.Edit{{Path: "calc/sum.go", Data: []byte(strings.Replace(sumSource, "total := 1", "total := 0", 1))}}, calc0)
	for name, x := range map[string]struct {
		bad  llm.Answer
		says string
		prep func(*propose.Request)
	}{
		"words":      {bad: llm.Answer{Text: "I cannot help with that."}, says: "Your answer was not used"},
		"no match":   {bad: says("x", 1, nil, edit{"calc/sum.go", "total := 7\n", "total := 0\n"}), says: "not found"},
		"refused":    {bad: says("x", 1, nil, edit{"calc/sum_test.go", "\tif got := Sum([]int{1, 2}); got != 3 {\n", "\tif got := Sum([]int{1, 2}); got != 4 {\n"}), says: "harness: calc/sum_test.go: it belongs to the benchmark"},
		"only words": {bad: says("x", 1, nil, edit{"calc/sum.go", "// Sum adds numbers.", "// Sum adds."}), says: "comments: calc/sum.go"},
		"path": {bad: says("x", 1, nil, edit{"calc/other.go", "func Twice(x int) int { return 2 * x }\n", "func Twice(x int) int { return 3 * x }\n"}), says: "denied: calc/other.go",
			prep: func(r *propose.Request) { r.Allowed = func(p string) bool { return p == "calc/sum.go" } }},
		"tried": {bad: says("x", 1, nil, mendSum), says: "write a different one",
			prep: func(r *propose.Request) { r.Skip = func(key string) bool { return key == tried } }},
		"leaked": {bad: says("x", 1, nil, edit{"calc/sum.go", "\ttotal := 1\n", "\ttotal := 0\n// [ratchet: 3 lines are left out here]\n"}), says: "belongs to the prompt"},
		"cut":    {bad: llm.Answer{Text: `{"hypothesis": "the su`, Cut: true}, says: "write a shorter one"},
	} {
		t.Run(name, func(t *testing.T) {
			r := calc(1)
			if x.prep != nil {
				x.prep(&r)
			}
			c := &caller{}
			c.answer = func(key string, _ llm.Request) (llm.Answer, error) {
				if _, turn := sampleOf(t, key); turn == 0 {
					return x.bad, nil
				}
				return says("mended", 0.3, nil, mendMean), nil
			}
			got, err := newProposer(t, Config{}, c).Propose(t.Context(), r)
			require.NoError(t, err)
			require.Len(t, got.Candidates, 1)
			require.Equal(t, "mended", got.Candidates[0].Hypothesis)
			require.Empty(t, got.Refused, "what was mended is no refusal")
			m := c.of(t, 0, 1).Messages
			require.Equal(t, []llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleUser}, roles(m))
			require.Equal(t, c.of(t, 0, 0).Messages, m[:2], "it goes on from the same words")
			require.Equal(t, x.bad.Text, m[2].Text)
			require.Contains(t, m[3].Text, x.says)

			c.answer = func(string, llm.Request) (llm.Answer, error) { return x.bad, nil }
			c.asked = nil
			got, err = newProposer(t, Config{}, c).Propose(t.Context(), r)
			require.NoError(t, err)
			require.Empty(t, got.Candidates)
			require.Len(t, got.Refused, 1)
			require.NotEmpty(t, got.Refused[0].Reason)
			require.NotEmpty(t, got.Refused[0].Key)
			require.NotEqual(t, tried, got.Refused[0].Key, "the key of a candidate stays that candidate's")
			require.Len(t, c.asked, 2, "once")
		})
	}
}

func roles(messages []llm.Message) []llm.Role {
	var out []llm.Role
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return out
}

func TestRepairFitsWhateverWasAnswered(t *testing.T) {
	for _, size := range []int{1024, 2048, 16384} {
		c := always(llm.Answer{Text: strings.Repeat("no patch, only words. ", 5000)})
		_, err := newProposer(t, Config{PromptTokens: size}, c).Propose(t.Context(), big(30, 3))
		require.NoError(t, err)
		m := c.of(t, 0, 1).Messages
		require.LessOrEqual(t, tokens(weighAll(m)), size)
		require.NotEmpty(t, m[2].Text)
		require.Contains(t, m[3].Text, repairWords)
	}
}

func TestEqualRefusalsAreOne(t *testing.T) {
	got, err := newProposer(t, Config{}, always(llm.Answer{Text: "As an AI I cannot."})).Propose(t.Context(), calc(4))
	require.NoError(t, err)
	require.Len(t, got.Refused, 1)
}

func TestClaimsAreClamped(t *testing.T) {
	for claimed, want := range map[float64]float64{-1: 0, 0: 0, 0.25: 0.25, 1: 1, 40: 1} {
		require.Equal(t, want, gain(claimed))
	}
	require.Zero(t, gain(math.NaN()))
	require.Equal(t, 1.0, gain(math.Inf(1)))
}

func TestTheBestComeFirst(t *testing.T) {
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		i, turn := sampleOf(t, key)
		if i == 0 && turn == 0 {
			return llm.Answer{Text: "hm"}, nil
		}
		return says(fmt.Sprintf("idea %d", i), []float64{0.5, 0.5, 0.9, 0.1}[i], nil, edit{"calc/sum.go", "total := 1", fmt.Sprintf("total := %d", 10+i)}), nil
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(4))
	require.NoError(t, err)
	var order []string
	for _, x := range got.Candidates {
		order = append(order, x.Hypothesis)
	}
	require.Equal(t, []string{"idea 2", "idea 1", "idea 0", "idea 3"}, order)
}

func kinded(kind error) error {
	return fmt.Errorf("call: %w", &llm.Error{Op: "ask", Endpoint: "a", Kind: kind})
}

func TestErrorsWhenNobodyAnswers(t *testing.T) {
	for _, kind := range slices.Concat(permanent, transient) {
		c := &caller{answer: func(string, llm.Request) (llm.Answer, error) { return llm.Answer{}, kinded(kind) }}
		_, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(3))
		require.ErrorIs(t, err, kind)
		var e *llm.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, err.Error(), "example.com/calc")
	}
}

func TestWhatWaitingMayMendIsSaidFirst(t *testing.T) {
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		i, _ := sampleOf(t, key)
		return llm.Answer{}, kinded([]error{llm.ErrNoModel, llm.ErrOverloaded, llm.ErrAuth}[i])
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(3))
	require.ErrorIs(t, err, llm.ErrOverloaded)
	require.Empty(t, got)
}

func TestWhatCameIsKept(t *testing.T) {
	for _, kind := range slices.Concat(permanent, transient, []error{llm.ErrBudget}) {
		c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
			if i, _ := sampleOf(t, key); i != 1 {
				return llm.Answer{}, kinded(kind)
			}
			return says("x", 0.1, nil, mendSum), nil
		}}
		got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(3))
		require.NoError(t, err)
		require.Len(t, got.Candidates, 1)
		require.Len(t, got.Notes, 2)
		require.Equal(t, kind == llm.ErrBudget, got.Exhausted)
	}
}

func TestABudgetWithoutRoomIsNoError(t *testing.T) {
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		if i, _ := sampleOf(t, key); i == 0 {
			return llm.Answer{}, kinded(llm.ErrUnavailable)
		}
		return llm.Answer{}, kinded(llm.ErrBudget)
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(2))
	require.NoError(t, err)
	require.True(t, got.Exhausted)
	require.Empty(t, got.Candidates)
}

// A repair that the budget has no room for leaves the answer as refused.
func TestTheAnswerStandsWhenItsRepairFails(t *testing.T) {
	for _, kind := range []error{llm.ErrBudget, llm.ErrDeadline, llm.ErrContext} {
		c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
			if _, turn := sampleOf(t, key); turn == 1 {
				return llm.Answer{}, kinded(kind)
			}
			return llm.Answer{Text: "As an AI I cannot."}, nil
		}}
		got, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(1))
		require.NoError(t, err)
		require.Len(t, got.Refused, 1)
		require.Len(t, got.Notes, 1)
		require.Equal(t, kind == llm.ErrBudget, got.Exhausted)
	}
}

func TestWhatIsNoModelsErrorEndsTheProposal(t *testing.T) {
	broken := errors.New("the store is gone")
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		if i, _ := sampleOf(t, key); i == 0 {
			return says("x", 0.1, nil, mendSum), nil
		}
		return llm.Answer{}, broken
	}}
	_, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(2))
	require.ErrorIs(t, err, broken)
}

func TestCancelledIsSaidSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &caller{answer: func(string, llm.Request) (llm.Answer, error) {
		cancel()
		return llm.Answer{}, kinded(llm.ErrDeadline)
	}}
	_, err := newProposer(t, Config{}, c).Propose(ctx, calc(3))
	require.ErrorIs(t, err, context.Canceled)
}

func TestPromptsThatAreTooLongShrink(t *testing.T) {
	r := big(40, 2)
	fits := 5000
	c := &caller{answer: func(key string, r llm.Request) (llm.Answer, error) {
		if tokens(weighAll(r.Messages)) > fits {
			return llm.Answer{}, kinded(llm.ErrContext)
		}
		return says("x", 0.1, nil, edit{"lib/f00.go", "\tv := 0 // start", "\tv := 1 // start"}), nil
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, got.Candidates, 1)
	require.Contains(t, strings.Join(got.Notes, "\n"), "asked with half of it")

	fits = 1 // however small
	c.asked = nil
	got, err = newProposer(t, Config{}, c).Propose(t.Context(), r)
	require.NoError(t, err)
	require.Empty(t, got.Candidates)
	require.Contains(t, strings.Join(got.Notes, "\n"), "was not answered")
	require.Len(t, c.asked, r.N*(1+maxShrinks))
}

func TestAWindowWithoutRoom(t *testing.T) {
	c := always(says("x", 1, nil, mendSum))
	c.window = 4096
	_, err := newProposer(t, Config{}, c).Propose(t.Context(), calc(1))
	require.ErrorIs(t, err, llm.ErrContext)
	require.ErrorContains(t, err, "lower max_tokens")
	require.Empty(t, c.asked)
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{Samples: -1, MaxTokens: -1, PromptTokens: 100, Temperatures: []float64{-1, 3}}, nil)
	for _, want := range []string{"samples", "max_tokens", "prompt_tokens", "temperature -1", "temperature 3", "nothing that makes its calls"} {
		require.ErrorContains(t, err, want)
	}
	p := newProposer(t, Config{}, always(llm.Answer{}))
	prompt, answer := p.Bound()
	require.Equal(t, []int{16384, 4096, 6, 16}, []int{prompt, answer, p.MaxCalls(3), p.MaxCalls(100)})
	require.Equal(t, "llm", p.Name())
}

// TestTargetsFollowTheEdits: a model that names no problem is taken to aim at
// those that run what it edits, wherever it was pointed at.
func TestTargetsFollowTheEdits(t *testing.T) {
	r := calc(2)
	for i := range r.Brief.Suspects {
		r.Brief.Suspects[i].File, r.Brief.Suspects[i].Problems = "calc/other.go", []string{"unit/calc/TestMean"}
	}
	r.Brief.Suspects[0].File, r.Brief.Suspects[0].Problems = "calc/sum.go", []string{"unit/calc/TestSum", "unit/calc/Gone"}
	got, err := newProposer(t, Config{}, always(says("x", 1, nil, mendSum))).Propose(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, got.Candidates, 1)
	require.Equal(t, []string{"unit/calc/TestSum"}, got.Candidates[0].Targets)
}
