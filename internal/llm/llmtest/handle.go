package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

const maxBody = 64 << 20 // bytes of a request

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.healthy)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /v1/models", s.listModels)
	mux.HandleFunc("GET /v1/models/{model...}", s.showModel)
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.call(OpenAI, w, r) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.call(Anthropic, w, r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		down, open := s.enter()
		if !open {
			return
		}
		defer s.handlers.Done()
		if down {
			_ = (&exchange{w: w}).reset()
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// enter begins a handler, unless the server is closed.
func (s *Server) enter() (down, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return s.down, !s.closed
}

func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.WriteHeader(s.health)
}

// speaks is the protocol of a name, or for a list of models that of its caller.
func (s *Server) speaks(name string) protocol {
	if name == Anthropic {
		return anthropic{}
	}
	return openAI{flat: s.cfg.FlatErrors}
}

func (s *Server) lister(w http.ResponseWriter, r *http.Request) (protocol, bool) {
	p := s.speaks(OpenAI)
	if r.Header.Get("Anthropic-Version") != "" {
		p = s.speaks(Anthropic)
	}
	if s.cfg.Key == "" || sentKey(r.Header) == s.cfg.Key {
		return p, true
	}
	writeJSON(w, http.StatusUnauthorized, p.refuse(http.StatusUnauthorized, badKey(Request{Header: r.Header})))
	return p, false
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if p, ok := s.lister(w, r); ok {
		writeJSON(w, http.StatusOK, p.models(s.cfg.Models, s.cfg.Context))
	}
}

func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	p, ok := s.lister(w, r)
	if !ok {
		return
	}
	name := r.PathValue("model")
	if !slices.Contains(s.cfg.Models, name) {
		writeJSON(w, http.StatusNotFound, p.refuse(http.StatusNotFound, noModel(name)))
		return
	}
	writeJSON(w, http.StatusOK, p.model(name, s.cfg.Context))
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encode(v))
}

// call answers one call of a model.
func (s *Server) call(name string, w http.ResponseWriter, r *http.Request) {
	s.note(func(t *Stats) { t.Calls++; t.InFlight++ })
	gone := 1
	defer func() { s.note(func(t *Stats) { t.Done++; t.InFlight--; t.Canceled += gone }) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	p := s.speaks(name)
	q, reply := s.decide(name, r.Header, body)
	x := &exchange{ctx: r.Context(), w: w, bytewise: reply.bytewise}
	err = s.reply(x, p, q, reply)
	if err == nil || errors.Is(err, errHangUp) {
		gone = 0
	}
	if err != nil {
		panic(http.ErrAbortHandler) // else the response would get an end in good form
	}
}

// decide notes the call and what it is to be answered, in the order of arrival.
func (s *Server) decide(name string, header http.Header, body []byte) (*Request, Reply) {
	q, err := parse(name, header, body)
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	script := s.script
	q.N = len(s.log)
	s.log = append(s.log, &q)
	s.mu.Unlock()

	reply, refused := s.refuse(q, err)
	verdict := "refused by the server: " + reply.name
	if !refused {
		// Without the lock: a script may look at the server.
		reply = script.Decide(q)
		verdict = reply.name
	}
	s.note(func(*Stats) { q.Reply = verdict })
	return &q, reply
}

// refuse has what the server itself does not accept.
func (s *Server) refuse(q Request, err error) (Reply, bool) {
	switch {
	case s.cfg.Key != "" && q.Key() != s.cfg.Key:
		return Unauthorized(), true
	case err != nil:
		return Status(http.StatusBadRequest, err.Error()), true
	case !slices.Contains(s.cfg.Models, q.Model):
		return NoModel(), true
	case q.Prompt >= s.cfg.Context || q.Prompt+q.MaxTokens > s.cfg.Context:
		return ContextLength(s.cfg.Context), true
	}
	return Reply{}, false
}

// reply sends a reply. Its error is why not all was sent.
func (s *Server) reply(x *exchange, p protocol, q *Request, r Reply) error {
	if err := s.hold(x.ctx, r.gate); err != nil {
		return err
	}
	for k, v := range r.header {
		x.w.Header()[k] = v
	}
	st := r.status
	if !q.Stream && r.plain != nil {
		st = r.plain
	}
	switch {
	case r.reset:
		return x.reset()
	case r.silent:
		return x.stall()
	case st != nil:
		return x.refuse(p, *q, st)
	}
	return s.answer(x, p, q, r)
}

func (s *Server) hold(ctx context.Context, g *Gate) error {
	if g == nil {
		return nil
	}
	s.note(func(t *Stats) { t.Held++ })
	defer s.note(func(t *Stats) { t.Held-- })
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer takes a slot, computes the answer and sends it.
func (s *Server) answer(x *exchange, p protocol, q *Request, r Reply) error {
	if err := s.takeSlot(x.ctx); err != nil {
		return err
	}
	sequence := Tokens(template(q.Messages))
	blocks := (len(sequence) + blockSize - 1) / blockSize
	s.begin(q, sequence, blocks)
	limit := s.cfg.Context - q.Prompt
	if q.MaxTokens > 0 {
		limit = min(limit, q.MaxTokens)
	}
	a := r.answer(*q, limit)
	a.id = fmt.Sprintf("chatcmpl-%d", q.N)
	err := x.send(p, q, r, a)
	if !x.plain && x.sent < len(a.chunks) { // what is not streamed is computed whole
		a.chunks = a.chunks[:x.sent]
		a.output = CountTokens(join(a.chunks))
	}
	s.end(a, append(sequence, Tokens(join(a.chunks))...), blocks)
	return err
}

func (s *Server) takeSlot(ctx context.Context) error {
	s.note(func(t *Stats) { t.Waiting++ })
	defer s.note(func(t *Stats) { t.Waiting-- })
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin counts the prompt and looks it up in the cache, which holds it from now on.
func (s *Server) begin(q *Request, sequence []string, blocks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.Cached = s.cache.lookup(sequence)
	s.cache.add(sequence)
	s.held += blocks
	s.noteLocked(func(t *Stats) {
		t.Running++
		t.Prompt += q.Prompt
		t.Queries += q.Prompt
		t.Hits += q.Cached
	})
}

func (s *Server) end(a answer, sequence []string, blocks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	<-s.slots
	s.cache.add(sequence)
	s.held -= blocks
	s.noteLocked(func(t *Stats) { t.Running--; t.Output += a.output })
}
