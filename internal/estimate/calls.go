package estimate

import (
	"strconv"

	"ratchet/internal/campaign"
	"ratchet/internal/llm"
)

// Calls is what the calls to models come to, over all generations to run.
type Calls struct {
	Endpoint string `json:"endpoint"` // the preferred one of the first proposer that calls a model
	Calls    Tally  `json:"calls"`
	Prompt   Tally  `json:"prompt_tokens_per_call"` // of the proposer with the longest
	Answer   Tally  `json:"answer_tokens_per_call"`
	Tokens   Tally  `json:"tokens"`
	// Cost is at the prices of each proposer's preferred endpoint.
	Cost Money `json:"cost"`
	// FallbackMost is the bound when every call goes to the proposer's dearest endpoint.
	FallbackMost float64 `json:"cost_most_at_fallbacks"`
	Priced       bool    `json:"priced"` // some endpoint has a price

	// Those of one generation, for the caps.
	GenerationTokens Tally `json:"tokens_per_generation"`
	GenerationCost   Money `json:"cost_per_generation"`
}

// Tally is a number, as guessed and at most.
type Tally struct {
	Likely int64 `json:"likely"`
	Most   int64 `json:"most"`
}

// Money is an amount in the currency of the endpoints' prices.
type Money struct {
	Likely float64 `json:"likely"`
	Most   float64 `json:"most"`
}

const (
	// turns is how many calls one sample makes at most: a question and one repair. It
	// is the proposer's own number, which a test compares: the proposer reads
	// repositories, and what only counts does not import what does input and output.
	turns = 2
	// frame is what a prompt holds besides source: rules, the brief, failures.
	frame = 1500
	// answerShare is the part of max_tokens that an answer is guessed to have.
	answerShare = 3
)

// calls sums up over the proposers. One reflection a generation is asked of the
// first proposer that calls a model.
func calls(f Facts, generations int) *Calls {
	out := &Calls{}
	for _, p := range f.Spec.Proposers {
		if !p.Model() {
			continue
		}
		reflections := 0
		if out.Endpoint == "" {
			out.Endpoint, reflections = f.Spec.EndpointsOf(p)[0].Name, 1
		}
		out.add(f, p, reflections)
	}
	n := int64(generations)
	out.Calls = Tally{n * out.Calls.Likely, n * out.Calls.Most}
	out.Tokens = Tally{n * out.GenerationTokens.Likely, n * out.GenerationTokens.Most}
	out.Cost = Money{float64(n) * out.GenerationCost.Likely, float64(n) * out.GenerationCost.Most}
	out.FallbackMost *= float64(n)
	return out
}

// add counts one generation of a proposer.
func (c *Calls) add(f Facts, p campaign.Proposer, reflections int) {
	endpoints := f.Spec.EndpointsOf(p)
	prompt, answer := perCall(f, p, endpoints[0])
	asked := min(p.Samples, f.Spec.Search.Candidates) // a sample fills one place
	n := Tally{int64(asked + reflections), int64(turns*asked + reflections)}
	c.Calls.Likely, c.Calls.Most = c.Calls.Likely+n.Likely, c.Calls.Most+n.Most
	if prompt.Most > c.Prompt.Most {
		c.Prompt = prompt
	}
	if answer.Most > c.Answer.Most {
		c.Answer = answer
	}
	c.GenerationTokens.Likely += n.Likely * (prompt.Likely + answer.Likely)
	c.GenerationTokens.Most += n.Most * (prompt.Most + answer.Most)
	c.GenerationCost.Likely += float64(n.Likely) * cost(endpoints[0], prompt.Likely, answer.Likely)
	c.GenerationCost.Most += float64(n.Most) * cost(endpoints[0], prompt.Most, answer.Most)
	dearest := 0.0
	for _, e := range endpoints {
		most, reply := perCall(f, p, e)
		dearest = max(dearest, cost(e, most.Most, reply.Most))
		c.Priced = c.Priced || e.Price != campaign.Price{}
	}
	c.FallbackMost += float64(n.Most) * dearest
}

// perCall is the prompt and the answer of one call of a proposer to an endpoint.
func perCall(f Facts, p campaign.Proposer, e campaign.Endpoint) (prompt, answer Tally) {
	prompt.Most, answer.Most = int64(p.PromptTokens), int64(p.MaxTokens)
	if e.Context > 0 {
		prompt.Most = max(0, min(prompt.Most, int64(e.Context-p.MaxTokens)))
	}
	var unknown llm.Calibration // no server has counted yet
	prompt.Likely = min(prompt.Most, frame+unknown.Tokens(int(f.SourceBytes)))
	answer.Likely = (answer.Most + answerShare - 1) / answerShare
	return prompt, answer
}

func cost(e campaign.Endpoint, prompt, answer int64) float64 {
	price := llm.Price{Input: e.Price.Input, Cached: e.Price.Cached, Output: e.Price.Output}
	return price.Cost(llm.Usage{Input: prompt, Output: answer})
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
