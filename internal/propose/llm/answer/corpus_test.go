package answer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose/llm/answer"
)

// leastCases only grows: an answer that was seen once is never forgotten.
const leastCases = 262

// answerCase is one file of the corpus.
type answerCase struct {
	name  string
	tree  model.Tree
	text  string
	want  map[string]string // whole contents by path; "" deletes
	other map[string]string // refused, hypothesis, gain, targets, gate
}

func cases(t testing.TB) []answerCase {
	t.Helper()
	names, err := filepath.Glob("testdata/answers/*.txtar")
	require.NoError(t, err)
	var out []answerCase
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		out = append(out, parseCase(t, strings.TrimSuffix(filepath.Base(name), ".txtar"), txtar.Parse(data)))
	}
	return out
}

func parseCase(t testing.TB, name string, a *txtar.Archive) answerCase {
	c := answerCase{name: name, want: map[string]string{}, other: map[string]string{}}
	require.NotEmpty(t, strings.TrimSpace(string(a.Comment)), "%s does not say what it is", name)
	for _, f := range a.Files {
		text := string(f.Data)
		part, isTemplate := strings.CutSuffix(f.Name, ".tmpl")
		if isTemplate {
			text = expand(t, name, strings.TrimSuffix(text, "\n"))
		}
		kind, path, _ := strings.Cut(part, "/")
		switch kind {
		case "tree":
			c.tree = c.tree.With(model.Edit{Path: path, Data: []byte(text)})
		case "link":
			c.tree = c.tree.With(model.Edit{Path: path, Data: []byte(strings.TrimSpace(text)), Mode: model.ModeSymlink})
		case "want":
			c.want[path] = text
		case "gone":
			c.want[path] = ""
		case "answer":
			c.text = text
		case "refused", "hypothesis", "gain", "targets", "gate":
			c.other[kind] = strings.TrimSpace(text)
		default:
			t.Fatalf("%s: unknown part %q", name, f.Name)
		}
	}
	return c
}

// expand writes what a text file cannot hold or should not.
func expand(t testing.TB, name, text string) string {
	var b strings.Builder
	tmpl, err := template.New(name).Delims("⟦", "⟧").Funcs(template.FuncMap{"repeat": func(n int, s string) string { return strings.Repeat(s, n) }}).Parse(text)
	require.NoError(t, err, name)
	require.NoError(t, tmpl.Execute(&b, nil), name)
	return b.String()
}

func TestAnswers(t *testing.T) {
	all := cases(t)
	require.GreaterOrEqual(t, len(all), leastCases, "the corpus only grows")
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			got, err := answer.Decode(c.text, c.tree)
			if refused, ok := c.other["refused"]; ok {
				c.checkRefused(t, err, refused)
				return
			}
			var e *answer.Error
			if errors.As(err, &e) {
				t.Log(e.Repair())
			}
			require.NoError(t, err)
			c.checkAccepted(t, got)
		})
	}
}

func (c answerCase) checkRefused(t *testing.T, err error, refused string) {
	var e *answer.Error
	require.True(t, errors.As(err, &e), "%v", err)
	lines := strings.Split(refused, "\n")
	require.Equal(t, lines[0], string(e.Kind), "%v", e)
	for _, words := range lines[1:] {
		require.Contains(t, e.Error()+"\n"+e.Repair(), strings.TrimSpace(words))
	}
	require.NotEmpty(t, strings.TrimSpace(e.Repair()))
	require.LessOrEqual(t, len(e.Repair()), 6000)
}

func (c answerCase) checkAccepted(t *testing.T, got answer.Answer) {
	require.NotEmpty(t, c.want, "the case says neither what it wants nor that it is refused")
	after := c.tree.With(got.Edits...)
	for path, want := range c.want {
		f, ok := after.Find(path)
		require.Equal(t, want != "", ok, path)
		require.Equal(t, want, string(f.Data), path)
	}
	for _, f := range after.Files {
		if _, named := c.want[f.Path]; !named {
			old, ok := c.tree.Find(f.Path)
			require.True(t, ok, "%s is new", f.Path)
			require.Equal(t, string(old.Data), string(f.Data), f.Path)
		}
	}
	c.checkFields(t, got)
}

func (c answerCase) checkFields(t *testing.T, got answer.Answer) {
	require.NotEmpty(t, got.Hypothesis)
	require.Equal(t, got.Hypothesis, answer.Clean(got.Hypothesis))
	require.GreaterOrEqual(t, got.ExpectedGain, 0.0)
	require.LessOrEqual(t, got.ExpectedGain, 1.0)
	if want, ok := c.other["hypothesis"]; ok {
		require.Equal(t, want, got.Hypothesis)
	}
	if want, ok := c.other["gain"]; ok {
		require.InDelta(t, number(t, want), got.ExpectedGain, 1e-9)
	}
	if want, ok := c.other["targets"]; ok {
		require.Equal(t, strings.Split(want, "\n"), got.Targets)
	}
	policy := patch.Policy{Harness: func(p string) bool { return strings.HasSuffix(p, "_test.go") || strings.HasSuffix(p, "conftest.py") }}
	refusal := patch.Gate(c.tree, model.Candidate{Edits: got.Edits}, policy)
	if want, ok := c.other["gate"]; ok {
		require.NotNil(t, refusal)
		require.Equal(t, want, refusal.Rule)
		return
	}
	require.Nil(t, refusal)
}
