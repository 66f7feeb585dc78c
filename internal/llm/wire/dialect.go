package wire

import (
	"context"
	"errors"
	"net/http"

	"ratchet/internal/llm"
)

// Feature is a part of a request of which servers may know other forms, or none.
// Its forms are numbered from the best, 0, to the last.
type Feature struct {
	Name   string
	Last   int
	Schema bool // it carries the schema: requests without one have the last form
}

// Forms is the form of each feature in one request.
type Forms map[string]int

// Dialect is how a protocol puts a request to one endpoint.
type Dialect struct {
	Config   llm.BackendConfig
	Scrub    llm.Scrubber
	Features []Feature // in the order in which they are blamed for a refusal
	// Blames says whether a fault is that a feature is not taken in its form.
	Blames func(f Fault, feature string) bool
	// Attempt sends a request in some forms and reads the answer.
	Attempt func(*Call, llm.Request, Forms) (llm.Answer, error)
}

// Call is a call of that name. Its deadlines are those of w.
func (d *Dialect) Call(op string, w *Watch) *Call {
	return &Call{Op: op, Config: d.Config, Scrub: d.Scrub, Watch: w}
}

// Complete streams one answer, as llm.Backend does. A request that the server
// refuses for a feature is sent again in the next form of it, within the same
// deadlines; what was learned is kept.
func (d *Dialect) Complete(ctx context.Context, r llm.Request, token func()) (llm.Answer, error) {
	w := NewWatch(ctx, d.Config.Endpoint, token)
	defer w.Stop()
	for {
		call := d.Call("complete", w)
		call.Bytes = r.Bytes()
		forms := d.forms(r)
		answer, err := d.Attempt(call, r, forms)
		if err == nil {
			return call.Answer(answer), nil
		}
		if !d.learn(forms, err) {
			return llm.Answer{}, call.Fail(err)
		}
	}
}

func (d *Dialect) forms(r llm.Request) Forms {
	out := Forms{}
	for _, f := range d.Features {
		out[f.Name] = min(d.Config.Learned.Form(f.Name), f.Last)
		if f.Schema && r.Schema == nil {
			out[f.Name] = f.Last
		}
	}
	return out
}

// learn finds the feature for which a request was refused, and says whether the
// request may be sent again in another form.
func (d *Dialect) learn(used Forms, err error) bool {
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity || refusal.Fault.Overflow() {
		return false
	}
	for _, f := range d.Features {
		if used[f.Name] < f.Last && d.Blames(refusal.Fault, f.Name) {
			d.Config.Learned.Refused(f.Name, used[f.Name])
			return true
		}
	}
	return false
}
