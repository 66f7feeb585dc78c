package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
)

// modelSpec is spec with a model in the place of the scripted proposer.
func modelSpec(t testing.TB, source string, generations int, servers ...*llmtest.Server) campaign.Spec {
	t.Helper()
	s := spec(t, source, generations)
	s.Proposers = []campaign.Proposer{{
		Kind: campaign.ProposerLLM, Samples: 4, Temperatures: []float64{0.2, 0.7}, MaxTokens: 512, PromptTokens: 4096,
	}}
	s.Search.Candidates = 4
	for i, server := range servers {
		s.Endpoints = append(s.Endpoints, campaign.Endpoint{
			Name: fmt.Sprintf("gpu-%d", i), Protocol: campaign.ProtocolOpenAI, URL: server.V1(), Model: server.Model(), Parallel: 4,
			Deadline: campaign.Deadlines{FirstToken: modelDeadline, Stall: modelDeadline, Total: modelDeadline},
		})
	}
	require.NoError(t, s.Validate())
	return s
}

// modelDeadline is longer than any test, where no deadline is to fire.
const modelDeadline = campaign.Duration(10 * time.Minute)

// conversation names what a model is asked: it says nothing of when and how often.
func conversation(r llmtest.Request) string {
	h := sha256.New()
	for _, m := range r.Messages {
		fmt.Fprintf(h, "%s\x00%s\x00", m.Role, m.Text)
	}
	fmt.Fprintf(h, "%d %v %d", *r.Seed, *r.Temperature, r.MaxTokens)
	return "c" + hex.EncodeToString(h.Sum(nil)[:8])
}

var (
	conversationName = regexp.MustCompile(`\bc[0-9a-f]{16}\b`)
	problemName      = regexp.MustCompile(`\b` + suiteName + `/([a-z][a-z0-9]*)\b`)
)

// oracle is a model whose answers depend on the conversation alone. They name it,
// so that rows which hold an answer tell which question it was paid for.
func oracle(r llmtest.Request) llmtest.Reply {
	if isReflection(r) {
		return llmtest.Say(fmt.Sprintf(`{"worked": "", "failed": "", "surprised": "", "learn": "what %s asks"}`, conversation(r)))
	}
	problem := aim(r)
	mend, spoil := rewrite(problem, "bad", "good"), rewrite(guard, "good", "bad")
	if len(r.Messages) > 2 {
		return idea(r, "mend after all", mend)
	}
	switch *r.Seed % 6 {
	case 0:
		return idea(r, "mend", mend)
	case 1, 2:
		return idea(r, "mend at the cost of "+guard, mend, spoil)
	case 3:
		return idea(r, "reword", rewrite(problem, "bad", fmt.Sprintf("no better, idea %d", *r.Seed)))
	case 4:
		return idea(r, "mend what is not there", rewrite(problem, "worse", "good"))
	}
	return llmtest.Say("I would look at " + problem + " first, says " + conversation(r) + ".")
}

func isReflection(r llmtest.Request) bool { return strings.Contains(string(r.Schema), "surprised") }

// aim is one of the problems that a question points at.
func aim(r llmtest.Request) string {
	_, part, _ := strings.Cut(r.Messages[1].Text, "# Your part")
	found := problemName.FindAllStringSubmatch(part, -1)
	if len(found) == 0 {
		return "none"
	}
	return found[int(*r.Seed/7)%len(found)][1]
}

// textEdit is one edit in a model's answer.
type textEdit struct {
	Path    string `json:"path"`
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

func rewrite(problem, from, to string) textEdit {
	return textEdit{partOf(problem), from + "\n", to + "\n"}
}

// idea is an answer as the schema wants it.
func idea(r llmtest.Request, hypothesis string, edits ...textEdit) llmtest.Reply {
	text, err := json.Marshal(map[string]any{
		"hypothesis": hypothesis + ", says " + conversation(r), "expected_gain": 0.1,
		"targets": []string{suiteName + "/" + aim(r)}, "edits": edits, "diff": "",
	})
	if err != nil {
		return llmtest.Unscripted(err.Error())
	}
	return llmtest.Say(string(text))
}

// valve lets some calls of a model through and holds those after them.
type valve struct {
	script llmtest.Script
	gate   *llmtest.Gate

	mu   sync.Mutex
	left int
}

func newValve(s llmtest.Script) *valve { return &valve{script: s, gate: llmtest.NewGate()} }

// Decide implements llmtest.Script.
func (v *valve) Decide(r llmtest.Request) llmtest.Reply {
	reply := v.script.Decide(r)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left--; v.left < 0 {
		return reply.At(v.gate)
	}
	return reply
}

// let has the next n calls pass; those that are held already stay so.
func (v *valve) let(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = n
}
