package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzJSON expects of valid JSON what encoding/json reads of it.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": "x\ny\u00e9\ud83d\ude00", "b": ["1", {"c": null}], "d": "\\d"}`)
	f.Add(`{"a": ""}`)
	f.Add(`{'a': """x"y""", "b": [1, 2,],}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := (&reader{text: text}).value(0)
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		var want map[string]any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if dec.Decode(&want) != nil || want == nil {
			return
		}
		if err != nil { // deeper than an answer is, a key that comes twice, or """
			require.True(t, strings.Contains(err.Error(), "deep") || strings.Contains(err.Error(), "twice") || strings.Contains(text, `"""`), "%v", err)
			return
		}
		require.Equal(t, plain(want), got)
	})
}

// plain turns numbers and truth values into what the reader makes of them.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, plain(x))
		}
		return out
	case bool:
		if v {
			return "true"
		}
		return "false"
	case json.Number:
		return v.String()
	}
	return v
}
