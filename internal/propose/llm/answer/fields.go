package answer

import (
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/patch/lenient"
)

// draft is what a JSON answer says, before its edits are applied.
type draft struct {
	hypothesis string
	gain       float64
	targets    []string
	records    []record
	diff       string
	err        error // it is an answer, but one of its edits is none
}

// record is one edit. full says that it is all of the file.
type record struct {
	lenient.Replacement
	full bool
}

// The names under which models write the fields, the right one first.
var (
	hypothesisNames = []string{"hypothesis", "rationale", "reason", "reasoning", "explanation", "description", "summary", "title"}
	gainNames       = []string{"expected_gain", "gain", "expected_improvement", "expected_score_gain", "score_gain", "improvement"}
	targetNames     = []string{"targets", "target", "problems", "problem_ids", "problem_id", "tests", "target_problems"}
	editNames       = []string{"edits", "edit", "changes", "modifications", "replacements", "patches", "operations", "files", "search_replace", "blocks"}
	diffNames       = []string{"diff", "patch", "unified_diff", "git_diff"}
	wrapNames       = []string{"answer", "result", "response", "candidate", "output", "arguments", "parameters", "input", "final", "candidates", "answers", "tool_calls", "function"}

	pathNames    = []string{"path", "file", "filename", "file_path", "filepath", "file_name", "target_file"}
	searchNames  = []string{"search", "old_str", "old_string", "old", "old_text", "old_code", "original", "before", "find", "search_block", "from"}
	replaceNames = []string{"replace", "new_str", "new_string", "new", "new_text", "new_code", "replacement", "updated", "after", "replace_block", "replace_with", "to"}
	contentNames = []string{"content", "contents", "code", "text"}
	fullNames    = []string{"full_content", "full_file", "complete_file", "whole_file", "file_content", "new_content"}
)

// single reads an object that is one edit, or the diff of one file.
func single(o map[string]any) draft {
	d, _ := read(o, 0)
	if !isEdit(fold(o)) {
		d.diff = ""
		d.addEdits([]any{o})
	}
	return d
}

// maxWraps is how many objects may be round an answer.
const maxWraps = 6

func read(v any, depth int) (draft, bool) {
	if depth > maxWraps {
		return draft{}, false
	}
	switch v := v.(type) {
	case []any:
		return readList(v, depth)
	case map[string]any:
		return readObject(v, depth)
	case string: // arguments of a tool call are JSON in a string, and some of them once more
		inner, text := objects(v), strings.TrimSpace(v)
		if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && len(inner.values) == 1 && !inner.unfinished && inner.broken == nil {
			return read(inner.values[0], depth+1)
		}
	}
	return draft{}, false
}

// readList takes a list of edits for an answer, or a list with one answer in it.
func readList(list []any, depth int) (draft, bool) {
	var d draft
	d.addEdits(list)
	if len(d.records) > 0 || strings.TrimSpace(d.diff) != "" || d.err != nil {
		return d, true
	}
	if len(list) == 1 {
		return read(list[0], depth+1)
	}
	return draft{}, false
}

func readObject(raw map[string]any, depth int) (draft, bool) {
	o := fold(raw)
	d := draft{hypothesis: asText(o.first(hypothesisNames)), gain: asGain(o.first(gainNames)), targets: asTargets(o.first(targetNames))}
	d.diff = asText(o.first(diffNames))
	if isEdit(o) {
		d.addEdits([]any{raw})
	}
	switch e := o.first(editNames).(type) {
	case []any:
		d.addEdits(e)
		d.belong(asText(o.first(pathNames)))
	case map[string]any:
		d.addMap(e)
	case string:
		if inner, ok := read(e, depth+1); ok {
			d.records, d.err = append(d.records, inner.records...), inner.err
		} else {
			d.diff = strings.TrimSpace(d.diff + "\n" + e)
		}
	}
	if len(d.records) > 0 || strings.TrimSpace(d.diff) != "" || d.err != nil {
		return d, true
	}
	for _, name := range wrapNames {
		if inner, ok := read(o[name], depth+1); ok {
			if inner.hypothesis == "" {
				inner.hypothesis = d.hypothesis
			}
			return inner, true
		}
	}
	return draft{}, false
}

// belong gives records without a path that of the object round them.
func (d *draft) belong(path string) {
	for i := range d.records {
		if d.records[i].Path == "" {
			d.records[i].Path = path
		}
	}
}

// fields are those of an object, by their names in lower case and with _.
type fields map[string]any

func fold(o map[string]any) fields {
	out := fields{}
	for k, v := range o {
		name := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(snake(k)))
		if _, twice := out[name]; !twice || name == k { // the right spelling wins
			out[name] = v
		}
	}
	return out
}

// snake turns oldStr into old_Str.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' && i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// first returns the field with the first of these names that has a value.
func (f fields) first(names []string) any {
	for _, n := range names {
		if v, ok := f[n]; ok && v != nil && v != "" {
			return v
		}
	}
	return nil
}

func (f fields) has(names []string) bool {
	for _, n := range names {
		if _, ok := f[n]; ok {
			return true
		}
	}
	return false
}

func isEdit(f fields) bool {
	return f.has(pathNames) && f.has(replaceNames) && f.has(searchNames)
}

// isSingle says whether an object is for one file, so that others beside it belong
// to the same answer.
func isSingle(f fields) bool {
	return isEdit(f) || f.has(pathNames) && f.first(diffNames) != nil && f.first(editNames) == nil
}

func (d *draft) addMap(m map[string]any) {
	if f := fold(m); f.has(pathNames) {
		d.addEdits([]any{m})
		return
	}
	for _, name := range sortedKeys(m) { // path by path
		switch e := m[name].(type) {
		case map[string]any:
			one := map[string]any{"path": name}
			for k, v := range e {
				one[k] = v
			}
			d.addEdits([]any{one})
		case []any:
			for _, v := range e {
				if o, ok := v.(map[string]any); ok {
					o["path"] = name
					d.addEdits([]any{o})
				}
			}
		}
	}
}

func (d *draft) addEdits(list []any) {
	for i, v := range list {
		if s, ok := v.(string); ok { // a block or a diff as a string
			d.diff += s + "\n"
			continue
		}
		o, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if err := d.addEdit(fold(o)); err != nil && d.err == nil {
			d.err = &Error{Kind: NotUnderstood, Detail: fmt.Sprintf("edit %d: %v", i+1, err)}
		}
	}
}

func (d *draft) addEdit(f fields) error {
	r := record{Replacement: lenient.Replacement{Path: asText(f.first(pathNames))}}
	r.Search, r.Replace = asText(f.first(searchNames)), asText(f.first(replaceNames))
	action := strings.ToLower(asText(f.first([]string{"action", "type", "operation", "op"})))
	if err := f.checkTexts(); err != nil {
		return err
	}
	switch {
	case inserts.MatchString(action) && r.Search != "" && !strings.Contains(r.Replace, strings.TrimSpace(r.Search)):
		return fmt.Errorf("it is to insert lines, but replace takes the place of search: repeat the lines of search in it")
	case f.has(replaceNames) && (f.has(searchNames) || action == "create" || action == "add"):
	case strings.TrimSpace(asText(f.first(diffNames))) != "":
		d.diff += withHeader(r.Path, asText(f.first(diffNames))) + "\n"
		return nil
	case f.has(fullNames):
		r.Replace, r.full = asText(f.first(fullNames)), true
	case f.has(contentNames):
		r.Replace = asText(f.first(contentNames)) // a new file, or refused: it may as well be a piece
	case strings.HasPrefix(action, "delete") || strings.HasPrefix(action, "remove"):
		d.diff += "*** Delete File: " + firstLine(r.Path) + "\n"
		return nil
	case !f.has(pathNames) && !f.has(searchNames) && !f.has(replaceNames):
		return nil // no edit at all
	default:
		return fmt.Errorf("it needs path, search and replace")
	}
	d.records = append(d.records, r)
	return nil
}

// inserts matches the actions of other edit tools that keep the lines they quote.
var inserts = regexp.MustCompile(`insert|append|prepend`)

// checkTexts refuses what should be text and is an object or a mixed list. It would
// read as nothing, and an edit to nothing deletes.
func (f fields) checkTexts() error {
	for _, names := range [][]string{pathNames, searchNames, replaceNames, contentNames, fullNames} {
		switch v := f.first(names).(type) {
		case map[string]any:
			return fmt.Errorf("its %s is an object, not a text", names[0])
		case []any:
			if slices.ContainsFunc(v, func(l any) bool { _, text := l.(string); return !text }) {
				return fmt.Errorf("its %s is a list of other things than lines", names[0])
			}
		}
	}
	return nil
}

// withHeader puts a header before hunks that have none.
func withHeader(name, diff string) string {
	name = firstLine(name)
	if name == "" || !strings.HasPrefix(strings.TrimSpace(diff), "@@") {
		return diff
	}
	return "--- a/" + name + "\n+++ b/" + name + "\n" + strings.TrimLeft(diff, "\n")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// whole turns the whole files among the records into edits: a new file needs no
// old lines, an old one is quoted from its first line to its last.
func (d draft) whole(tree model.Tree) ([]lenient.Replacement, error) {
	var out []lenient.Replacement
	for _, r := range d.records {
		if f, ok := tree.Find(path.Clean(r.Path)); ok && r.full {
			r.Search = string(f.Data)
			if err := lenient.CheckWhole(f, r.Replace); err != nil {
				return nil, err
			}
		}
		out = append(out, r.Replacement)
	}
	return out, nil
}

func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any: // a list of lines
		var lines []string
		for _, l := range v {
			s, ok := l.(string)
			if !ok {
				return ""
			}
			lines = append(lines, strings.TrimSuffix(s, "\n"))
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

// asGain reads a share or a percentage; what is no number is no expectation.
func asGain(v any) float64 {
	s, ok := v.(string)
	if !ok {
		return 0
	}
	s = strings.TrimPrefix(strings.TrimSpace(s), "+")
	number := strings.TrimRight(s, "% abcdefghijklmnopqrstuvwxyz")
	g, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(g) || g <= 0 {
		return 0
	}
	if g > 1 || len(number) < len(s) && strings.Contains(s, "%") {
		g /= 100
	}
	return math.Min(g, 1)
}

// Limits of the targets.
const (
	maxTargets = 50
	maxTarget  = 300
)

func asTargets(v any) []string {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case string:
		for _, s := range strings.Split(v, ",") {
			list = append(list, s)
		}
	}
	var out []string
	for _, t := range list {
		s, _ := t.(string)
		s = strings.TrimSpace(s)
		odd := strings.ContainsFunc(s, func(r rune) bool { return printable(r) != r && r != ' ' })
		if s == "" || len(s) > maxTarget || odd || len(out) == maxTargets {
			continue
		}
		out = append(out, s)
	}
	return out
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
