package llmtest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", " ", "def f(x):\n    return x + 1\n", "größer 日本語", "\xff\xfe a", "  two  spaces ", "🙂🙂"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens := Tokens(s)
		require.Equal(t, s, strings.Join(tokens, ""))
		for _, tok := range tokens {
			require.NotEmpty(t, tok)
			require.LessOrEqual(t, len(tok), 1+max(tokenBytes, utf8.UTFMax))
			require.True(t, !utf8.ValidString(s) || utf8.ValidString(tok))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(true, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`))
	f.Add(false, []byte(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"output_config":{"format":{"type":"json_schema","schema":{}}}}`))
	f.Add(true, []byte(`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`))
	f.Add(false, []byte(`{"messages":null,"response_format":null}`))
	f.Fuzz(func(t *testing.T, openai bool, body []byte) {
		name := map[bool]string{true: OpenAI, false: Anthropic}[openai]
		r, err := parse(name, nil, body)
		if err == nil {
			require.NotEmpty(t, r.Messages)
			require.Equal(t, PromptTokens(r.Messages), r.Prompt)
		}
	})
}

func TestTokens(t *testing.T) {
	require.Equal(t, []string{"def", " f", "(", "x", "):", "\n   ", " retu", "rn", " x"}, Tokens("def f(x):\n    return x"))
}

func TestPrefixCache(t *testing.T) {
	seq := func(n int, tail ...string) []string {
		return append(strings.Split(strings.Repeat("t,", n-1)+"t", ","), tail...)
	}
	c := newPrefixCache(4)
	require.Zero(t, c.lookup(seq(40)))
	c.add(seq(40))
	require.Equal(t, 32, c.lookup(seq(40)), "two whole blocks")
	require.Equal(t, 16, c.lookup(seq(32)), "never the last token")
	require.Equal(t, 32, c.lookup(seq(33)))
	require.Equal(t, 16, c.lookup(seq(16, seq(40, "else")...)[:20]))
	require.Zero(t, c.lookup(append([]string{"other"}, seq(40)...)))
	c.add(append([]string{"other"}, seq(64)...))
	require.Zero(t, c.lookup(seq(40)), "what was used least is gone")
}

func TestSchemaOfEitherProtocol(t *testing.T) {
	openai := []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`)
	r, err := parse(OpenAI, nil, openai)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object"}`, string(r.Schema))
	r, err = parse(Anthropic, nil, []byte(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"hi"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"array"}}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"array"}`, string(r.Schema))
	require.Equal(t, []Message{{"system", "s"}, {"user", "hi"}}, r.Messages)
	_, err = parse(Anthropic, nil, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	require.ErrorContains(t, err, "max_tokens")
	_, err = parse(OpenAI, nil, []byte(`{"model":"m"}`))
	require.ErrorContains(t, err, "messages")
	r, err = parse(Anthropic, nil, []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"t"}}`))
	require.NoError(t, err)
	require.Equal(t, "t", r.Tool)
	require.JSONEq(t, `{"type":"object"}`, string(r.Schema))
}
