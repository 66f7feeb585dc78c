package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commands calls f for every command of the tree that is ours.
func commands(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			commands(sub, f)
		}
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	root := (&app{}).root()
	seen := 0
	commands(root, func(c *cobra.Command) {
		seen++
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotContains(t, strings.TrimSuffix(c.Short, "."), "\n", c.CommandPath())
		require.False(t, strings.HasSuffix(c.Short, "."), "%s: a title has no full stop", c.CommandPath())
		require.NotEmpty(t, c.Example, c.CommandPath())
		require.NotNil(t, c.Args, "%s takes any words", c.CommandPath())
	})
	require.Greater(t, seen, 25)
}

// TestExamplesAreRight: each example names a command that exists, with flags that it has.
func TestExamplesAreRight(t *testing.T) {
	commands((&app{}).root(), func(c *cobra.Command) {
		text := strings.ReplaceAll(c.Example, "\\\n", " ")
		for line := range strings.SplitSeq(text, "\n") {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
			require.Equal(t, "ratchet", words[0], line)
			got, _, err := (&app{}).root().Find(words[1:])
			require.NoError(t, err, line)
			require.True(t, got == got.Root() || got.Runnable(), line)
			if c.HasParent() {
				require.True(t, strings.HasPrefix(got.CommandPath(), c.CommandPath()), "%s is an example of %s", line, c.CommandPath())
			}
			for _, w := range words {
				if name, found := strings.CutPrefix(w, "--"); found {
					require.True(t, got.Flags().Lookup(name) != nil || got.InheritedFlags().Lookup(name) != nil, "%s: --%s", line, name)
				}
			}
		}
	})
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	c := newCLI(t)
	commands((&app{}).root(), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		out := c.ok(append(words, "--help")...)
		require.Contains(t, out, "Examples:")
		require.Contains(t, out, strings.TrimSpace(strings.Split(cmd.Example, "\n")[0]))
	})
	require.NoDirExists(t, c.data(), "help touches nothing")
}

func TestCompletion(t *testing.T) {
	c := newCLI(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Contains(t, c.ok("completion", shell), "ratchet")
	}
	out := c.ok("__complete", "campaign", "re")
	for _, word := range []string{"recover", "report", "resume"} {
		require.Contains(t, out, word)
	}
	require.NotContains(t, out, "pause\t")
}

func TestUsageErrors(t *testing.T) {
	c := newCLI(t)
	c.write("bad.yaml", "name: x\nrepo: ./x\nseed: many\n")
	for _, x := range []struct {
		args  string
		texts []string
	}{
		{"frobnicate", []string{`unknown command "frobnicate"`, "ratchet --help"}},
		{"campaing list", []string{`unknown command "campaing"`, "did you mean campaign?"}},
		{"campaign lst", []string{`unknown command "lst" for "ratchet campaign"`, "did you mean list?"}},
		{"version now", []string{`ratchet version takes no argument, got "now"`}},
		{"run", []string{"ratchet run: FILE is missing", "ratchet run --help"}},
		{"run a b", []string{"takes FILE and nothing more", `"b"`}},
		{"benchmark compare a b c", []string{"takes A B and nothing more"}},
		{"benchmark history a b", []string{"takes NAME and nothing more"}},
		{"run x --frob", []string{"unknown flag: --frob", "ratchet run --help"}},
		{"campaign list --data", []string{"flag needs an argument: --data"}},
		{"campaign list --data a#b", []string{"--data", "'#'"}},
		{"run x --dev --detach", []string{"--dev and --detach exclude each other", "ratchet dev"}},
		{"run x --ui-port 9", []string{"--ui-port needs --dev"}},
		{"dev --ui-port 70000", []string{"--ui-port is 70000", "1 to 65535"}},
		{"demo --ui-port -1", []string{"--ui-port is -1"}},
		{"dev --ui-port x", []string{`invalid argument "x" for "--ui-port" flag: give it a whole number (see ratchet dev --help)`}},
		{"dev --ui-port 99999999999999999999", []string{"a whole number, and a smaller one"}},
		{"campaign attempts x --generation many", []string{`"many"`, "give it a whole number"}},
		{"campaign list --json=perhaps", []string{"give it true or false"}},
		{"benchmark run x --rounds 0", []string{"--rounds is 0"}},
		{"aa --trials -1", []string{"--trials is -1"}},
		{"run none.yaml", []string{"campaign file none.yaml", "no such file"}},
		{"validate none.yaml", []string{"campaign file none.yaml", "no such file"}},
		{"iterate none.yaml", []string{"campaign file none.yaml", "no such file"}},
		{"benchmark run none.yaml", []string{"campaign file none.yaml", "no such file"}},
		{"run .", []string{"campaign file ."}},
		{"run bad.yaml", []string{"bad.yaml:3:", "seed"}},
		{"receipt xyz", []string{"find receipt", "hexadecimal"}},
		{"failure publish", []string{"--agent is empty", "--task is empty", "--actual is empty", "failure publish --help"}},
		{"failure publish --agent A! --task t --actual a --severity dire --context {", []string{"--agent", "--severity", "--context"}},
	} {
		t.Run(x.args, func(t *testing.T) { c.in(t).fails(exitUsage, x.texts, strings.Fields(x.args)...) })
	}
}

func TestFlagErrorsNameEachFlagOnce(t *testing.T) {
	r := newCLI(t).run("failure", "publish", "--agent", "A!")
	require.Equal(t, exitUsage, r.code)
	for _, flag := range []string{"--task", "--actual"} {
		require.Equal(t, 1, strings.Count(r.stderr, "\n  "+flag+" "), r.stderr)
	}
	require.NotContains(t, r.stderr, "agent_id")
}

func TestVersion(t *testing.T) {
	c := newCLI(t)
	var v map[string]string
	c.document(&v, "version")
	require.Contains(t, v["go"], "go1.")
	require.NotEmpty(t, v["version"])
	require.Contains(t, v, "commit")
	out := c.ok("version")
	require.Contains(t, out, v["go"])
	require.NotContains(t, strings.TrimSpace(out), "  ")
}

func TestSchemaIsAJSONSchema(t *testing.T) {
	var s struct {
		Schema               string                     `json:"$schema"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties *bool                      `json:"additionalProperties"`
		Type                 string                     `json:"type"`
	}
	require.NoError(t, json.Unmarshal([]byte(newCLI(t).ok("schema")), &s))
	require.Contains(t, s.Schema, "json-schema.org")
	require.Equal(t, "object", s.Type)
	require.Subset(t, s.Required, []string{"name", "repo"})
	require.NotNil(t, s.AdditionalProperties)
	require.False(t, *s.AdditionalProperties)
	for _, key := range []string{
		"name", "repo", "base", "paths", "suites", "sandbox", "proposers", "search", "gate", "budget", "approval", "seed",
	} {
		require.Contains(t, s.Properties, key)
	}
}

func TestAAPrintsOneDocument(t *testing.T) {
	var r struct {
		Suites []struct {
			Name    string   `json:"name"`
			False   *float64 `json:"false_accept_rate"`
			Power   *float64 `json:"power"`
			Rounds  *float64 `json:"mean_rounds"`
			Phantom *float64 `json:"phantom_gain_points"`
		} `json:"suites"`
	}
	newCLI(t).document(&r, "aa", "--trials", "1")
	require.Greater(t, len(r.Suites), 3)
	for _, s := range r.Suites {
		require.NotEmpty(t, s.Name)
		for _, x := range []*float64{s.False, s.Power, s.Rounds, s.Phantom} {
			require.NotNil(t, x, s.Name)
		}
	}
}

func TestInterruptedAA(t *testing.T) {
	r := newCLI(t).runContext(cancelled(t), "aa")
	require.Equal(t, exitInterrupted, r.code)
	require.Equal(t, "ratchet: interrupted\n", r.stderr)
	require.Empty(t, r.stdout)
}
