package imports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

func TestThisModule(t *testing.T) {
	found, err := Check(root)
	require.NoError(t, err)
	for _, v := range found {
		t.Error(v)
	}
}

// TestViolationsAreFound runs the linter on a module that breaks each kind of rule.
func TestViolationsAreFound(t *testing.T) {
	found, err := Check(filepath.Join("testdata", "module"))
	require.NoError(t, err)
	var got []string
	for _, v := range found {
		require.NotEmpty(t, v.Why)
		got = append(got, strings.TrimPrefix(v.Package, Module+"/")+" → "+v.Import)
	}
	require.Equal(t, []string{
		"benchmarks → ratchet/sandbox/docker",
		"internal/patch → github.com/anthropics/anthropic-sdk-go",
		"internal/patch → github.com/openai/openai-go/v3",
		"internal/patch → go.temporal.io/sdk/workflow",
		"internal/patch → ratchet/sandbox",
		"internal/stranger → ",
		"sandbox → github.com/docker/docker/client",
		"sandbox → go.temporal.io/server/temporal",
		"workers → ratchet/cmd/ratchet",
		"workflows → net/http",
		"workflows → os",
		"workflows → ratchet/internal/stranger",
		"workflows → ratchet/sandbox",
	}, got)
}

func TestEveryFolderInTheRulesHasARule(t *testing.T) {
	known := map[string]bool{All: true}
	for _, r := range Rules() {
		require.False(t, known[r.From], "%s has two rules", r.From)
		known[r.From] = true
	}
	check := func(list []string) {
		for _, folder := range list {
			require.True(t, known[folder], folder)
		}
	}
	check(everyone)
	for _, r := range Rules() {
		check(r.To)
		check(r.Not)
	}
	for _, r := range Restrictions() {
		check(r.Only)
	}
}

// TestDocumentation keeps the table in docs/architecture.md equal to the rules.
func TestDocumentation(t *testing.T) {
	const begin, end = "<!-- imports: begin -->\n", "<!-- imports: end -->"
	data, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(data), begin)
	require.True(t, ok, "docs/architecture.md has no line %q", begin)
	table, _, ok := strings.Cut(after, end)
	require.True(t, ok, "docs/architecture.md has no line %q", end)
	require.Equal(t, Markdown(), table, "print this between the two lines of docs/architecture.md:\n%s", Markdown())
}

func TestCheckMissingFolder(t *testing.T) {
	_, err := Check(filepath.Join(t.TempDir(), "gone"))
	require.ErrorContains(t, err, "lint imports: go list in")
}
