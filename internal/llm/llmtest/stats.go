package llmtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Stats counts calls: requests to /v1/chat/completions and /v1/messages.
type Stats struct {
	Calls    int // that came
	Done     int // that ended, however
	Canceled int // of these, whose caller went away before all was sent
	InFlight int // that came and have not ended
	Peak     int // most that were in flight at once
	Running  int // in flight and being answered
	Waiting  int // in flight, waiting for a slot
	Held     int // in flight, waiting at a Gate

	Prompt, Output int // tokens of calls that were answered, as usage has them
	Queries, Hits  int // tokens that the prefix cache was asked for, and had
}

// Stats is how things stand.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Await waits until the stats are as wanted. It fails when ctx ends before.
func (s *Server) Await(ctx context.Context, ok func(Stats) bool) error {
	for {
		s.mu.Lock()
		stats, changed := s.stats, s.changed
		s.mu.Unlock()
		if ok(stats) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the model server, now %+v: %w", stats, ctx.Err())
		}
	}
}

// Idle waits until no call is in flight.
func (s *Server) Idle(ctx context.Context) error {
	return s.Await(ctx, func(s Stats) bool { return s.InFlight == 0 })
}

// note changes what is counted and wakes who waits for it.
func (s *Server) note(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(change)
}

func (s *Server) noteLocked(change func(*Stats)) {
	change(&s.stats)
	s.stats.Peak = max(s.stats.Peak, s.stats.InFlight)
	close(s.changed)
	s.changed = make(chan struct{})
}

// metrics prints what vLLM's /metrics has of these, in Prometheus' text form.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	stats, usage := s.stats, float64(s.held)/float64(s.cfg.Blocks)
	s.mu.Unlock()
	var b strings.Builder
	print := func(name, kind, help string, value float64) {
		fmt.Fprintf(&b, "# HELP vllm:%[1]s %[2]s\n# TYPE vllm:%[1]s %[3]s\nvllm:%[1]s{engine=\"0\",model_name=%[4]q} %[5]g\n", name, help, kind, s.Model(), value)
	}
	print("num_requests_running", "gauge", "Number of requests in model execution batches.", float64(stats.Running))
	print("num_requests_waiting", "gauge", "Number of requests waiting to be processed.", float64(stats.Waiting))
	print("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", min(usage, 1))
	print("prefix_cache_queries_total", "counter", "Prefix cache queries, in terms of number of queried tokens.", float64(stats.Queries))
	print("prefix_cache_hits_total", "counter", "Prefix cache hits, in terms of number of cached tokens.", float64(stats.Hits))
	print("prompt_tokens_total", "counter", "Number of prefill tokens processed.", float64(stats.Prompt))
	print("generation_tokens_total", "counter", "Number of generation tokens processed.", float64(stats.Output))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
