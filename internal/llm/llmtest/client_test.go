package llmtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"ratchet/internal/llm/llmtest"
)

// said is what an official client made of a reply.
type said struct {
	text, finish                  string
	input, cached, output, chunks int64
	err                           error
	status                        int
}

// client asks a server by an official client, without retries.
type client func(ctx context.Context, s *llmtest.Server, prompt string) said

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func openAIClient(s *llmtest.Server) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.V1()), option.WithAPIKey("sk-right"), option.WithMaxRetries(0))
}

func openAIParams(s *llmtest.Server, prompt string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: s.Model(), Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage(prompt)},
		Seed: openai.Int(7), Temperature: openai.Float(0.5), MaxCompletionTokens: openai.Int(512),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

func openAIStream(ctx context.Context, s *llmtest.Server, prompt string) said {
	c := openAIClient(s)
	st := c.Chat.Completions.NewStreaming(ctx, openAIParams(s, prompt))
	defer st.Close()
	var out said
	for st.Next() {
		chunk := st.Current()
		out.chunks++
		for _, choice := range chunk.Choices {
			out.text += choice.Delta.Content + choice.Delta.Refusal
			out.finish += choice.FinishReason
		}
		out.input += chunk.Usage.PromptTokens
		out.cached += chunk.Usage.PromptTokensDetails.CachedTokens
		out.output += chunk.Usage.CompletionTokens
	}
	return out.failed(st.Err())
}

func openAIPlain(ctx context.Context, s *llmtest.Server, prompt string) said {
	c := openAIClient(s)
	p := openAIParams(s, prompt)
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	r, err := c.Chat.Completions.New(ctx, p)
	if err != nil {
		return said{}.failed(err)
	}
	out := said{input: r.Usage.PromptTokens, cached: r.Usage.PromptTokensDetails.CachedTokens, output: r.Usage.CompletionTokens}
	for _, choice := range r.Choices {
		out.text += choice.Message.Content + choice.Message.Refusal
		out.finish += choice.FinishReason
	}
	return out
}

func anthropicParams(s *llmtest.Server, prompt string) sdk.MessageNewParams {
	return sdk.MessageNewParams{
		Model: sdk.Model(s.Model()), MaxTokens: 512, Temperature: sdk.Float(0.5),
		System:   []sdk.TextBlockParam{{Text: "be brief"}},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock(prompt))},
	}
}

func anthropicClient(s *llmtest.Server) sdk.Client {
	return sdk.NewClient(anthropicoption.WithBaseURL(s.URL()), anthropicoption.WithAPIKey("sk-right"), anthropicoption.WithMaxRetries(0))
}

func anthropicStream(ctx context.Context, s *llmtest.Server, prompt string) said {
	c := anthropicClient(s)
	st := c.Messages.NewStreaming(ctx, anthropicParams(s, prompt))
	defer st.Close()
	var m sdk.Message
	n := int64(0)
	for st.Next() {
		n++
		if err := m.Accumulate(st.Current()); err != nil {
			return said{}.failed(err)
		}
	}
	out := fromMessage(m)
	out.chunks = n
	return out.failed(st.Err())
}

func anthropicPlain(ctx context.Context, s *llmtest.Server, prompt string) said {
	c := anthropicClient(s)
	m, err := c.Messages.New(ctx, anthropicParams(s, prompt))
	if err != nil {
		return said{}.failed(err)
	}
	return fromMessage(*m)
}

func fromMessage(m sdk.Message) said {
	out := said{finish: string(m.StopReason), input: m.Usage.InputTokens + m.Usage.CacheReadInputTokens, cached: m.Usage.CacheReadInputTokens, output: m.Usage.OutputTokens}
	for _, b := range m.Content {
		out.text += b.Text
	}
	return out
}

func (s said) failed(err error) said {
	s.err = err
	var o *openai.Error
	var a *sdk.Error
	switch {
	case errors.As(err, &o):
		s.status = o.StatusCode
	case errors.As(err, &a):
		s.status = a.StatusCode
	}
	return s
}

var clients = map[string]client{
	"openai/stream": openAIStream, "openai/plain": openAIPlain, "anthropic/stream": anthropicStream, "anthropic/plain": anthropicPlain,
}

// each runs a test with every client.
func each(t *testing.T, test func(t *testing.T, protocol string, stream bool, ask client)) {
	t.Helper()
	for name, ask := range clients {
		t.Run(name, func(t *testing.T) {
			protocol, how, _ := strings.Cut(name, "/")
			test(t, protocol, how == "stream", ask)
		})
	}
}

func TestOfficialClientsReadAnswers(t *testing.T) {
	const text = "def f(x):\n    return \"größer als\" + x  # 日本語\n"
	each(t, func(t *testing.T, protocol string, stream bool, ask client) {
		s := llmtest.Start(t, llmtest.Config{Key: "sk-right", Script: llmtest.Say(text)})
		prompt := strings.Repeat("mend the function f, please. ", 40)
		got := ask(bounded(t), s, prompt)
		require.NoError(t, got.err)
		require.Equal(t, text, got.text)
		require.Equal(t, map[string]string{llmtest.OpenAI: "stop", llmtest.Anthropic: "end_turn"}[protocol], got.finish)

		messages := []llmtest.Message{{Role: "system", Text: "be brief"}, {Role: "user", Text: prompt}}
		require.EqualValues(t, llmtest.PromptTokens(messages), got.input)
		require.EqualValues(t, llmtest.CountTokens(text), got.output)
		require.Zero(t, got.cached)
		if stream {
			require.Greater(t, got.chunks, got.output, "each token is a chunk")
		}

		again := ask(bounded(t), s, prompt)
		require.NoError(t, again.err)
		require.Equal(t, got.input, again.input)
		require.Positive(t, again.cached)
		require.Less(t, again.cached, again.input)

		r := s.Requests()[1]
		require.Equal(t, llmtest.Request{
			N: 1, Protocol: protocol, Model: s.Model(), Messages: messages, Temperature: r.Temperature, Seed: r.Seed, MaxTokens: 512,
			Stream: stream, Usage: r.Usage, Prompt: int(got.input), Cached: int(again.cached), Header: r.Header, Body: r.Body, Reply: "answer",
		}, r)
		require.InDelta(t, 0.5, *r.Temperature, 0)
		require.Equal(t, "sk-right", r.Key())
		if protocol == llmtest.OpenAI {
			require.EqualValues(t, 7, *r.Seed)
		}
	})
}

// TestForcedTools checks that a text that can be a tool's input is one where a tool
// is forced.
func TestForcedTools(t *testing.T) {
	const input = `{"edits": ["größer \"x\""], "n": 2}`
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Queue(llmtest.Say(input), llmtest.Say(input), llmtest.Say("no object"))})
	c := anthropicClient(s)
	p := anthropicParams(s, "hello")
	p.Tools = []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{Name: "answer", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}}}}}
	p.ToolChoice = sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: "answer"}}

	m, err := c.Messages.New(bounded(t), p)
	require.NoError(t, err)
	require.Equal(t, sdk.StopReasonToolUse, m.StopReason)
	require.JSONEq(t, input, string(m.Content[0].Input))

	st := c.Messages.NewStreaming(bounded(t), p)
	var streamed sdk.Message
	for st.Next() {
		require.NoError(t, streamed.Accumulate(st.Current()))
	}
	require.NoError(t, st.Err())
	require.Equal(t, sdk.StopReasonToolUse, streamed.StopReason)
	require.Equal(t, input, string(streamed.Content[0].Input))

	m, err = c.Messages.New(bounded(t), p)
	require.NoError(t, err)
	require.Equal(t, "no object", m.Content[0].Text)
	require.Equal(t, "answer", s.Requests()[2].Tool)
}

func TestUnknownParameters(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.First(
		llmtest.Sends("seed").Then(llmtest.UnknownParameter("seed")), llmtest.Otherwise(llmtest.Say("ok")),
	)})
	got := openAIStream(bounded(t), s, "hello")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, raw(got.err), "Unsupported parameter: 'seed'")
	require.NoError(t, anthropicStream(bounded(t), s, "hello").err, "which sends none")
}

func TestOfficialClientsListModels(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Key: "sk-right", Models: []string{"small", "large"}, Context: 4096})
	o := openAIClient(s)
	page, err := o.Models.List(bounded(t))
	require.NoError(t, err)
	require.Len(t, page.Data, 2)
	require.Equal(t, "small", page.Data[0].ID)
	require.Equal(t, "4096", page.Data[0].JSON.ExtraFields["max_model_len"].Raw())

	a := anthropicClient(s)
	one, err := a.Models.Get(bounded(t), "large", sdk.ModelGetParams{})
	require.NoError(t, err)
	require.EqualValues(t, 4096, one.MaxInputTokens)
	list, err := a.Models.List(bounded(t), sdk.ModelListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)

	_, err = a.Models.Get(bounded(t), "missing", sdk.ModelGetParams{})
	require.Equal(t, http.StatusNotFound, said{}.failed(err).status)
	_, err = o.Models.List(bounded(t), option.WithAPIKey("sk-wrong-0123456789"))
	require.Equal(t, http.StatusUnauthorized, said{}.failed(err).status)
	require.Zero(t, s.Stats().Calls, "only calls of a model count")
}

func TestServerChecksBeforeTheScript(t *testing.T) {
	each(t, func(t *testing.T, protocol string, _ bool, ask client) {
		never := llmtest.Func(func(llmtest.Request) llmtest.Reply {
			t.Error("the script was asked")
			return llmtest.Say("no")
		})
		s := llmtest.Start(t, llmtest.Config{Key: "sk-other", Script: never})
		got := ask(bounded(t), s, "hello")
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Contains(t, raw(got.err), "sk-right", "a careless server repeats the key")

		s = llmtest.Start(t, llmtest.Config{Context: 600, Script: never})
		got = ask(bounded(t), s, strings.Repeat("word ", 500))
		require.Equal(t, http.StatusBadRequest, got.status)
		require.Contains(t, raw(got.err), map[string]string{
			llmtest.OpenAI:    "This model's maximum context length is 600 tokens. However, you requested ",
			llmtest.Anthropic: "input length and `max_tokens` exceed context limit: ",
		}[protocol])
	})
}

func raw(err error) string {
	var o *openai.Error
	var a *sdk.Error
	switch {
	case errors.As(err, &o):
		return o.RawJSON()
	case errors.As(err, &a):
		return a.RawJSON()
	}
	return ""
}
