package campaign

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

// Endpoint is a model server and the terms on which it is used.
type Endpoint struct {
	Name     string    `json:"name" jsonschema:"required" jsonschema_description:"Name of the endpoint in this file, in reports and in messages."`
	Protocol Protocol  `json:"protocol" jsonschema_description:"What the server speaks: openai (vLLM, Ollama and most others) or anthropic."`
	URL      string    `json:"url,omitempty" jsonschema_description:"Base URL, such as http://127.0.0.1:8000/v1. It may be left out for anthropic, whose own address is used then."`
	Model    string    `json:"model" jsonschema:"required" jsonschema_description:"Name of the model, as the server knows it."`
	KeyEnv   string    `json:"key_env,omitempty" jsonschema_description:"Name of the environment variable that holds the API key. The key itself never stands in a file."`
	Context  int       `json:"context,omitempty" jsonschema_description:"Tokens that fit into one call, prompt and answer together; asked of the server when left out."`
	Parallel int       `json:"parallel" jsonschema_description:"Most calls in flight at once; fewer while the server is overloaded."`
	Price    Price     `json:"price" jsonschema_description:"What a million tokens cost, in any one currency; 0 for a server of your own."`
	Deadline Deadlines `json:"deadline" jsonschema_description:"How long a call may take, and its parts."`
}

// Protocol is what a model server speaks.
type Protocol string

const (
	ProtocolOpenAI    Protocol = "openai"
	ProtocolAnthropic Protocol = "anthropic"
)

// Price is the cost of a million tokens of each sort, in any one currency.
type Price struct {
	Input  float64 `json:"input" jsonschema_description:"A million tokens of prompt."`
	Cached float64 `json:"cached,omitempty" jsonschema_description:"A million tokens of prompt that the server had in its cache; as input when left out."`
	Output float64 `json:"output" jsonschema_description:"A million tokens of answer."`
}

// Deadlines bound the parts of one call.
type Deadlines struct {
	FirstToken Duration `json:"first_token" jsonschema_description:"Until the first token has come."`
	Stall      Duration `json:"stall" jsonschema_description:"Between two tokens."`
	Total      Duration `json:"total" jsonschema_description:"The whole call."`
}

// blankEndpoint holds the defaults of an endpoint.
func blankEndpoint() Endpoint {
	return Endpoint{
		Protocol: ProtocolOpenAI, Parallel: 4,
		Deadline: Deadlines{
			FirstToken: Duration(2 * time.Minute), Stall: Duration(45 * time.Second), Total: Duration(10 * time.Minute),
		},
	}
}

// Model says whether a proposer calls a model.
func (p Proposer) Model() bool { return p.Kind == ProposerLLM }

// ID is the proposer's name in attempts, reports and budgets: that of the file,
// else its kind.
func (p Proposer) ID() string {
	if p.Name != "" {
		return p.Name
	}
	return string(p.Kind)
}

// Model says whether any proposer of the campaign calls a model.
func (s Spec) Model() bool { return slices.ContainsFunc(s.Proposers, Proposer.Model) }

// EndpointsOf returns the endpoints of a proposer in its order of preference:
// those that it names, else all.
func (s Spec) EndpointsOf(p Proposer) []Endpoint {
	if !p.Model() || p.Endpoints == nil {
		return s.Endpoints
	}
	var out []Endpoint
	for _, name := range p.Endpoints {
		if i := slices.IndexFunc(s.Endpoints, func(e Endpoint) bool { return e.Name == name }); i >= 0 {
			out = append(out, s.Endpoints[i])
		}
	}
	return out
}

// filled adds the defaults of the proposer's kind to what was not given.
func (p Proposer) filled() Proposer {
	if !p.Model() {
		return p
	}
	if p.Samples == 0 {
		p.Samples = 8
	}
	if p.Temperatures == nil {
		p.Temperatures = []float64{0.2, 0.7, 1}
	}
	if p.MaxTokens == 0 {
		p.MaxTokens = 4096
	}
	if p.PromptTokens == 0 {
		p.PromptTokens = 16384
	}
	return p
}

// fields are the values of the keys that only a proposer with a model has.
func (p Proposer) fields() map[string]bool {
	return map[string]bool{
		"endpoints": p.Endpoints != nil, "samples": p.Samples != 0, "temperatures": p.Temperatures != nil,
		"max_tokens": p.MaxTokens != 0, "prompt_tokens": p.PromptTokens != 0,
	}
}

// reservedNames sign decisions that no proposer and no person makes.
var reservedNames = []string{"ratchet", "evidence", "deadline", "stop"}

func (s Spec) validateProposers(report reporter) {
	for i, p := range s.Proposers {
		key := fmt.Sprintf("proposers[%d]", i)
		if first := slices.IndexFunc(s.Proposers, func(q Proposer) bool { return q.ID() == p.ID() }); first < i {
			report(key, fmt.Sprintf("proposers[%d] has the name %s already", first, quote(p.ID())), "give one of them another name, or remove it")
		}
		if slices.Contains(reservedNames, p.Name) {
			report(key+".name", quote(p.Name)+" is a name of ratchet itself", "choose another")
		}
		if p.Model() {
			s.validateModel(key, p, report)
			continue
		}
		for _, name := range []string{"endpoints", "samples", "temperatures", "max_tokens", "prompt_tokens"} {
			if p.fields()[name] {
				report(key+"."+name, "a proposer of kind "+string(p.Kind)+" calls no model", "remove it, or write kind: llm")
			}
		}
	}
}

// validateModel checks what a proposer that calls a model needs.
func (s Spec) validateModel(key string, p Proposer, report reporter) {
	if len(s.Endpoints) == 0 {
		report(key, "there is no endpoint to call", "add a list endpoints with name, url and model of a model server")
	}
	for j, name := range p.Endpoints {
		if !slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Name == name }) {
			report(fmt.Sprintf("%s.endpoints[%d]", key, j), "there is no endpoint "+quote(name), "name one of the list endpoints")
		}
	}
	for j, t := range p.Temperatures {
		if t < 0 || t > 2 {
			report(fmt.Sprintf("%s.temperatures[%d]", key, j), fmt.Sprintf("%v is out of range", t), "it is from 0 to 2")
		}
	}
	for i, e := range s.Endpoints {
		if e.Context > 0 && e.Context < p.MaxTokens+minPrompt && slices.ContainsFunc(s.EndpointsOf(p), func(x Endpoint) bool { return x.Name == e.Name }) {
			report(fmt.Sprintf("endpoints[%d].context", i), fmt.Sprintf("%d tokens leave no room for a prompt beside max_tokens: %d of %s", e.Context, p.MaxTokens, key),
				"lower max_tokens, or name the model's true context")
		}
	}
}

// minPrompt is the fewest tokens that a prompt needs to say anything.
const minPrompt = 1024

func (s Spec) validateEndpoints(report reporter) {
	priced := false
	for i, e := range s.Endpoints {
		key := fmt.Sprintf("endpoints[%d]", i)
		if first := slices.IndexFunc(s.Endpoints, func(f Endpoint) bool { return f.Name == e.Name }); first < i {
			report(key+".name", fmt.Sprintf("endpoints[%d] has the name %s already", first, quote(e.Name)), "give each endpoint a name of its own")
		}
		priced = priced || e.Price.Input > 0 || e.Price.Output > 0
		e.validate(key, report)
	}
	if s.Budget.Cost > 0 && !priced {
		report("budget.cost", "no endpoint has a price, so the cost can never reach it", "add price: {input: …, output: …} to the endpoints, or use budget.tokens")
	}
	if len(s.Endpoints) > 0 && !s.Model() {
		report("endpoints", "no proposer calls a model", "add - kind: llm to the list proposers")
	}
}

func (e Endpoint) validate(key string, report reporter) {
	if e.URL == "" {
		if e.Protocol == ProtocolOpenAI {
			report(key+".url", "a value is required", "write the server's base URL, such as http://127.0.0.1:8000/v1")
		}
		return
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		report(key+".url", quote(model.RedactAddress(e.URL))+" is not the URL of a server", "write it like http://127.0.0.1:8000/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		report(key+".url", "it holds a user, a password or a query, and campaigns are stored and shown", "put the key into an environment variable and its name into key_env")
	case strings.HasSuffix(u.Path, "/chat/completions") || strings.HasSuffix(u.Path, "/messages"):
		report(key+".url", quote(e.URL)+" names one route", "write the base URL, without "+u.Path[strings.LastIndex(u.Path, "/"):])
	}
}
