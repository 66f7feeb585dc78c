package lenient

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const withBody = "def f(x):\n    y = x\n    for i in y:\n        x += i\n    return x\n"

// Whatever a model writes in place of code that it leaves out, the code stays.
func TestLinesThatTellOfOmittedCode(t *testing.T) {
	for _, mark := range []string{
		"# ... rest of code ...", "# existing code", "# rest of the function", "# rest", "# unchanged", "# (unchanged)", "# ...", "...", "…", "# ⋮", "# . . .",
		"# no changes", "# No changes here", "# [existing code]", "# <unchanged>", "# {existing code}", "# --- existing code ---", "#existing code", "## same",
		"pass  # existing code", "...  # rest of function", "# function body remains the same", "# existing implementation", "# existing imports", "# ... truncated ...",
		"# etc.", "# and so on", "# Keep the rest of the file as it was", "# your code here", "# Insert your existing code here", "# ... lines 12-16 ...", "# 5 lines omitted",
		"# continue as before", "# loop unchanged", "# omitted for brevity", "# Everything else stays the same", "# (other methods)", "# same as original", "# original code here",
		"# keep the loop", "# see above, unchanged", "# previous code", "if x: ...", "y = x  # ... rest of the code unchanged", "y = x  # rest of the code", "for i in x:  # existing code", "# reste du code inchangé", "# restlicher Code", "# остальной код без изменений", "# 既存のコード", "# (f unchanged)", "# sum calculation unchanged", "# The parse_row method remains the same.", "# [...]", "# 其余代码不变", "# 省略", "# ... 其他代码 ...", `"""... existing code ..."""`, "... existing code ...", "<existing code>",
	} {
		base := model.Tree{}.With(model.Edit{Path: "f.py", Data: []byte(withBody)})
		_, err := Replacements(base, []Replacement{{Path: "f.py", Search: withBody, Replace: "def f(x):\n    " + mark + "\n    return x + 1\n"}})
		require.True(t, isKind(err, KindElided), "%s: %v", mark, err)
	}
}

// A comment that says something of the program is one, whatever goes beside it, and
// where nothing goes, nothing can be lost.
func TestCommentsThatStandForNothing(t *testing.T) {
	for _, mark := range []string{
		"# existing users keep their password", "# the rest of the bytes", "# keep the sign", "# unchanged prices need no rounding", "# same length, other order of keys",
		"# continue with the next row", "# other is never None", "# skip empty lines of input", "# no change of state", "# the original value wins", "pass", "x = 1  # same sign",
		"(other)", "[rest]", "return other", "self.rest = rest", "...)]", "y = x  # unchanged", "y = x  # the rest of it is later", "y = x[1:]  # skip", "# 3.14", "# the price is unchanged", "# the order stays the same", "# balance unchanged", "#", "# ---",
	} {
		base := model.Tree{}.With(model.Edit{Path: "f.py", Data: []byte(withBody)})
		want := "def f(x):\n    " + mark + "\n    return x + 1\n"
		got, err := Replacements(base, []Replacement{{Path: "f.py", Search: withBody, Replace: want}})
		require.NoError(t, err, mark)
		require.Equal(t, want, string(got[0].Data))
	}
	base := model.Tree{}.With(model.Edit{Path: "f.py", Data: []byte(withBody)})
	for _, mark := range []string{"# unchanged", "# your code here", "# existing code"} {
		_, err := Replacements(base, []Replacement{{Path: "f.py", Search: "    y = x", Replace: "    y = list(x)\n    " + mark}})
		require.NoError(t, err, mark)
		_, err = Replacements(base, []Replacement{{Path: "new.py", Replace: "def g():\n    " + mark + "\n    return 1\n"}})
		require.NoError(t, err, mark)
	}
}
