package campaign

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const local = "endpoints: [{name: local, url: http://127.0.0.1:8000/v1, model: coder}]\n"

func TestModelProposerGetsItsDefaults(t *testing.T) {
	s, err := Parse([]byte(minimal+local+"proposers: [{kind: search}, {kind: llm}]\n"), ParseOptions{})
	require.NoError(t, err)
	require.True(t, s.Model())
	require.Equal(t, Endpoint{
		Name: "local", Protocol: ProtocolOpenAI, URL: "http://127.0.0.1:8000/v1", Model: "coder", Parallel: 4,
		Deadline: Deadlines{FirstToken: Duration(2 * time.Minute), Stall: Duration(45 * time.Second), Total: Duration(10 * time.Minute)},
	}, s.Endpoints[0])
	require.Equal(t, Proposer{Kind: ProposerLLM, Samples: 8, Temperatures: []float64{0.2, 0.7, 1}, MaxTokens: 4096, PromptTokens: 16384}, s.Proposers[1])
	require.Equal(t, s.Endpoints, s.EndpointsOf(s.Proposers[1]))

	data, err := JSON(s)
	require.NoError(t, err)
	again, err := FromJSON(data)
	require.NoError(t, err)
	require.Equal(t, s, again)
}

// TestSearchAloneIsStoredAsBefore: campaigns that an earlier version stored are
// told by their bytes, so keys for models must not show where there is none.
func TestSearchAloneIsStoredAsBefore(t *testing.T) {
	s, err := Parse([]byte(minimal), ParseOptions{})
	require.NoError(t, err)
	data, err := JSON(s)
	require.NoError(t, err)
	require.Contains(t, string(data), `"proposers":[{"kind":"search"}]`)
	require.Contains(t, string(data), `"budget":{"wall":"8h","sandbox":"4h"}`)
	require.NotContains(t, string(data), "endpoints")
}

func TestEndpointsInOrderOfPreference(t *testing.T) {
	s, err := Parse([]byte(minimal+`
endpoints:
  - {name: a, url: "http://a/v1", model: m}
  - {name: b, protocol: anthropic, model: m, key_env: ANTHROPIC_API_KEY, price: {input: 3, output: 15}}
proposers: [{kind: llm, endpoints: [b, a]}]
budget: {tokens: 1000000, cost: 2.5}
`), ParseOptions{})
	require.NoError(t, err)
	var names []string
	for _, e := range s.EndpointsOf(s.Proposers[0]) {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{"b", "a"}, names)
	require.Equal(t, int64(1000000), s.Budget.Tokens)
	require.Equal(t, 2.5, s.Budget.Cost)
}

func TestWrongEndpoints(t *testing.T) {
	llm := "proposers: [{kind: llm}]\n"
	for _, c := range []struct{ name, file, want string }{
		{"no endpoint", llm, "there is no endpoint to call"},
		{"no proposer", local, "no proposer calls a model"},
		{"no url", "endpoints: [{name: a, model: m}]\n" + llm, "endpoints[0].url: a value is required"},
		{"no model", "endpoints: [{name: a, url: \"http://a/v1\"}]\n" + llm, "endpoints[0].model: a value is required"},
		{"not a URL", "endpoints: [{name: a, url: localhost:8000, model: m}]\n" + llm, "is not the URL of a server"},
		{"password", "endpoints: [{name: a, url: \"http://u:sk-1234@a/v1\", model: m}]\n" + llm, "it holds a user, a password or a query"},
		{"query", "endpoints: [{name: a, url: \"http://a/v1?key=sk-1234\", model: m}]\n" + llm, "it holds a user, a password or a query"},
		{"route", "endpoints: [{name: a, url: \"http://a/v1/chat/completions\", model: m}]\n" + llm, "write the base URL, without /completions"},
		{"key", "endpoints: [{name: a, url: \"http://a/v1\", model: m, key_env: sk-12345}]\n" + llm, "the name of an environment variable, not the key itself"},
		{"twice", "endpoints: [{name: a, url: \"http://a/v1\", model: m}, {name: a, url: \"http://b/v1\", model: m}]\n" + llm, `endpoints[0] has the name "a" already`},
		{"unknown endpoint", local + "proposers: [{kind: llm, endpoints: [far]}]\n", `there is no endpoint "far"`},
		{"temperature", local + "proposers: [{kind: llm, temperatures: [3]}]\n", "it is from 0 to 2"},
		{"model keys without a model", local + "proposers: [{kind: search, samples: 3}, {kind: llm}]\n", "a proposer of kind search calls no model"},
		{"reserved name", local + "proposers: [{kind: llm, name: evidence}]\n", "is a name of ratchet itself"},
		{"cost without prices", local + llm + "budget: {cost: 5}\n", "no endpoint has a price"},
		{"context too small", "endpoints: [{name: a, url: \"http://a/v1\", model: m, context: 4096}]\n" + llm, "leave no room for a prompt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(minimal+c.file), ParseOptions{})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "sk-1234@")
			require.False(t, strings.Contains(err.Error(), "key=sk-1234"))
		})
	}
}
