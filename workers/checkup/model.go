package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/internal/llm"
)

// models are one check for each endpoint of the file, or one that says why there is none.
func (c *checkup) models() []doctor.Check {
	if f, skip := c.noFile(); skip {
		return []doctor.Check{c.check("model", quick, func(context.Context) doctor.Finding { return f })}
	}
	if len(c.Spec.Endpoints) == 0 {
		return []doctor.Check{c.check("model", quick, func(context.Context) doctor.Finding {
			return doctor.Skip("if it should, add endpoints and a proposer of kind llm", "the campaign calls no model")
		})}
	}
	var list []doctor.Check
	for _, e := range c.Spec.Endpoints {
		list = append(list, doctor.Check{
			Name: "model " + e.Name, Limit: modelLimit, Late: hangs + ", or allow more with --timeout",
			Probe: func(ctx context.Context) doctor.Finding { return c.model(ctx, e) },
		})
	}
	return list
}

// model asks a server for its model and for one token.
func (c *checkup) model(ctx context.Context, e campaign.Endpoint) doctor.Finding {
	if e.KeyEnv != "" && c.Getenv(e.KeyEnv) == "" {
		return doctor.Fail("export "+e.KeyEnv+"=… with the key of the server", "the environment variable %s is not set", e.KeyEnv)
	}
	pool, err := llm.NewPool(llm.PoolConfig{Backends: c.Backends, Getenv: c.Getenv})
	if err != nil {
		return failed(err, "this is a defect of ratchet: report it")
	}
	defer pool.Close()
	client, err := pool.Client([]llm.Endpoint{endpoint(e)})
	if err != nil {
		return ofInput(failed(err, "correct endpoint "+e.Name+" in the campaign file"))
	}
	state := client.Check(ctx)[0]
	if state.Err != nil {
		return refused(e, state.Err)
	}
	answer, err := client.Probe(ctx, 0)
	if err != nil {
		return refused(e, err)
	}
	return c.answered(e, state.Info, answer)
}

func endpoint(e campaign.Endpoint) llm.Endpoint {
	return llm.Endpoint{
		Name: e.Name, Protocol: string(e.Protocol), URL: e.URL, Model: e.Model, KeyEnv: e.KeyEnv, Context: e.Context, Parallel: e.Parallel,
		Price:      llm.Price{Input: e.Price.Input, Cached: e.Price.Cached, Output: e.Price.Output},
		FirstToken: e.Deadline.FirstToken.Std(), Stall: e.Deadline.Stall.Std(), Total: e.Deadline.Total.Std(),
	}
}

const hangs = "the server hangs or is still loading its model: look at its log"

// refused says of a server that did not answer what to do.
func refused(e campaign.Endpoint, err error) doctor.Finding {
	key := "give it a key: add key_env with the name of the environment variable that holds it"
	if e.KeyEnv != "" {
		key = "correct the key in the environment variable " + e.KeyEnv
	}
	f := failed(err, "look at the server's log")
	for _, x := range []struct {
		kind error
		hint string
		file bool
	}{
		{context.DeadlineExceeded, hangs + ", or allow more with --timeout", false},
		{llm.ErrAuth, key, false},
		{llm.ErrNoModel, "correct model or url of endpoint " + e.Name + ", or start the server with this model", true},
		{llm.ErrUnavailable, "start the server, or correct url of endpoint " + e.Name + ": " + e.URL, false},
		{llm.ErrDeadline, hangs + ", or raise the deadline of endpoint " + e.Name, false},
		{llm.ErrOverloaded, "wait, or lower parallel of endpoint " + e.Name, false},
		{llm.ErrMalformed, "correct protocol or url of endpoint " + e.Name, true},
		{llm.ErrRequest, "correct protocol or model of endpoint " + e.Name, true},
	} {
		if errors.Is(err, x.kind) {
			f.Hint, f.Input = x.hint, x.file
			break
		}
	}
	if own := hintOf(err); errors.Is(err, llm.ErrNoModel) && own != "" {
		f.Found += "; " + own // which models there are
	}
	return f
}

// answered compares what the server has with what the file asks of it.
func (c *checkup) answered(e campaign.Endpoint, info llm.ModelInfo, a llm.Answer) doctor.Finding {
	said := fmt.Sprintf("%s answers, first token after %s", e.Model, a.FirstToken.Round(time.Millisecond))
	window := info.Context
	switch {
	case e.Context > 0 && window > 0 && e.Context > window:
		return ofInput(doctor.Fail("lower context of endpoint "+e.Name, "%s; context is %d in the file, %d at the server", said, e.Context, window))
	case e.Context > 0:
		window = e.Context
	case window == 0:
		return doctor.Warn("write context of endpoint "+e.Name+" into the campaign file", "%s; the server does not say how long its context is, and %d tokens are assumed", said, llm.DefaultWindow)
	}
	if p, short := c.tooShort(e, window); short {
		return ofInput(doctor.Fail(fmt.Sprintf("lower max_tokens of proposer %s, or serve the model with a longer context", p.ID()),
			"%s; its context of %d tokens leaves no room for a prompt beside %d of answer", said, window, p.MaxTokens))
	}
	return doctor.Fine("%s, context %d tokens", said, window)
}

// leastPrompt is the fewest tokens with which a prompt says anything.
const leastPrompt = 1024

// tooShort finds a proposer whose answers leave no room for a prompt.
func (c *checkup) tooShort(e campaign.Endpoint, window int) (campaign.Proposer, bool) {
	for _, p := range c.Spec.Proposers {
		of := slices.ContainsFunc(c.Spec.EndpointsOf(p), func(x campaign.Endpoint) bool { return x.Name == e.Name })
		if p.Model() && of && p.MaxTokens+leastPrompt > window {
			return p, true
		}
	}
	return campaign.Proposer{}, false
}
