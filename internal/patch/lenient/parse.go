package lenient

import (
	"regexp"
	"slices"
	"strings"
)

const (
	unitHunk  = "hunk"
	unitBlock = "block"
)

// parser walks a model's text line by line. Outside of patches it only keeps
// track of fences and of lines that name a file.
type parser struct {
	lines    []string
	crs      []bool
	at       int
	complete bool // the text is known not to be cut off

	fence    string // what closes the open fence, or ""
	inFence  int    // changes that were found within it
	name     string // path that the prose or the fence named last
	announce string // the prose lines before the fence, and its info
	used     string // path of the last block

	changes []change
	hunks   int
	partial string // path of a fence that is neither a patch nor said to be whole
}

// parse finds every change in a text. Whole files in fences count for paths that
// no block or diff is for.
func parse(text string, complete bool) ([]change, error) {
	p := newParser(text, complete)
	for p.at < len(p.lines) {
		if err := p.step(); err != nil {
			return nil, err
		}
		if err := checkLimits(0, 0, p.hunks); err != nil {
			return nil, err
		}
	}
	if slices.Contains(p.lines, "*** Begin Patch") && !slices.Contains(p.lines, "*** End Patch") && !complete {
		return nil, &Error{Kind: KindTruncated, Detail: "there is no *** End Patch", Hint: "send the whole patch again, shorter"}
	}
	if p.fence != "" && p.inFence > 0 && !complete {
		return nil, &Error{Kind: KindTruncated, Detail: "its last code fence is not closed", Hint: "send the whole patch again, shorter"}
	}
	switch {
	case len(p.changes) > 0:
		return p.changes, nil
	case p.partial != "":
		return nil, &Error{Kind: KindPartial, Path: p.partial, Detail: "there is code for it, but neither search and replace blocks nor a diff", Hint: "quote the lines that change, or say that it is the complete file"}
	}
	return nil, &Error{Kind: KindNone, Detail: "there is no search and replace block, no diff and no complete file in it"}
}

func newParser(text string, complete bool) *parser {
	p := &parser{complete: complete}
	all := splitLines(text)
	every := strings.Count(text, "\r\n") == strings.Count(text, "\n")
	for _, l := range all {
		p.lines = append(p.lines, l.text)
		p.crs = append(p.crs, l.cr && !every)
	}
	return p
}

// step reads one line of prose, or a whole block, section of a diff, or fence.
func (p *parser) step() error {
	l := p.lines[p.at]
	switch {
	case searchMark.MatchString(l):
		return p.block()
	case p.diffBegins(p.at):
		return p.diff()
	case p.fence != "" && closes(l, p.fence):
		p.fence, p.name, p.announce = "", "", ""
	case p.fence == "" && fenceOpen.MatchString(l):
		return p.open(l)
	default:
		p.prose(l)
	}
	p.at++
	return nil
}

var fenceOpen = regexp.MustCompile("^\\s{0,3}(`{3,}|~{3,})\\s*([^`]*)$")

func closes(l, fence string) bool {
	l = strings.TrimSpace(l)
	return len(l) >= len(fence) && strings.Trim(l, fence[:1]) == ""
}

// prose remembers a line that may name the file that comes.
func (p *parser) prose(l string) {
	if strings.TrimSpace(l) == "" {
		return
	}
	if name := prosePath(l); name != "" {
		p.name, p.announce = name, l
	} else if p.fence == "" {
		p.announce += "\n" + l
		if len(p.announce) > 2000 {
			p.name, p.announce = "", ""
		}
	}
}

// open enters a fence. One with a path that holds no patch may be a whole file.
func (p *parser) open(l string) error {
	m := fenceOpen.FindStringSubmatch(l)
	p.fence, p.inFence = m[1], 0
	if name := infoPath(m[2]); name != "" {
		p.name = name
	}
	p.announce += "\n" + m[2]
	p.at++
	end := p.at
	for end < len(p.lines) && !closes(p.lines[end], p.fence) {
		if searchMark.MatchString(p.lines[end]) || p.diffBegins(end) {
			return nil
		}
		end++
	}
	return p.file(end)
}

// infoPath reads a path from what follows the marks of a fence, such as
// "go:cart.go", "python app/cart.py" or "title=cart.go".
func infoPath(info string) string {
	for _, word := range strings.Fields(info) {
		if _, after, ok := strings.Cut(word, "="); ok {
			word = strings.Trim(after, `"'`)
		} else if lang, after, ok := strings.Cut(word, ":"); ok && !strings.ContainsAny(lang, "./") {
			word = after
		}
		if word = lineSuffix.ReplaceAllString(strings.Trim(word, `"'{}`), ""); looksLikePath(word) {
			return word
		}
	}
	return ""
}

// saysWhole matches words that announce the whole of a file, and nothing less.
var saysWhole = regexp.MustCompile(`(?i)\b(?:complete|full|entire|whole)\s+(?:(?:new|updated|corrected|fixed|modified|revised|source)\s+)*(?:file|contents? of)\b|\bnew file\b|\bcreate\b[^\n]{0,60}\bfile\b|\((?:complete|full|entire|whole|new)\)`)

// file takes the fence up to end for a whole file when it is announced as one.
func (p *parser) file(end int) error {
	whole := p.name != "" && saysWhole.MatchString(p.announce)
	switch {
	case whole && end == len(p.lines) && !p.complete:
		return &Error{Kind: KindTruncated, Path: p.name, Detail: "the fence of the whole file is not closed", Hint: "send edits of a few lines instead"}
	case whole:
		h := hunk{unit: unitBlock, n: p.nextHunk()}
		for i := p.at; i < end; i++ {
			h.lines = append(h.lines, line{op: '+', text: p.lines[i], cr: p.crs[i]})
		}
		p.changes = append(p.changes, change{path: p.name, whole: true, hunks: []hunk{h}})
	case p.name != "" && end-p.at > 1:
		p.partial = p.name
	}
	p.at = end + 1
	p.fence, p.name, p.announce = "", "", ""
	return nil
}

func (p *parser) nextHunk() int {
	p.hunks++
	return p.hunks
}

func (p *parser) add(c change) {
	p.inFence++
	p.changes = append(p.changes, c)
}

func (p *parser) fail(k Kind, unit string, detail, hint string) *Error {
	return &Error{Kind: k, Path: p.used, Unit: unit, N: p.hunks, Detail: detail, Hint: hint}
}
