package estimate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	proposellm "ratchet/internal/propose/llm"
)

func TestTurnsAreThoseOfTheProposer(t *testing.T) { require.Equal(t, proposellm.Turns, turns) }

// counter answers nothing of use and counts what it is asked.
type counter struct {
	mu             sync.Mutex
	calls, prompts int64
	unknown        llm.Calibration
}

func (c *counter) Window(context.Context) (int, error) { return 1 << 20, nil }

func (c *counter) Call(_ context.Context, _ string, r llm.Request) (llm.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.prompts = c.calls+1, c.prompts+c.unknown.Tokens(r.Bytes())
	return llm.Answer{Text: "I would rather talk about something else entirely."}, nil
}

// An estimate is of the size of what a real proposer then asks, both ways: as often
// as it may when no answer is of use, and never more than the bound.
func TestEstimateOfWhatAProposerAsks(t *testing.T) {
	for name, x := range map[string]struct{ files, samples, candidates int }{
		"a small repository": {1, 3, 6}, "a middling one": {20, 4, 8}, "a large one": {400, 2, 8}, "more samples than places": {20, 16, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var tree model.Tree
			bytes := int64(0)
			for i := range x.files {
				code := fmt.Sprintf("package p%d\n\n%s", i, strings.Repeat("// Add returns a sum.\nfunc Add(a, b int) int { return a + b }\n\n", 20))
				bytes += int64(len(code))
				tree = tree.With(model.Edit{Path: fmt.Sprintf("p%d/p.go", i), Data: []byte(code)})
			}
			asked := &counter{}
			p, err := proposellm.New(proposellm.Config{Samples: x.samples, MaxTokens: 3000, PromptTokens: 8000}, asked)
			require.NoError(t, err)
			_, err = p.Propose(t.Context(), propose.Request{
				Tree: tree, N: x.candidates, Allowed: func(string) bool { return true }, Skip: func(string) bool { return false },
				Gate:  func(model.Candidate) *patch.Refusal { return nil },
				Brief: diagnose.Brief{Generation: 1, Weakest: []diagnose.Weakness{{Problem: "unit/p0/TestAdd"}}},
			})
			require.NoError(t, err)
			s := spec(t, fmt.Sprintf("endpoints: [{name: a, url: \"http://127.0.0.1:1/v1\", model: m}]\n"+
				"proposers: [{kind: llm, samples: %d, max_tokens: 3000, prompt_tokens: 8000}]\nsearch: {generations: 1, candidates: %d}\n", x.samples, x.candidates))
			m := Make(Facts{Spec: s, SourceBytes: bytes}).Model
			require.LessOrEqual(t, asked.calls, m.Calls.Most-1, "but for the reflection")
			require.GreaterOrEqual(t, 2*asked.calls, m.Calls.Likely)
			each := asked.prompts / asked.calls
			t.Logf("%d calls of %d tokens; estimated %+v of %+v", asked.calls, each, m.Calls, m.Prompt)
			require.LessOrEqual(t, each, m.Prompt.Most)
			require.Less(t, each, 3*m.Prompt.Likely)
			require.Less(t, m.Prompt.Likely, 3*each)
		})
	}
}
