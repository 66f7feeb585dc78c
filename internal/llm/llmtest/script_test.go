package llmtest_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"ratchet/internal/llm/llmtest"
)

func copyTo(w io.Writer, r *http.Response) (int64, error) { return io.Copy(w, r.Body) }

func texts(s llmtest.Script, prompts ...string) []string {
	var out []string
	for _, p := range prompts {
		r := s.Decide(llmtest.Request{Messages: []llmtest.Message{{Role: "system", Text: "you mend"}, {Role: "user", Text: p}}})
		out = append(out, r.Text+"/"+r.Name())
	}
	return out
}

func TestScripts(t *testing.T) {
	a, b := llmtest.Say("a"), llmtest.Say("b")
	require.Equal(t, []string{"a/answer", "b/answer", "b/answer"}, texts(llmtest.Queue(a, b), "", "", ""))
	require.Equal(t, []string{"a/answer", "a/answer", "b/answer"}, texts(llmtest.Queue(append(llmtest.Repeat(2, a), b)...), "", "", ""))
	require.Equal(t, []string{"a/answer", "/reset", "a/answer", "/reset"}, texts(llmtest.Every(2, llmtest.Reset(), a), "", "", "", ""))
	require.Equal(t, []string{"/unscripted"}, texts(llmtest.Queue(), ""))

	rules := llmtest.First(
		llmtest.When("mend", "x.py").Then(llmtest.Queue(a, b)),
		llmtest.When("y.py").And(llmtest.When("again").Not()).Then(llmtest.Func(func(r llmtest.Request) llmtest.Reply { return llmtest.Say(r.Last()) })),
	)
	require.Equal(t, []string{"a/answer", "y.py/answer", "b/answer", "/unscripted"}, texts(rules, "x.py", "y.py", "x.py", "y.py again"))
	require.Equal(t, []string{"b/answer"}, texts(llmtest.First(llmtest.Otherwise(b)), "whatever"))
}

func TestGateAndPeak(t *testing.T) {
	gate := llmtest.NewGate()
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Hold(gate, llmtest.Say("ok")), Slots: 2})
	var wg sync.WaitGroup
	answers := make([]said, 5)
	for i := range answers {
		wg.Go(func() { answers[i] = openAIStream(bounded(t), s, "hello") })
	}
	require.NoError(t, s.Await(bounded(t), func(s llmtest.Stats) bool { return s.Held == 5 }))
	require.Zero(t, s.Stats().Running, "what is held takes no slot")
	gate.Open()
	gate.Open()
	wg.Wait()
	for _, a := range answers {
		require.NoError(t, a.err)
		require.Equal(t, "ok", a.text)
	}
	require.NoError(t, s.Idle(bounded(t)))
	require.Equal(t, llmtest.Stats{Calls: 5, Done: 5, Peak: 5}, forget(s.Stats()))
}

func TestMetricsCountTruly(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Slots: 1, Script: llmtest.Queue(llmtest.Say("ok"), llmtest.Stall("ok ok ok", 1))})
	prompt := strings.Repeat("some words of a prompt ", 30)
	first := openAIStream(bounded(t), s, prompt)
	require.NoError(t, first.err)
	require.NoError(t, s.Idle(bounded(t)))
	tokens := float64(first.input)
	require.Equal(t, map[string]float64{
		"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0,
		"vllm:prefix_cache_queries_total": tokens, "vllm:prefix_cache_hits_total": 0,
		"vllm:prompt_tokens_total": tokens, "vllm:generation_tokens_total": float64(first.output),
	}, scrape(t, s))

	for range 2 {
		go openAIStream(t.Context(), s, prompt)
	}
	require.NoError(t, s.Await(bounded(t), func(s llmtest.Stats) bool { return s.Running == 1 && s.Waiting == 1 }))
	got := scrape(t, s)
	require.EqualValues(t, 1, got["vllm:num_requests_running"])
	require.EqualValues(t, 1, got["vllm:num_requests_waiting"])
	require.Positive(t, got["vllm:kv_cache_usage_perc"])
	require.InDelta(t, 2*tokens, got["vllm:prefix_cache_queries_total"], 0)
	require.InDelta(t, tokens-1, got["vllm:prefix_cache_hits_total"], 16, "all but the last block")

	cut := llmtest.Start(t, llmtest.Config{Script: llmtest.Truncated(text)})
	require.Error(t, openAIStream(bounded(t), cut, prompt).err)
	require.NoError(t, cut.Idle(bounded(t)))
	require.Equal(t, (llmtest.CountTokens(text)+1)/2, cut.Stats().Output, "what was computed, and no more")
}

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, s *llmtest.Server) map[string]float64 {
	t.Helper()
	r, err := http.Get(s.URL() + "/metrics")
	require.NoError(t, err)
	defer r.Body.Close()
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(r.Body)
	require.NoError(t, err)
	out := map[string]float64{}
	for name, f := range families {
		m := f.GetMetric()[0]
		out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return out
}
