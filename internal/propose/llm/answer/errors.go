package answer

import (
	"errors"
	"strings"

	"ratchet/internal/llm/quality"
	"ratchet/internal/patch/lenient"
)

// Kind says why an answer is no candidate.
type Kind string

// Kinds of error.
const (
	Empty         Kind = "empty"          // no edits, or nothing at all
	Short         Kind = "short"          // a few words
	Refusal       Kind = "refusal"        // the model declines
	Boilerplate   Kind = "boilerplate"    // stock phrases
	BareFence     Kind = "bare fence"     // code that does not say where it belongs
	NotUnderstood Kind = "not understood" // no form that is known
	DoesNotApply  Kind = "does not apply" // the edits do not fit the files
	BadPath       Kind = "bad path"       // a path that no candidate may touch, or none
	Elided        Kind = "elided"         // lines stand for code that was left out
	Truncated     Kind = "truncated"      // it breaks off
	TooLarge      Kind = "too large"      // over a limit
)

// Error says why an answer is no candidate.
type Error struct {
	Kind   Kind
	Detail string
	Hint   string
	Patch  *lenient.Error // what did not fit, where the edits are at fault
}

func (e *Error) Error() string {
	s := "answer: " + string(e.Kind)
	if e.Patch != nil {
		return s + ": " + e.Patch.Error()
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) Unwrap() error {
	if e.Patch == nil {
		return nil
	}
	return e.Patch
}

// maxRepair bounds what Repair returns, in bytes.
const maxRepair = 6000

// Repair is what a model needs to know in order to mend its answer, at most 6 KB.
// It quotes the repository and the model: whoever puts it into a prompt must mark
// it as data, never as instructions.
func (e *Error) Repair() string {
	var b strings.Builder
	b.WriteString(advice[e.Kind] + "\n")
	switch {
	case e.Patch != nil:
		b.WriteString(strings.TrimPrefix(e.Patch.Error(), "patch: ") + "\n" + e.Patch.Quote())
	case e.Detail != "":
		b.WriteString(e.Detail + "\n")
	}
	if e.Patch == nil && e.Hint != "" {
		b.WriteString(e.Hint + "\n")
	}
	s := strings.ToValidUTF8(b.String(), "?")
	if len(s) > maxRepair {
		s = strings.ToValidUTF8(s[:maxRepair], "")
	}
	return s
}

var advice = map[Kind]string{
	Empty:         "The answer has no edits. Give at least one.",
	Short:         "The answer is too short to be one. Give the edits in the form that was asked for.",
	Refusal:       "The answer declines. The task is to mend this repository's own code; give the edits, or the smallest change that helps.",
	Boilerplate:   "The answer is stock phrases. Give the edits in the form that was asked for.",
	BareFence:     "The code does not say where it belongs. Give edits, each with path, search and replace.",
	NotUnderstood: "The answer could not be read. Give one JSON object in the form that was asked for, and nothing else.",
	DoesNotApply:  "The edits do not fit the files; none was applied. Give the whole answer again with this mended:",
	BadPath:       "An edit is for a path that cannot be edited. Use paths from the root of the repository.",
	Elided:        "Lines stand for code that was left out. Write every line of the new code.",
	Truncated:     "The answer breaks off. Give it again and shorter, with small edits.",
	TooLarge:      "The answer is too large. Give small edits.",
}

func wrap(err error) error {
	var p *lenient.Error
	if errors.As(err, &p) {
		return fromPatch(p)
	}
	return err
}

func fromPatch(p *lenient.Error) *Error {
	e := &Error{Kind: DoesNotApply, Patch: p}
	switch p.Kind {
	case lenient.KindNone, lenient.KindPartial, lenient.KindSyntax, lenient.KindUnsupported:
		e.Kind = NotUnderstood
	case lenient.KindPath:
		e.Kind = BadPath
	case lenient.KindElided:
		e.Kind = Elided
	case lenient.KindTruncated:
		e.Kind = Truncated
	case lenient.KindLimit:
		e.Kind = TooLarge
	}
	return e
}

func fromQuality(r *quality.Reason) *Error {
	kinds := map[string]Kind{
		quality.Empty: Empty, quality.Short: Short, quality.Refusal: Refusal,
		quality.Boilerplate: Boilerplate, quality.BareFence: BareFence,
	}
	return &Error{Kind: kinds[r.Gate], Detail: r.Detail}
}
