package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/examples"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
)

// canary is the key of the scripted model server: it must be found nowhere.
const canary = "sk-canary-7f3a91c2d4e5"

// edit is one edit of a model's answer.
type edit struct {
	Path    string `json:"path"`
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// patchAnswer is an answer as the schema wants it.
func patchAnswer(hypothesis string, edits ...edit) string {
	data, err := json.Marshal(map[string]any{
		"hypothesis": hypothesis, "expected_gain": 0.01, "targets": []string{}, "edits": edits, "diff": "",
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What the scripted model has to say about the example agent.
var (
	// temptingAnswer passes every test that a proposer sees and breaks a held-out one.
	temptingAnswer = patchAnswer("No refusal is final: the check before the attempts are counted has to go",
		edit{"retry/retry.go", "\t\tif permanent(err) {\n\t\t\treturn err\n\t\t}\n", ""})
	// starsAnswer is beyond the search: it rewrites a function. Its second edit
	// forgets nothing, but the blanks are not those of the file.
	starsAnswer = patchAnswer("A pattern may hold several stars, Match looks at the first only", edit{"router/router.go",
		"    prefix, suffix, star := strings.Cut(pattern, \"*\")\n    if !star {\n        return pattern == name\n    }\n    return len(name) >= len(prefix)+len(suffix) &&\n        strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)\n",
		"    parts := strings.Split(pattern, \"*\")\n    if len(parts) == 1 {\n        return pattern == name\n    }\n    first, last := parts[0], parts[len(parts)-1]\n    if !strings.HasPrefix(name, first) {\n        return false\n    }\n    rest := name[len(first):]\n    for _, p := range parts[1 : len(parts)-1] {\n        i := strings.Index(rest, p)\n        if i < 0 {\n            return false\n        }\n        rest = rest[i+len(p):]\n    }\n    return strings.HasSuffix(rest, last)\n"})
	graderAnswer = patchAnswer("The test expects too much", edit{"router/router_test.go", "package router", "package router // easier"})
	lostAnswer   = patchAnswer("The window is one too small", edit{"transcript/transcript.go", "nothing like this stands there", "x"})
)

// refusesTheKey stands for an error of the server that repeats the key.
const refusesTheKey = "401"

// scriptedModel answers questions for patches in turn, and questions for reflection.
func scriptedModel(answers ...string) llmtest.Script {
	var n atomic.Int64
	return llmtest.Func(func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(string(r.Schema), "surprised") {
			return llmtest.Say(`{"worked": "rewriting Match", "failed": "dropping the check", "surprised": "a held-out test", "learn": "which refusals are final"}`)
		}
		i := int(n.Add(1)) - 1
		switch {
		case i < len(answers) && answers[i] == refusesTheKey:
			return llmtest.Unauthorized()
		case i < len(answers):
			return llmtest.Say(answers[i])
		}
		return llmtest.Say("I have no further idea.")
	})
}

// environmentTest is a problem that fails when a sandbox knows the key, or any key.
const environmentTest = `package env

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoKeyInTheEnvironment(t *testing.T) {
	all := strings.Join(os.Environ(), "\n")
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		all += string(data)
	}
	for _, word := range []string{"canary", "API_KEY"} {
		if strings.Contains(all, word) {
			t.Fatal("the sandbox holds a key")
		}
	}
}
`

// replace edits a file of the current folder; each old text must be there.
func (c *cli) replace(file string, oldNew ...string) {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, file))
	require.NoError(c.t, err)
	for i := 0; i < len(oldNew); i += 2 {
		require.Contains(c.t, string(data), oldNew[i])
	}
	c.write(file, strings.NewReplacer(oldNew...).Replace(string(data)))
}

// withoutChance is the file of the example agent that makes one of its tests flaky,
// with the flaw mended. The scripted model gives each answer once: were the right
// one refused because the flaky test failed in its screen, it would not come again.
func withoutChance(t *testing.T) string {
	t.Helper()
	const byChance, byName = "n > longest {", "n > longest || n == longest && candidate < closest {"
	tree, err := examples.Target("agent")
	require.NoError(t, err)
	f, ok := tree.Find("tools/tools.go")
	require.True(t, ok)
	require.Equal(t, 1, strings.Count(string(f.Data), byChance))
	return strings.Replace(string(f.Data), byChance, byName, 1)
}

// TestModelWritesPatches runs the example campaign with a model behind a real
// server: of its answers one is kept, one is reverted, and the others are refused.
func TestModelWritesPatches(t *testing.T) {
	needDocker(t)
	server := llmtest.Start(t, llmtest.Config{
		Script: scriptedModel(temptingAnswer, starsAnswer, graderAnswer, "I'm sorry, but I can't help with that, "+canary+".", lostAnswer, refusesTheKey, "```diff\n--- a/nope\n```"),
		Models: []string{"Qwen/Qwen3-Coder-30B-A3B-Instruct"}, Key: canary,
	})
	c := newCLI(t)
	c.env["VLLM_API_KEY"] = canary
	_, log := c.background("Ctrl-C stops the stack", "dev", "--verbose")
	file, name := c.example("llm")
	c.repository("llm.git", "main", map[string]string{"env/env_test.go": environmentTest, "tools/tools.go": withoutChance(t)})
	c.replace(file, "http://127.0.0.1:8000/v1", server.V1(), "[{kind: search}, {kind: llm,", "[{kind: llm,", "generations: 6", "generations: 3")
	c.ok("validate", file)
	out := c.ok("run", file)
	r := c.report(name)
	require.Equal(t, []int{1, 1}, []int{r.Kept, r.Reverted}, out)
	for _, g := range r.Generations {
		require.Contains(t, []string{"llm", ""}, g.Proposer)
		switch g.Outcome {
		case "kept":
			require.Contains(t, g.Fixed, "unit/router/TestMatchSeveralStars")
		case "reverted":
			require.Contains(t, g.Reason, "TestDoStopsWhenRefusedForGood")
		}
	}
	require.Positive(t, r.Cost.Tokens)
	require.Equal(t, int64(len(server.Requests())), r.Cost.Calls)
	require.Empty(t, r.Baseline.Flaky)
	var shown struct {
		Current model.Score `json:"current_score"`
		Image   string      `json:"image"`
	}
	require.NoError(t, json.Unmarshal([]byte(c.ok("campaign", "show", name, "--json")), &shown))
	require.NotEmpty(t, shown.Current.Failing)
	require.NotContains(t, shown.Current.Failing, "unit/env/TestNoKeyInTheEnvironment")
	require.NotContains(t, out, canary)
	require.Contains(t, log.String(), "a model call failed", "the server has repeated the key")
	require.NotContains(t, log.String(), canary)
	c.nowhere(canary, shown.Image)
}
