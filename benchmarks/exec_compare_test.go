package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

func TestCompareOutput(t *testing.T) {
	for name, c := range map[string]struct {
		how       Compare
		want, got string
		tolerance float64
		diff      string // part of what is said, empty when equal
	}{
		"exact":                           {CompareExact, "a\nb\n", "a\nb\n", 0, ""},
		"exact, newline missing":          {CompareExact, "a\n", "a", 0, `line 2: want "", and the output ends`},
		"exact, space":                    {CompareExact, "a", "a ", 0, `line 1: want "a", got "a "`},
		"exact, more":                     {CompareExact, "a", "a\nb", 0, `line 2: got "b"`},
		"exact, bytes":                    {CompareExact, "\xff", "\xfe", 0, `want "\xff"`},
		"trimmed":                         {CompareTrimmed, "a\n b\n", "\na \r\n b\t\n\n\n", 0, ""},
		"trimmed, indented":               {CompareTrimmed, " a", "a", 0, "line 1"},
		"trimmed, inner line":             {CompareTrimmed, "a\nb", "a\n\nb", 0, "line 2"},
		"trimmed, empty":                  {CompareTrimmed, "", "\n \n", 0, ""},
		"trimmed, nothing":                {CompareTrimmed, "a", "", 0, "ends before it"},
		"numeric":                         {CompareNumeric, "x 1.0 2", "x  1.0000000001\n2.0", 1e-9, ""},
		"numeric, too far":                {CompareNumeric, "1.0", "1.1", 0.01, `word 1: want "1.0", got "1.1"`},
		"numeric, relative":               {CompareNumeric, "1e9", "1.0000001e9", 1e-6, ""},
		"numeric, absolute":               {CompareNumeric, "0", "1e-7", 1e-6, ""},
		"numeric, word":                   {CompareNumeric, "x 1", "y 1", 1, "word 1"},
		"numeric, fewer":                  {CompareNumeric, "1 2", "1", 1, "want 2 words, got 1"},
		"numeric, NaN":                    {CompareNumeric, "NaN", "nan", 0, ""},
		"numeric, NaN for 1":              {CompareNumeric, "1", "nan", 9e99, "word 1"},
		"numeric, Inf":                    {CompareNumeric, "inf", "+Inf", 0, ""},
		"numeric, minus Inf":              {CompareNumeric, "inf", "-inf", 9e99, "word 1"},
		"numeric, Inf for 1":              {CompareNumeric, "1", "inf", 9e99, "word 1"},
		"numeric, beyond":                 {CompareNumeric, "1e400", "2e400", 1, "word 1"},
		"numeric, huge equal":             {CompareNumeric, "1e400", "1e400", 0, ""},
		"json":                            {CompareJSON, `{"a":[1,null,true],"b":"x"}`, ` {"b":"x", "a":[1.0,null,true]} `, 1e-9, ""},
		"json, missing key":               {CompareJSON, `{"a":1,"b":2}`, `{"a":1}`, 0, `$: the key "b" is missing`},
		"json, more keys":                 {CompareJSON, `{"a":1}`, `{"a":1,"b":2}`, 0, `the key "b" is not expected`},
		"json, deep":                      {CompareJSON, `{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`, 0, "$.a[0].b: want 1, got 2"},
		"json, length":                    {CompareJSON, `[1,2]`, `[1]`, 0, "want 2 elements, got 1"},
		"json, type":                      {CompareJSON, `1`, `"1"`, 1, `want 1, got "1"`},
		"json, null":                      {CompareJSON, `null`, `0`, 1, "want null, got 0"},
		"json, tolerance":                 {CompareJSON, `100`, `101`, 0.02, ""},
		"json, big":                       {CompareJSON, `12345678901234567890`, `12345678901234567891`, 0.1, "want 12345678901234567890"},
		"json, big equal":                 {CompareJSON, `12345678901234567890`, `12345678901234567890`, 0, ""},
		"numeric, big, written otherwise": {CompareNumeric, "+0012345678901234567890", "12345678901234567890", 0, ""},
		"numeric, big, another sign":      {CompareNumeric, "-12345678901234567890", "12345678901234567890", 0, "word 1"},
		"numeric, too big for a float":    {CompareNumeric, strings.Repeat("9", 4<<20), "0" + strings.Repeat("9", 4<<20), 0, ""},
		"numeric, too big, unequal":       {CompareNumeric, strings.Repeat("9", 4<<20), strings.Repeat("9", 4<<20) + "8", 1, "word 1"},
		"json, no JSON":                   {CompareJSON, `1`, `one`, 0, "no JSON"},
		"json, empty":                     {CompareJSON, `1`, ``, 0, "no JSON"},
		"json, two values":                {CompareJSON, `1`, `1 1`, 0, "something follows"},
		"json, deep nest":                 {CompareJSON, `1`, strings.Repeat("[", 100000), 0, "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			k := execCase{compare: c.how, tolerance: c.tolerance, expected: []byte(c.want)}
			got := k.compareOutput([]byte(c.got))
			if c.diff == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.diff)
			}
		})
	}
}

func TestJudgeCase(t *testing.T) {
	c := execCase{compare: CompareTrimmed, expected: []byte("ok"), exit: 0}
	for name, k := range map[string]struct {
		o    sandbox.Outcome
		want model.Outcome
		says string
	}{
		"pass":          {sandbox.Outcome{Stdout: []byte("ok\n")}, model.Pass, ""},
		"wrong":         {sandbox.Outcome{Stdout: []byte("no"), Stderr: []byte("trace")}, model.Fail, "trace\nline 1"},
		"exit":          {sandbox.Outcome{Stdout: []byte("ok"), ExitCode: 1}, model.Fail, "exit status 1, want 0"},
		"cut":           {sandbox.Outcome{Stdout: []byte("ok"), Truncated: true}, model.Fail, "more than"},
		"time":          {sandbox.Outcome{Stdout: []byte("ok"), TimedOut: true, Signal: "killed", ExitCode: -1}, model.Timeout, "timeout"},
		"memory":        {sandbox.Outcome{Stdout: []byte("ok"), OutOfMemory: true, ExitCode: -1}, model.OutOfMemory, ""},
		"signal":        {sandbox.Outcome{Stdout: []byte("ok"), Signal: "killed", ExitCode: -1}, model.Crashed, ""},
		"early and mum": {sandbox.Outcome{}, model.Fail, "ends before it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.judge("cli/a", k.o)
			require.Equal(t, k.want, outcomes(t, []model.Result{r})["cli/a"])
			require.Contains(t, r.Message, k.says)
		})
	}
	c.exit = 3
	require.Equal(t, model.Pass, c.judge("x", sandbox.Outcome{Stdout: []byte("ok"), ExitCode: 3}).Outcome)
	require.Equal(t, model.Fail, c.judge("x", sandbox.Outcome{Stdout: []byte("ok")}).Outcome)
}

// Comparing never fails on what was printed, and every text equals itself.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e3,"x"]}`), []byte("1 nan inf"))
	f.Fuzz(func(t *testing.T, want, got []byte) {
		for _, how := range []Compare{CompareExact, CompareTrimmed, CompareNumeric, CompareJSON} {
			c := execCase{compare: how, tolerance: 1e-9, expected: want}
			_ = c.compareOutput(got)
			if same := c.compareOutput(want); same != "" && how != CompareJSON {
				t.Fatalf("%s: %q differs from itself: %s", how, want, same)
			}
		}
	})
}
