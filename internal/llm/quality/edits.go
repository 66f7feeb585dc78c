package quality

import (
	"encoding/json"
	"regexp"
	"strings"
)

// edit are the marks of an edit: search and replace blocks, diffs, patches, and
// fences that name the file.
var edit = regexp.MustCompile("(?m)" +
	`^\s*<{5,9} ?SEARCH\b` +
	`|^\*\*\* (?:Begin Patch|Update File|Add File)` +
	`|^diff --git ` +
	`|^@@ -\d+(?:,\d+)? \+\d+` +
	`|^--- \S.*\n\+\+\+ \S` +
	"|^\\s*(?:```+|~~~+)[^\\n`]*[\\w)][./:][\\w(][^\\n`]*$")

func hasEdit(text string) bool { return edit.MatchString(text) }

// split takes the fenced code out of a text. A fence without an end goes on to the
// end of the text.
func split(text string) (prose, code string) {
	var p, c strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(strings.TrimSpace(line), fence[:1]) == "":
			fence = ""
		case fence != "":
			c.WriteString(line)
		default:
			p.WriteString(inline.ReplaceAllString(line, "`"))
		}
	}
	return strings.TrimSpace(p.String()), strings.TrimSpace(c.String())
}

// inline is code within a sentence. Its words are not the model's own, but that it
// is there counts as a word.
var inline = regexp.MustCompile("`[^`\n]*\\b(?i:sorry|can|cannot|unable)\\b[^`\n]*`")

// fenceOf is the mark with which a line begins or ends a block of code.
func fenceOf(line string) string {
	t := strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		if mark := t[:len(t)-len(strings.TrimLeft(t, c))]; len(mark) >= 3 {
			return mark
		}
	}
	return ""
}

// decode reads an answer that is JSON, fenced or not. A text that only happens to
// be JSON, such as a number, is no such answer.
func decode(text string) (v any, ok bool) {
	if prose, code := split(text); prose == "" && code != "" {
		text = code
	}
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, false
	}
	return v, json.Unmarshal([]byte(text), &v) == nil
}

// checkJSON judges an answer in JSON. A list of objects is what edits are; without
// one its texts are judged like any other.
func checkJSON(v any) *Reason {
	if listsObjects(v) {
		return nil
	}
	var words []string
	collect(v, &words)
	prose := strings.TrimSpace(strings.Join(words, "\n"))
	if prose == "" {
		return &Reason{Empty, "JSON without content"}
	}
	if hasEdit(prose) {
		return nil
	}
	text, code := split(prose)
	return checkProse(text, code)
}

func listsObjects(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok && len(m) > 0 || listsObjects(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if listsObjects(item) {
				return true
			}
		}
	}
	return false
}

func collect(v any, into *[]string) {
	switch v := v.(type) {
	case string:
		*into = append(*into, v)
	case []any:
		for _, item := range v {
			collect(item, into)
		}
	case map[string]any:
		for _, item := range v {
			collect(item, into)
		}
	}
}
