// Package answer reads what a model answers when it is asked for a candidate:
// JSON in whatever wrapping, search and replace blocks, or a diff in prose. It
// takes nothing half: an answer whose edits do not all apply is refused with the
// words that a model needs in order to mend it.
package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/llm"
	"ratchet/internal/llm/quality"
	"ratchet/internal/model"
	"ratchet/internal/patch/lenient"
)

// Answer is a candidate as a model wrote it. Its edits apply to the tree it was
// read against; whether they are allowed and worth anything is for patch.Gate.
type Answer struct {
	Hypothesis   string   // one line, printable, at most MaxHypothesis runes, never empty
	ExpectedGain float64  // in score over all problems, 0..1; 0 when the model did not say
	Targets      []string // problem ids as the model writes them: they may not exist
	Edits        []model.Edit
	Notes        []string // what was read into the answer, for people
}

// MaxText is the longest answer that is read, in bytes.
const MaxText = 2 << 20

// Schema returns the form of an answer. It suits servers that demand closed
// objects with every property required: what is unused is an empty string or list.
func Schema() llm.Schema {
	return llm.Schema{Name: "ratchet_candidate", JSON: json.RawMessage(schema)}
}

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["hypothesis", "expected_gain", "targets", "edits", "diff"],
  "properties": {
    "hypothesis": {"type": "string", "description": "One sentence that a person can check: what is wrong, where, and why the edit mends it."},
    "expected_gain": {"type": "number", "description": "Gain in score over all problems, from 0 to 1."},
    "targets": {"type": "array", "items": {"type": "string"}, "description": "Ids of the problems that should improve."},
    "edits": {
      "type": "array",
      "description": "Edits that apply together. Empty when diff is used.",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["path", "search", "replace"],
        "properties": {
          "path": {"type": "string", "description": "Path from the root of the repository."},
          "search": {"type": "string", "description": "Whole lines copied from the file, enough of them to occur there exactly once. Empty for a new file."},
          "replace": {"type": "string", "description": "The lines that take their place, indented as the file is. Empty to delete them."}
        }
      }
    },
    "diff": {"type": "string", "description": "A unified diff instead of edits, otherwise empty."}
  }
}`

// Decode reads an answer to a question about tree. Errors are *Error. The text
// must be whole: an answer that a token limit cut off (llm.Answer.Cut) can end
// where nothing shows it. Decode is pure and safe for concurrent use.
func Decode(text string, tree model.Tree) (Answer, error) {
	if len(text) > MaxText {
		return Answer{}, &Error{Kind: TooLarge, Detail: fmt.Sprintf("the answer has %d bytes, at most %d are read", len(text), MaxText)}
	}
	said, err := final(text)
	if err != nil {
		return Answer{}, err
	}
	found := objects(said)
	if found.unfinished {
		return Answer{}, &Error{Kind: Truncated, Detail: "its JSON breaks off"}
	}
	if a, ok := found.choose(); ok {
		out, err := a.build(tree, said)
		if err == nil && beside(tree, said, out.Edits) {
			err = &Error{Kind: NotUnderstood, Detail: "beside its JSON it holds a patch for another file", Hint: "give one object with all edits in it"}
		}
		if err != nil {
			return Answer{}, err
		}
		return out, nil
	}
	edits, err := lenient.Text(tree, said)
	if err == nil {
		return finish(draft{}, edits, said)
	}
	return Answer{}, unusable(said, found, err)
}

// beside says whether a text holds a patch, too, for a file that some edits leave
// alone: without it they would be half of what was meant.
func beside(tree model.Tree, said string, edits []model.Edit) bool {
	more, err := lenient.Text(tree, said)
	return err == nil && slices.ContainsFunc(more, func(m model.Edit) bool {
		return !slices.ContainsFunc(edits, func(e model.Edit) bool { return e.Path == m.Path })
	})
}

// unusable says why a text without usable JSON is no answer. Only one that holds
// no patch is judged by its words.
func unusable(said string, found scan, err error) error {
	var p *lenient.Error
	if errors.As(err, &p) && p.Kind != lenient.KindNone && p.Kind != lenient.KindPartial {
		return fromPatch(p)
	}
	if found.broken != nil {
		return &Error{Kind: NotUnderstood, Detail: "its JSON cannot be read: " + found.broken.Error()}
	}
	if why := quality.Check(said); why != nil {
		return fromQuality(why)
	}
	if p != nil && p.Kind == lenient.KindPartial {
		return fromPatch(p)
	}
	if len(found.values) > 0 {
		return &Error{Kind: Empty, Detail: "its JSON holds no edits"}
	}
	return &Error{Kind: NotUnderstood, Detail: "there are neither edits nor a diff in it"}
}

// build applies the edits of a draft.
func (d draft) build(tree model.Tree, said string) (Answer, error) {
	if d.err != nil {
		return Answer{}, d.err
	}
	edits, err := d.edits(tree)
	if err != nil {
		return Answer{}, wrap(err)
	}
	return finish(d, edits, said)
}

// edits applies what the draft holds. When it says the same thing twice, as
// records and as a diff, both must mean the same.
func (d draft) edits(tree model.Tree) ([]model.Edit, error) {
	var ways [][]model.Edit
	var first error
	try := func(edits []model.Edit, err error) {
		if err == nil {
			ways = append(ways, edits)
		} else if first == nil {
			first = err
		}
	}
	if len(d.records) > 0 {
		records, err := d.whole(tree)
		if err != nil {
			return nil, err
		}
		try(lenient.Replacements(tree, records))
	}
	if strings.TrimSpace(d.diff) != "" {
		if edits, err := lenient.Diff(tree, d.diff); err == nil || len(ways) == 0 || !isRemark(d.diff, err) {
			try(edits, err)
		}
	}
	switch {
	case first != nil:
		return nil, first
	case len(ways) == 0:
		return nil, &Error{Kind: Empty, Detail: "its JSON holds no edits"}
	case len(ways) == 2 && !sameFiles(tree, ways[0], ways[1]):
		return nil, &Error{Kind: DoesNotApply, Detail: "its edits and its diff do different things", Hint: "give one of both"}
	}
	return ways[0], nil
}

// isRemark says whether what stands in the place of a diff is a word such as "N/A".
func isRemark(diff string, err error) bool {
	var p *lenient.Error
	return errors.As(err, &p) && p.Kind == lenient.KindNone && !strings.Contains(strings.TrimSpace(diff), "\n") && len(diff) <= maxRemark
}

// maxRemark is the longest remark, in bytes.
const maxRemark = 100

func sameFiles(tree model.Tree, a, b []model.Edit) bool {
	x, y := tree.With(a...), tree.With(b...)
	if len(x.Files) != len(y.Files) {
		return false
	}
	for i := range x.Files {
		if x.Files[i].Path != y.Files[i].Path || string(x.Files[i].Data) != string(y.Files[i].Data) {
			return false
		}
	}
	return true
}

// finish makes an answer of edits that apply.
func finish(d draft, edits []model.Edit, said string) (Answer, error) {
	a := Answer{Hypothesis: Clean(d.hypothesis), ExpectedGain: d.gain, Targets: d.targets, Edits: edits}
	if a.Hypothesis == "" {
		if a.Hypothesis = Clean(sentence(said)); a.Hypothesis != "" {
			a.Notes = append(a.Notes, "the hypothesis is taken from the prose")
		}
	}
	if a.Hypothesis == "" {
		a.Hypothesis = Clean("Edit of " + paths(edits))
		a.Notes = append(a.Notes, "the model gave no hypothesis")
	}
	return a, nil
}

func paths(edits []model.Edit) string {
	var out []string
	for _, e := range edits {
		out = append(out, e.Path)
	}
	return strings.Join(out, ", ")
}
