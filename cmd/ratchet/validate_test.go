package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/repo"
)

const okTest = "package clamp\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n"

func TestValidate(t *testing.T) {
	c := newCLI(t)
	commit := c.repository("good.git", "main", module(map[string]string{"clamp.go": "package clamp\n", "clamp_test.go": okTest}))
	file := c.campaign("good", "./good.git")
	var v validation
	c.document(&v, "validate", file)
	require.Equal(t, validation{Valid: true, Campaign: "good", Commit: commit, Problems: 1, Unlisted: []string{}, Errors: v.Errors}, v)
	require.NotNil(t, v.Errors)
	require.Empty(t, v.Errors)
	require.Contains(t, c.ok("validate", file), "good.yaml is valid: campaign good on "+c.dir+"/good.git, 1 problem at "+commit[:10]+" (main)")
	require.NoDirExists(t, c.data(), "validate stores nothing")
}

func TestValidateReportsEverythingAtOnce(t *testing.T) {
	c := newCLI(t)
	c.write("bad.yaml", `name: Not A Name
repo: ./x
seeds: 1
gate: {alpha: 7}
sandbox: {memory: lots}
suites:
  - name: unit
    kind: gotests
`)
	r := c.run("validate", "bad.yaml", "--json")
	require.Equal(t, exitUsage, r.code)
	var v validation
	decodeOne(t, r.stdout, &v)
	require.False(t, v.Valid)
	keys := map[string]bool{}
	for _, e := range v.Errors {
		require.Positive(t, e.Line, e)
		require.Positive(t, e.Col, e)
		require.NotEmpty(t, e.Problem, e)
		keys[e.Key] = true
	}
	for _, key := range []string{"name", "gate.alpha", "sandbox.memory", "suites[0].kind"} {
		require.True(t, keys[key], "%s is missing in %v", key, keys)
	}
	c.fails(exitUsage, []string{"bad.yaml:1:", "bad.yaml:3:", "seed", "bad.yaml:4:", "bad.yaml:5:", "bad.yaml:8:", "gotest"}, "validate", "bad.yaml")
}

// TestBadRepositories: every command that starts from a campaign file refuses
// what no campaign can work on, before anything is stored.
func TestBadRepositories(t *testing.T) {
	c := newCLI(t)
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "plain"), 0o755))
	c.repository("empty.git", "main", nil)
	c.repository("old.git", "master", module(map[string]string{"clamp_test.go": okTest}))
	c.repository("bare.git", "main", module(map[string]string{"clamp.go": "package clamp\n"}))
	c.repository("good.git", "main", module(map[string]string{"clamp_test.go": okTest}))
	worktree(t, filepath.Join(c.dir, "tree"), filepath.Join(c.dir, "good.git"))
	c.write("file", "x")

	for name, x := range map[string]struct {
		repo  string
		more  string
		texts []string
	}{
		"nowhere":  {"./nowhere", "", []string{"git: open " + c.dir + "/nowhere", "no git repository", "there is no such folder"}},
		"plain":    {"./plain", "", []string{"open " + c.dir + "/plain", "no git repository", "git init"}},
		"file":     {"./file", "", []string{c.dir + "/file", "no git repository"}},
		"empty":    {"./empty.git", "", []string{"empty.git", "no commit", "commit something"}},
		"noref":    {"./old.git", "", []string{"read base main of " + c.dir + "/old.git", "no such branch", "the branches are: master"}},
		"nohash":   {"./old.git", "base: deadbeef", []string{"read base deadbeef", "the branches are: master"}},
		"notests":  {"./bare.git", "", []string{"find the problems of suite unit", "no test", "check the suite in the campaign file"}},
		"packages": {"./good.git", `suites: [{name: unit, kind: gotest, packages: ["./inner/..."]}]`, []string{"find the problems of suite unit", "./inner/..."}},
		"subdir":   {"./tree/inner", "", []string{"open " + c.dir + "/tree/inner", "inside the repository " + c.dir + "/tree", "give that path"}},
		"heldout": {"./good.git", "suites: [{name: unit, kind: gotest, heldout: {problems: [TestOne, TestTypo]}}]",
			[]string{"hold out problems of heldout", "no such problem: TestTypo", "correct heldout.problems", "TestOne"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			file := c.campaign(name, x.repo, x.more)
			for _, command := range [][]string{{"run"}, {"run", "--dev"}, {"iterate"}, {"validate"}, {"benchmark", "run"}} {
				c.fails(exitUsage, x.texts, append(command, file)...)
			}
			r := c.run("validate", file, "--json")
			require.Equal(t, exitUsage, r.code)
			var v validation
			decodeOne(t, r.stdout, &v)
			require.False(t, v.Valid)
			require.Len(t, v.Errors, 1)
			require.Contains(t, v.Errors[0].Problem, x.texts[0])
		})
	}
	require.NoDirExists(t, c.data(), "nothing was stored, so each name is free")
}

// worktree lays a work tree with a folder in it round a bare repository.
func worktree(t testing.TB, path, bare string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(path, "inner"), 0o755))
	require.NoError(t, repo.Import(t.Context(), bare, filepath.Join(path, ".git"), repo.ImportOptions{}))
}
