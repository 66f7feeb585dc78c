package campaign

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withModel holds an endpoint and a proposer that calls it, each with more keys.
func withModel(endpoint, proposer string) string {
	return minimal + "endpoints: [{name: a, url: \"http://127.0.0.1:1/v1\", model: m" + endpoint + "}]\nproposers: [{kind: llm" + proposer + "}]\n"
}

// TestAWrittenZeroIsNotTakenForNothing: what stands in a file counts or is refused.
func TestAWrittenZeroIsNotTakenForNothing(t *testing.T) {
	suite := func(keys string) string { return minimal + "suites: [{" + keys + "}]\n" }
	const exec = "kind: exec, command: [a], cases: c, "
	for text, want := range map[string]string{
		minimal + "budget: {tokens: 0}\n":                     "3:18: budget.tokens: 0 is out of range (it is from 1 to 1000000000000000; remove the key for no limit)",
		minimal + "budget: {tokens: -1}\n":                    "budget.tokens: -1 is out of range",
		minimal + "budget: {tokens: 0.0}\n":                   "budget.tokens: 0.0 is out of range",
		minimal + "budget: {cost: 0}\n":                       "budget.cost: 0 is out of range (it is more than 0 and at most 1e+12; remove the key for no limit)",
		minimal + "budget: {cost: -0.0}\n":                    "budget.cost: -0.0 is out of range",
		minimal + "budget: {wall: 0s}\n":                      "budget.wall: 0s is out of range",
		minimal + "budget: {sandbox: 0s}\n":                   "budget.sandbox: 0s is out of range",
		minimal + "budget: {wall: -1h}\n":                     "budget.wall: -1h is out of range",
		minimal + "approval: {deadline: 0s}\n":                "approval.deadline: 0s is out of range (it is more than 0s and at most 8760h; remove the key",
		minimal + "gate: {alpha: 0, rounds: 0}\n":             "gate.alpha: 0 is out of range",
		minimal + "search: {candidates: 0}\n":                 "search.candidates: 0 is out of range",
		minimal + "search: {stop: {stale: 0}}\n":              "search.stop.stale: 0 is out of range",
		minimal + "sandbox: {cpus: 0, memory: 0B}\n":          "sandbox.memory: 0B is out of range",
		withModel("", ", samples: 0"):                         "proposers[0].samples: 0 is out of range (it is from 1 to 1000; remove the key to use the default)",
		withModel("", ", samples: -1"):                        "proposers[0].samples: -1 is out of range",
		withModel("", ", max_tokens: 0"):                      "proposers[0].max_tokens: 0 is out of range",
		withModel("", ", prompt_tokens: 0"):                   "proposers[0].prompt_tokens: 0 is out of range",
		minimal + "proposers: [{kind: search, samples: 0}]\n": "proposers[0].samples: 0 is out of range",
		withModel(", context: 0", ""):                         "endpoints[0].context: 0 is out of range (it is from 2048 to 100000000; remove the key for what the server says)",
		withModel(", parallel: 0", ""):                        "endpoints[0].parallel: 0 is out of range",
		withModel(", deadline: {stall: 0s}", ""):              "endpoints[0].deadline.stall: 0s is out of range",
		withModel(", price: {input: 3, cached: 0}", ""):       "3:89: endpoints[0].price.cached: 0 is out of range beside a price of input (write what the server asks, however little",
		suite(exec + "tolerance: 0"):                          "suites[0].tolerance: 0 is out of range (it is more than 0 and at most 1; remove the key to use the default)",
		suite("kind: metric, command: [a], min_effect: 0"):    "suites[0].min_effect: 0 is out of range",
		suite("timeout: 0s"):                                  "suites[0].timeout: 0s is out of range",
		suite("weight: 0"):                                    "suites[0].weight: 0 is out of range",
	} {
		_, err := Parse([]byte(text), ParseOptions{})
		require.ErrorContains(t, err, want, text)
		for line := range strings.SplitSeq(err.Error(), "\n") {
			require.Contains(t, line, "out of range", "nothing else is said of it: %s", text)
		}
	}
}

// TestAZeroThatCountsIsKept, also when the spec is stored and read again.
func TestAZeroThatCountsIsKept(t *testing.T) {
	for _, text := range []string{
		minimal + "seed: 0\nsuites: [{heldout: {share: 0}}]\n",
		withModel(", price: {input: 0, cached: 0, output: 0}", ", temperatures: [0]"),
		withModel(", price: {input: 3, cached: 0.3, output: 15}", ", samples: 1"), minimal, full,
		minimal + "suites: [{kind: exec, command: [a], cases: c}, {name: m, kind: metric, command: [a]}]\n",
	} {
		s, err := Parse([]byte(text), ParseOptions{})
		require.NoError(t, err, text)
		data, err := JSON(s)
		require.NoError(t, err)
		again, err := FromJSON(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, s, again)
	}
}

// TestAKeyInTheWrongPlaceIsNotShown: who takes key_env for the key itself does not
// find it in messages, and so in logs.
func TestAKeyInTheWrongPlaceIsNotShown(t *testing.T) {
	for _, value := range []string{"sk-proj-4711secret", "\"sk 4711secret\"", "4711", "[sk-4711secret]", "{a: 4711secret}", "4711.5", "!x 4711secret", "&a 4711secret"} {
		_, err := Parse([]byte(withModel(", key_env: "+value, "")), ParseOptions{File: "c.yaml"})
		require.ErrorContains(t, err, "c.yaml:3:")
		require.ErrorContains(t, err, "key_env")
		require.NotContains(t, err.Error(), "4711", value)
	}
	_, err := Parse([]byte(withModel(", key_env: sk-4711", "")), ParseOptions{})
	require.ErrorContains(t, err, "the value does not fit (it is the name of an environment variable, not the key itself)")
}

func TestCheckName(t *testing.T) {
	require.NoError(t, CheckName("sharper-agent"))
	for _, name := range []string{"", "bad name", "Upper", "-x", strings.Repeat("a", 64)} {
		require.ErrorContains(t, CheckName(name), "lower-case letters, digits and hyphens")
	}
}

func TestHintsReadAsSentences(t *testing.T) {
	_, err := Parse([]byte(minimal+"proposers: [{kind: psychic}]\n"), ParseOptions{})
	require.ErrorContains(t, err, `there is no "psychic" (it is search or llm; later also agent)`)
}
