package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/propose/llm/answer"
)

const (
	maxHypothesis = 400 // weight
	maxReason     = 1000
)

// fault says why an answer is no candidate.
type fault struct {
	key        string
	hypothesis string
	reason     string // for people
	words      string // for the model
	cut        bool   // the answer broke off at its limit
	tried      bool   // it is a candidate, but an old one
}

func (f *fault) refused() *propose.Refused {
	return &propose.Refused{Key: f.key, Hypothesis: f.hypothesis, Reason: line(f.reason, maxReason)}
}

// what says in our words what the model should do about it.
func (f *fault) what() string {
	switch {
	case f.cut:
		return "It was longer than allowed and broke off: write a shorter one. The reason:"
	case f.tried:
		return "This change was tried before on these files: write a different one. The reason:"
	}
	return "Mend the answer, not the idea, unless the reason says that the idea is not allowed. The reason:"
}

// judge makes a candidate of an answer, or says what is wrong with it. A panic over
// one costs that answer: it is stored, so that the whole proposal would end in the
// same panic each time that it is tried again.
func (q *query) judge(i int, got llm.Answer) (c *model.Candidate, f *fault) {
	defer func() {
		if p := recover(); p != nil {
			c, f = nil, &fault{key: answerKey(got.Text), reason: fmt.Sprintf("ratchet could not read it: panic: %v", p), words: unreadable}
		}
	}()
	return q.read(i, got)
}

const unreadable = "it could not be read"

func (q *query) read(i int, got llm.Answer) (*model.Candidate, *fault) {
	key := answerKey(got.Text)
	a, err := answer.Decode(got.Text, q.request.Tree)
	if got.Cut && !closed(got.Text) && !declined(err) {
		// Whatever can be read of it may lack its second half.
		return nil, &fault{key: key, reason: brokeOff, words: brokeOff, cut: true}
	}
	if err != nil {
		return nil, &fault{key: key, reason: err.Error(), words: repairWordsOf(err)}
	}
	c := q.candidate(i, a)
	f := &fault{key: key, hypothesis: c.Hypothesis}
	if f.reason = q.objection(c); f.reason == "" {
		return &c, nil
	}
	f.words = f.reason
	f.tried = strings.HasPrefix(f.reason, triedBefore)
	return nil, f
}

// closed says whether an answer that was cut off had said everything before: it is
// one object, and that has the list of all edits. An object that is one edit may be
// the first of several.
func closed(text string) bool {
	var whole struct{ Edits *json.RawMessage }
	return json.Unmarshal([]byte(text), &whole) == nil && whole.Edits != nil
}

// declined says whether an answer was the model's refusal, which some servers mark
// like what they end themselves.
func declined(err error) bool {
	var e *answer.Error
	return errors.As(err, &e) && e.Kind == answer.Refusal
}

const brokeOff = "the answer broke off, at its limit of tokens or because the server ended it"

const triedBefore = "duplicate: "

// objection says why edits that can be read must not be handed in, or nothing.
func (q *query) objection(c model.Candidate) string {
	for _, e := range c.Edits {
		if !q.request.Allowed(e.Path) {
			return (&patch.Refusal{Rule: patch.RuleDenied, Path: e.Path, Why: "the campaign does not allow changes to it"}).String()
		}
	}
	if r := q.leaked(c); r != nil {
		return r.String()
	}
	if r := q.request.Gate(c); r != nil {
		return r.String()
	}
	if q.request.Skip(c.Key) {
		return triedBefore + "this change was tried before on this tree"
	}
	return ""
}

// leaked refuses files into which the model copied what only the prompt has.
func (q *query) leaked(c model.Candidate) *patch.Refusal {
	for _, e := range c.Edits {
		old, _ := q.request.Tree.Find(e.Path)
		for _, mark := range []string{gapMark, fenceBegin, fenceEnd} {
			if bytes.Count(e.Data, []byte(mark)) > bytes.Count(old.Data, []byte(mark)) {
				return &patch.Refusal{Rule: patch.RuleBoilerplate, Path: e.Path, Why: fmt.Sprintf("it holds %q, which belongs to the prompt and not to the file", mark)}
			}
		}
	}
	return nil
}

// repairWordsOf is what a model should be told of an answer that cannot be read.
func repairWordsOf(err error) string {
	var r interface{ Repair() string }
	if errors.As(err, &r) {
		return r.Repair()
	}
	return err.Error()
}

// answerKey identifies an answer that is no candidate by its words: the key of
// its edits may be that of a candidate that was tried.
func answerKey(text string) string {
	sum := sha256.Sum256([]byte("answer\x00" + strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:16])
}

func (q *query) candidate(i int, a answer.Answer) model.Candidate {
	return model.Candidate{
		Key: patch.Key(a.Edits, q.request.Tree), Proposer: q.cfg.Name, Edits: a.Edits,
		Hypothesis: hypothesis(a), ExpectedGain: gain(a.ExpectedGain), Targets: q.targets(i, a),
	}
}

// hypothesis is the model's sentence as one clean line, else what it changes.
func hypothesis(a answer.Answer) string {
	if h := line(a.Hypothesis, maxHypothesis); h != "" {
		return h
	}
	paths := make([]string, len(a.Edits))
	for i, e := range a.Edits {
		paths[i] = e.Path
	}
	return line("a change of "+strings.Join(paths, ", "), maxHypothesis)
}

// gain is what a model claims, from 0 to 1.
func gain(claimed float64) float64 {
	if !(claimed > 0) {
		return 0
	}
	return min(claimed, 1)
}

// targets are those weak problems that the model names, else those that run what
// it edits, else those that it was pointed at: a model that names none may well
// have mended something else that it was shown.
func (q *query) targets(i int, a answer.Answer) []string {
	out := q.known(a.Targets)
	if len(out) == 0 {
		out = q.known(q.running(a.Edits))
	}
	if len(out) == 0 {
		out = slices.Clone(q.prompts.foci[i].targets())
	}
	slices.Sort(out)
	return out
}

// known are the first of some problems that are weak ones.
func (q *query) known(ids []string) []string {
	var out []string
	for _, id := range ids {
		if q.weak(id) && !slices.Contains(out, id) && len(out) < maxTargets {
			out = append(out, id)
		}
	}
	return out
}

// running are the problems that run suspicious code in the files of some edits, the
// most suspicious first.
func (q *query) running(edits []model.Edit) []string {
	var out []string
	for _, s := range mostSuspicious(q.request.Brief.Suspects) {
		if slices.ContainsFunc(edits, func(e model.Edit) bool { return e.Path == s.File }) {
			out = append(out, s.Problems...)
		}
	}
	return out
}

func (q *query) weak(id string) bool {
	for _, w := range q.request.Brief.Weakest {
		if w.Problem == id {
			return true
		}
	}
	return false
}
