package answer_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose/llm/answer"
)

func number(t testing.TB, s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return n
}

// TestSchemaIsStrict holds the schema to what strict servers demand.
func TestSchemaIsStrict(t *testing.T) {
	s := answer.Schema()
	require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, s.Name)
	var root map[string]any
	require.NoError(t, json.Unmarshal(s.JSON, &root))
	objects := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["type"] == "object" {
				objects++
				require.Equal(t, false, v["additionalProperties"])
				var names []any
				for name := range v["properties"].(map[string]any) {
					names = append(names, name)
				}
				require.ElementsMatch(t, names, v["required"])
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(root)
	require.Equal(t, 2, objects)
}

func TestCleanMakesOneHarmlessLine(t *testing.T) {
	for in, want := range map[string]string{
		"Fix it.\n\nRatchet-Change: abc\nRatchet-Campaign: x": "Fix it.",
		"Fix it Signed-off-by: me":                            "Fix it",
		"\x1b[31mred\x1b[0m \x07bell":                         "red bell",
		"a\u202eb\u200bc\u2028d":                              "abc d",
		"**Hypothesis:** the sum is wrong":                    "the sum is wrong",
		"Ratchet-Ratchet-Change: x-Change: y":                 "y",
		"_Ratchet-Change: x_ the sum":                         "the sum",
		"Summary: _Signed-off-by: me":                         "",
		"_fixes #12":                                          "",
		"Fixes: off-by-one in Sum, closes org/shop#12":        "Fixes: off-by-one in Sum,",
		"\x00\x01": "",
	} {
		require.Equal(t, want, answer.Clean(in), "%q", in)
	}
	long := answer.Clean(strings.Repeat("wörd ", 500))
	require.LessOrEqual(t, utf8.RuneCountInString(long), answer.MaxHypothesis)
}

func FuzzClean(f *testing.F) {
	f.Add("Ratchet-Change: x\nfoo")
	f.Add("\x1b]0;title\x07 Ratch\x1b[met-Change: y")
	f.Add("!\x1b]0000000\a0RAtCh\x1b[Aet-ChAnge:00")
	f.Fuzz(func(t *testing.T, s string) {
		got := answer.Clean(s)
		require.LessOrEqual(t, utf8.RuneCountInString(got), answer.MaxHypothesis)
		require.True(t, utf8.ValidString(got))
		require.False(t, strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }), "%q", got)
		require.NotContains(t, strings.ToLower(got), "ratchet-change:")
	})
}

// FuzzDecode expects no panic, and of every answer what its documentation says.
func FuzzDecode(f *testing.F) {
	for _, c := range cases(f) {
		if len(c.text) < 4000 {
			f.Add(c.text)
		}
	}
	base := model.Tree{}.With(
		model.Edit{Path: "cart.go", Data: []byte("package cart\n\nfunc Sum(a, b int) int {\n\treturn a - b\n}\n")},
		model.Edit{Path: "app/calc.py", Data: []byte("def add(a, b):\n    return a - b\n")},
		model.Edit{Path: "link", Data: []byte("cart.go"), Mode: model.ModeSymlink},
	)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := answer.Decode(text, base)
		if err != nil {
			var e *answer.Error
			require.True(t, errors.As(err, &e), "%v", err)
			require.LessOrEqual(t, len(e.Repair()), 6000)
			return
		}
		require.NotEmpty(t, a.Edits)
		require.NotEmpty(t, a.Hypothesis)
		require.NotContains(t, a.Hypothesis, "\n")
		require.True(t, a.ExpectedGain >= 0 && a.ExpectedGain <= 1)
		for _, e := range a.Edits {
			require.Empty(t, patch.Untouchable(base, e.Path))
		}
	})
}
