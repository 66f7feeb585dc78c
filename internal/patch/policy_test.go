package patch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// What programs outside of the sandbox obey on sight is not reached by patterns that
// only happen to match it.
func TestObeyedOnSight(t *testing.T) {
	for name, c := range map[string]struct {
		allow []string
		path  string
		may   bool
	}{
		"a pipeline, nothing said":           {nil, ".github/workflows/ci.yml", false},
		"a pipeline, all allowed":            {[]string{"**"}, ".github/workflows/ci.yml", false},
		"a pipeline by its ending":           {[]string{"**/*.yml"}, ".github/workflows/ci.yml", false},
		"a program among pipelines":          {[]string{"**/*.py"}, ".github/scripts/build.py", false},
		"a pipeline, named":                  {[]string{"**", ".github/**"}, ".github/workflows/ci.yml", true},
		"a pipeline, named by another glob":  {[]string{"**", ".github/workflows/release.yml"}, ".github/workflows/ci.yml", false},
		"in other letters":                   {[]string{"**"}, ".GitHub/workflows/ci.yml", false},
		"one file":                           {[]string{"**"}, ".gitlab-ci.yml", false},
		"one file, named":                    {[]string{".gitlab-ci.yml"}, ".gitlab-ci.yml", true},
		"git's settings":                     {[]string{"**"}, "deep/down/.gitattributes", false},
		"git's settings, named everywhere":   {[]string{"**/.gitattributes"}, "deep/down/.gitattributes", true},
		"modules of git":                     {[]string{"**"}, ".gitmodules", false},
		"hooks":                              {[]string{"**"}, ".husky/pre-commit", false},
		"tasks of an editor":                 {[]string{"**"}, ".vscode/tasks.json", false},
		"what a shell reads on the way":      {[]string{"**"}, "sub/.envrc", false},
		"a name that only begins like it":    {[]string{"**"}, ".githubber/x", true},
		"ignored files harm nobody":          {[]string{"**"}, ".gitignore", true},
		"an ordinary file":                   {[]string{"**"}, "src/main.go", true},
		"two of them, of which one is named": {[]string{"**", ".github/**"}, ".github/.envrc", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := patch.Policy{Allow: c.allow}
			require.Equal(t, c.may, p.Allowed(c.path))
			r := patch.Gate(model.Tree{}, model.Candidate{Edits: []model.Edit{{Path: c.path, Data: []byte("text that is new\n")}}}, p)
			if !c.may {
				require.NotNil(t, r)
				require.Equal(t, patch.RuleDenied, r.Rule)
			}
		})
	}
	require.False(t, patch.Policy{Allow: []string{".github/**"}, Deny: []string{"**/*.yml"}}.Allowed(".github/ci.yml"), "deny wins")
}
