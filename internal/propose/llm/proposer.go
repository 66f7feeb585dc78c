package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/llm"
	"ratchet/internal/propose"
	"ratchet/internal/propose/llm/answer"
)

// Name is the name of a proposer that has none of its own.
const Name = "llm"

// Turns is how many calls one sample makes at most: a question, and one repair of
// its answer. Prompts that the server finds too long are answered by no call.
const Turns = 2

const (
	// maxAtOnce bounds the samples under way; the Caller bounds the calls.
	maxAtOnce = 16
	// maxShrinks is how often a prompt that is too long is halved.
	maxShrinks = 3
	// slack is kept free of the window for what the server adds to a prompt besides the schema.
	slack = 64
)

// Config says how a model is asked. The zero value takes the defaults.
type Config struct {
	Name    string // of the proposer; Name by default
	Samples int    // most questions for one generation, without repairs; 8 by default
	// Temperatures are those of the samples in turn; 0.2, 0.7, 1 by default.
	Temperatures []float64
	MaxTokens    int // of one answer; 4096 by default
	PromptTokens int // most of one prompt, repairs included, as estimated; 16384 by default
	// Allow and Deny are the globs of the campaign, told to the model in words;
	// what decides is Request.Allowed.
	Allow, Deny []string
}

func (c Config) withDefaults() (Config, error) {
	c.Name = cmp.Or(c.Name, Name)
	c.Samples = cmp.Or(c.Samples, 8)
	c.MaxTokens = cmp.Or(c.MaxTokens, 4096)
	c.PromptTokens = cmp.Or(c.PromptTokens, 16384)
	if len(c.Temperatures) == 0 {
		c.Temperatures = []float64{0.2, 0.7, 1}
	}
	return c, c.validate()
}

func (c Config) validate() error {
	var errs []error
	say := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("proposer %s: "+format, append([]any{c.Name}, args...)...))
		}
	}
	say(c.Samples < 1, "samples is %d: it is at least 1", c.Samples)
	say(c.MaxTokens < 1, "max_tokens is %d: it is at least 1", c.MaxTokens)
	say(c.PromptTokens < minPrompt, "prompt_tokens is %d: a prompt needs at least %d to say anything", c.PromptTokens, minPrompt)
	for _, t := range c.Temperatures {
		say(!(t >= 0 && t <= 2), "temperature %v: it is from 0 to 2", t)
	}
	return errors.Join(errs...)
}

// Proposer asks a model for edits. It is safe for concurrent use, and
// deterministic for equal requests and equal answers: who answers first does not
// matter. It keeps nothing between calls.
type Proposer struct {
	cfg    Config
	caller Caller
}

var _ propose.Proposer = (*Proposer)(nil)

// New makes a proposer, or says everything that is wrong with the configuration.
func New(cfg Config, caller Caller) (*Proposer, error) {
	cfg, err := cfg.withDefaults()
	if caller == nil {
		err = errors.Join(err, errors.New("proposer "+cfg.Name+": there is nothing that makes its calls"))
	}
	if err != nil {
		return nil, err
	}
	return &Proposer{cfg: cfg, caller: caller}, nil
}

// Name implements propose.Proposer.
func (p *Proposer) Name() string { return p.cfg.Name }

// Bound is how many tokens the prompt and the answer of any one call may have at
// most, as estimated: a model that makes fewer bytes of a token needs more.
func (p *Proposer) Bound() (prompt, answer int) { return p.cfg.PromptTokens, p.cfg.MaxTokens }

// MaxCalls is how many calls that are answered n candidates may need, without
// the reflection on them.
func (p *Proposer) MaxCalls(n int) int { return Turns * max(min(n, p.cfg.Samples), 0) }

// PromptSize is how many tokens the largest first question of a request has, as
// estimated, when the window holds what is configured; 0 when nothing would be asked.
func (p *Proposer) PromptSize(r propose.Request) int {
	n := p.samples(r)
	if n == 0 {
		return 0
	}
	return newPrompts(p.cfg, r, n).of(p.cfg.PromptTokens).size()
}

// samples is how many questions a request is worth. Without a weak problem there
// is nothing that a candidate could be kept for.
func (p *Proposer) samples(r propose.Request) int {
	if len(r.Brief.Weakest) == 0 {
		return 0
	}
	return max(min(r.N, p.cfg.Samples), 0)
}

// Propose implements propose.Proposer. It asks at most min(N, Samples) questions
// at once, each with its own focus, temperature and seed, and has each answer
// repaired at most once. Allowed, Skip and Gate are called by one goroutine at a time.
//
// What came is kept when some samples fail, with a note on each that did. When
// none came the error wraps the kind of internal/llm that the first sample met,
// and a kind that waiting may mend before others. A budget without room is
// no error: Exhausted says so. Neither is a prompt that is too long however much
// it is cut: a note says so.
func (p *Proposer) Propose(ctx context.Context, r propose.Request) (propose.Proposal, error) {
	n := p.samples(r)
	if n == 0 {
		return propose.Proposal{}, nil
	}
	limit, err := p.limit(ctx)
	if err != nil {
		return propose.Proposal{}, err
	}
	q := newQuery(p.cfg, p.caller, r)
	q.limit, q.prompts = limit, newPrompts(p.cfg, q.request, n)
	outcomes := make([]outcome, n)
	var g errgroup.Group
	g.SetLimit(maxAtOnce)
	for i := range n {
		g.Go(func() error {
			outcomes[i] = q.sample(ctx, i)
			return nil
		})
	}
	_ = g.Wait() // outcomes hold the errors
	if err := ctx.Err(); err != nil {
		return propose.Proposal{}, fmt.Errorf("proposer %s: ask for candidates of %s: %w", p.cfg.Name, r.Brief.Repo, err)
	}
	return q.collect(outcomes)
}

// limit is how many tokens a prompt may have beside an answer.
func (p *Proposer) limit(ctx context.Context) (int, error) {
	window, err := p.caller.Window(ctx)
	if err != nil {
		return 0, fmt.Errorf("proposer %s: ask for the window of the model: %w", p.cfg.Name, err)
	}
	limit := min(p.cfg.PromptTokens, window-p.cfg.MaxTokens-slack-tokens(len(answer.Schema().JSON)))
	if limit < minPrompt {
		return 0, fmt.Errorf("proposer %s: the model's window of %d tokens leaves no room for a prompt beside max_tokens: %d: %w (lower max_tokens, or serve the model with a larger context)",
			p.cfg.Name, window, p.cfg.MaxTokens, llm.ErrContext)
	}
	return limit, nil
}
