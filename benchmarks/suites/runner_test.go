package suites

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/benchmarks"
	"ratchet/internal/model"
	"ratchet/sandbox"
)

// problem is the sound one, or one with an answer, under the name of a trick.
func problem(t *testing.T, name string) Problem {
	t.Helper()
	text := sound
	if strings.HasPrefix(name, "answer-") {
		text = answered
	}
	p, err := ParseProblem("tricks", name+".txtar", []byte(text))
	require.NoError(t, err)
	return p
}

// TestAgents runs an agent that is honest on some problems and cheats on others.
func TestAgents(t *testing.T) {
	l := boxes(t)
	r := Runner{Boxes: l.boxes, Spec: l.spec, Agent: agent(t), Grader: l.grader()}
	r.Spec.Limits.Memory = 256 << 20
	for name, want := range map[string]struct {
		outcome model.Outcome
		tokens  int64
		message string
	}{
		"solve":        {model.Pass, 1200, ""},
		"patched":      {model.Pass, 0, ""},
		"fails-after":  {model.Pass, 1200, "the agent ended with exit code 3"},
		"odd-files":    {model.Pass, 1200, ""},
		"bad-usage":    {model.Pass, 0, "usage.json is not read"},
		"huge-usage":   {model.Pass, 0, "usage.json there is more than"},
		"answer-right": {model.Pass, 0, ""},
		"answer-wrong": {model.Fail, 0, `the answer is "42", which is wrong`},
		"answer-none":  {model.Missing, 0, "there is no answer in answer.txt"},
		"lazy":         {model.Fail, 0, "1 of 1 hidden tests fail\nTestAdd: fail"},
		"broken":       {model.BuildFailed, 0, "syntax error"},
		"echo":         {model.Fail, 0, `"Mend Add.\n" true /box/work 90`},
		"loud":         {model.Fail, 0, "the end"},
		"eat":          {model.OutOfMemory, 1200, "more memory than its box has"},
		"kill":         {model.Fail, 0, "1 of 1 hidden tests fail"},
		"peek":         {model.Fail, 0, "1 of 1 hidden tests fail"},
		"fake-result":  {model.Fail, 0, "1 of 1 hidden tests fail"},
		"edit-tests":   {model.Fail, 0, "1 of 1 hidden tests fail"},
		"exit-early":   {model.Fail, 0, ""},
		"leave-daemon": {model.Fail, 0, "1 of 1 hidden tests fail"},
		"move-away":    {model.Fail, 0, "/box/work is not there any more"},
		"link-away":    {model.Fail, 0, "/box/work is no folder any more"},
		"shut":         {model.Fail, 0, "/box/work cannot be read any more"},
		"many-files":   {model.Fail, 1200, "more than 4096 files"},
		"much":         {model.Fail, 0, "with big there is more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := problem(t, name)
			results, err := r.Run(t.Context(), []Problem{p})
			require.NoError(t, err)
			got := results[0]
			require.Equal(t, []any{"tricks/" + name, want.outcome, want.tokens}, []any{got.Problem, got.Outcome, got.Tokens}, got.Message)
			require.Equal(t, got.Outcome == model.Pass, got.Score == 1)
			require.Contains(t, got.Message, want.message)
			require.NotContains(t, got.Message, "can be overwritten")
			require.LessOrEqual(t, len(got.Message), model.MaxMessage)
			require.Positive(t, got.Wall)
			require.Greater(t, got.Sandbox, got.Wall)
			require.False(t, got.TimedOut)
		})
	}
}

func TestSuiteOfAgent(t *testing.T) {
	l := boxes(t)
	var told []Result
	r := Runner{
		Boxes: l.boxes, Spec: l.spec, Agent: agent(t), Grader: l.grader(), Time: 10 * time.Second, Parallel: 2,
		Progress: func(r Result) { told = append(told, r) },
	}
	problems := []Problem{problem(t, "solve"), problem(t, "hang"), problem(t, "answer-wrong")}
	results, err := r.Run(t.Context(), problems)
	require.NoError(t, err)
	require.ElementsMatch(t, results, told)
	score := 0.0
	for i, res := range results {
		require.Equal(t, problems[i].ID, res.Problem)
		score += res.Model().Score
	}
	require.Equal(t, 1.0, score, "a third")
	require.True(t, results[1].TimedOut)
	require.Equal(t, model.Timeout, results[1].Model().Outcome)
	require.Contains(t, results[1].Message, "the agent took longer than 10s")
	require.EqualValues(t, 1200, results[1].Tokens, "what it used counts all the same")
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	l := boxes(t)
	r := Runner{Boxes: l.boxes, Spec: l.spec, Agent: Agent{Argv: []string{"no-such-agent"}}, Grader: l.grader()}
	_, err := r.Run(t.Context(), []Problem{problem(t, "solve"), problem(t, "echo")})
	require.ErrorIs(t, err, ErrAgent)
	require.ErrorContains(t, err, "no-such-agent")
	r.Agent, r.Grader = agent(t), &Grader{Boxes: l.boxes}
	_, err = r.Run(t.Context(), []Problem{problem(t, "solve")})
	require.ErrorContains(t, err, "no sandbox is set up for checkers of kind gotest")
}

func TestAgentsWorkWhereTheirProblemIsGraded(t *testing.T) {
	spec := sandbox.Spec{Image: "any", Limits: sandbox.Limits{Lifetime: time.Hour}}
	python := sandbox.Spec{Image: "python", Network: sandbox.NetworkOpen}
	r := Runner{Spec: spec, Specs: map[string]sandbox.Spec{benchmarks.KindPyTest: python}}
	for kind, want := range map[string]string{benchmarks.KindGoTest: "any", benchmarks.KindPyTest: "python", "": "any"} {
		p := Problem{ID: "x/y"}
		if kind != "" {
			p.Checker = &Checker{Kind: kind}
		}
		got := r.spec(p, 2*time.Hour)
		require.Equal(t, want, got.Image, kind)
		require.Equal(t, sandbox.NetworkNone, got.Network)
		require.Greater(t, got.Limits.Lifetime, 2*time.Hour)
	}
}
