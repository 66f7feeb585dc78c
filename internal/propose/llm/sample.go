package llm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/propose/llm/answer"
)

// query is one call of Propose at work.
type query struct {
	cfg     Config
	caller  Caller
	request propose.Request
	prompts *prompts
	limit   int // tokens of a prompt
	schema  llm.Schema
}

// newQuery fills in what a request may leave out, and lets samples ask what it
// names one at a time.
func newQuery(cfg Config, caller Caller, r propose.Request) *query {
	var mu sync.Mutex
	allowed, skip, gate, tree := r.Allowed, r.Skip, r.Gate, r.Tree
	r.Allowed = func(path string) bool {
		mu.Lock()
		defer mu.Unlock()
		return allowed == nil || allowed(path)
	}
	r.Skip = func(key string) bool {
		mu.Lock()
		defer mu.Unlock()
		return skip != nil && skip(key)
	}
	r.Gate = func(c model.Candidate) *patch.Refusal {
		if gate == nil {
			return patch.Gate(tree, c, patch.Policy{})
		}
		mu.Lock()
		defer mu.Unlock()
		return gate(c)
	}
	return &query{cfg: cfg, caller: caller, request: r, schema: answer.Schema()}
}

// outcome is what one sample came to: a candidate, an answer that is none, or an
// error; nothing when there was no room for it.
type outcome struct {
	candidate *model.Candidate
	repaired  bool
	refused   *propose.Refused
	err       error // of a kind that collect knows, or fatal
	exhausted bool
	notes     []string
}

// sample asks one question and has the answer repaired when it cannot be used.
func (q *query) sample(ctx context.Context, i int) outcome {
	var o outcome
	p, got, err := q.ask(ctx, i, &o)
	if err != nil {
		o.fail(i, "was not answered", err)
		return o
	}
	c, fault := q.judge(i, got)
	if fault == nil {
		o.candidate = c
		return o
	}
	o.refused = fault.refused()
	again, err := q.call(ctx, i, 1, p.repair(i, got.Text, fault.what(), fault.words))
	if err != nil {
		if errors.Is(err, llm.ErrContext) {
			err = fmt.Errorf("no room for the repair: %w", err)
		}
		o.fail(i, "was not repaired", err)
		return o
	}
	if c, fault = q.judge(i, again); fault != nil {
		o.refused = fault.refused()
		return o
	}
	o.candidate, o.refused, o.repaired = c, nil, true
	return o
}

// fail notes why a call came to nothing. What came before it is kept.
func (o *outcome) fail(i int, what string, err error) {
	o.notes = append(o.notes, fmt.Sprintf("sample %d %s: %v", i, what, err))
	switch {
	case errors.Is(err, llm.ErrBudget):
		o.exhausted = true
	case errors.Is(err, llm.ErrContext):
	default:
		o.err = err
	}
}

// ask asks the first question, with a smaller prompt as long as it is too long.
func (q *query) ask(ctx context.Context, i int, o *outcome) (*prompt, llm.Answer, error) {
	limit := q.limit
	for shrunk := 0; ; shrunk++ {
		p := q.prompts.of(limit)
		got, err := q.call(ctx, i, 0, p.messages(i))
		if !errors.Is(err, llm.ErrContext) || shrunk == maxShrinks || limit/2 < minPrompt {
			return p, got, err
		}
		o.notes = append(o.notes, fmt.Sprintf("sample %d: a prompt of about %d tokens is too long for the model, asked with half of it", i, tokens(weighAll(p.messages(i)))))
		limit /= 2
	}
}

func weighAll(messages []llm.Message) int {
	n := 0
	for _, m := range messages {
		n += weigh(m.Text) + messageWeight
	}
	return n
}

// call makes the call of a turn. Its key holds a hash of the question: after a
// crash the same question is answered by what was paid for before, and another
// question, such as a smaller prompt, by another call.
func (q *query) call(ctx context.Context, i, turn int, messages []llm.Message) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	r := llm.Request{
		Messages: messages, Schema: &q.schema, MaxTokens: q.cfg.MaxTokens,
		Temperature: q.temperature(i), Seed: q.seed(i),
	}
	return q.caller.Call(ctx, fmt.Sprintf("propose/%s/%d/%d/%s", q.cfg.Name, i, turn, requestHash(r)), r)
}

func requestHash(r llm.Request) string {
	text, err := json.Marshal(r)
	if err != nil {
		// Only numbers that are none cannot be written, and Validate lets none in.
		text = fmt.Appendf(nil, "%v", r)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// temperature climbs the ladder from sample to sample; each generation begins a
// rung higher, so that the same group of problems is not always asked about alike.
func (q *query) temperature(i int) float64 {
	ladder := q.cfg.Temperatures
	return ladder[(i+max(q.request.Brief.Generation-1, 0))%len(ladder)]
}

// seed differs between campaigns, generations and samples. It fits into 31 bits,
// which is what some servers take.
func (q *query) seed(i int) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "seed\x00%d\x00%d\x00%d", q.request.Seed, q.request.Brief.Generation, i))
	return int64(binary.BigEndian.Uint32(sum[:]) >> 1)
}
