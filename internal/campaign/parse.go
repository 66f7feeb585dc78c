package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxFile is the size above which a campaign file is refused, in bytes.
const MaxFile = 64 << 10

// ParseOptions say where the bytes come from.
type ParseOptions struct {
	File string // name of the file in messages; may be empty
	// Dir is the absolute folder that a relative repo path starts from. When it
	// is empty, a relative path stays as it is.
	Dir string
}

// Parse reads a campaign file and fills in the defaults. When anything is wrong
// it returns *Errors with all of it, and a Spec that must not be used.
func Parse(data []byte, opts ParseOptions) (Spec, error) {
	p := &reader{errs: &Errors{File: opts.File}, places: map[string]place{}, failed: map[string]bool{}}
	root := p.document(data)
	if root == nil {
		return Spec{}, p.errs.result()
	}
	spec := Default()
	p.spec(root, &spec)
	p.check(spec)
	if err := p.errs.result(); err != nil {
		return Spec{}, err
	}
	spec.Repo = absolute(spec.Repo, opts.Dir)
	return spec, nil
}

// document returns the one mapping that data holds, or nil after reporting why there is none.
func (r *reader) document(data []byte) *ast.MappingNode {
	if e, bad := unreadable(data); bad {
		r.errs.add(e)
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		r.errs.add(syntaxError(err))
		return nil
	}
	bodies := bodies(file)
	if len(bodies) == 0 {
		r.errs.add(Error{Line: 1, Col: 1, Problem: "the file is empty", Hint: "the least it can say is name and repo"})
		return nil
	}
	for _, extra := range bodies[1:] {
		r.report(extra, "", "a second document", "one file describes one campaign; remove it and the --- before it")
	}
	root, ok := bodies[0].(*ast.MappingNode)
	if !ok {
		r.report(bodies[0], "", "expected keys with values, found "+kindOf(bodies[0]), "begin with a line like name: my-campaign")
		return nil
	}
	return root
}

// unreadable finds what makes data no text at all.
func unreadable(data []byte) (Error, bool) {
	switch {
	case len(data) > MaxFile:
		return Error{Problem: fmt.Sprintf("the file is too large: %d bytes, at most %d", len(data), MaxFile), Hint: "is it a campaign file?"}, true
	case !utf8.Valid(data):
		return Error{Line: 1, Col: 1, Problem: "the file is not UTF-8 text", Hint: "save it as UTF-8"}, true
	}
	for i, c := range string(data) {
		if c < ' ' && !strings.ContainsRune("\t\r\n", c) {
			before := string(data[:i])
			col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
			return Error{Line: strings.Count(before, "\n") + 1, Col: col,
				Problem: fmt.Sprintf("the file holds the control character %U", c), Hint: "remove it"}, true
		}
	}
	return Error{}, false
}

// parseYAML turns a panic of the library on absurd input into an error.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file cannot be read as YAML: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// bodies lists the documents that hold something.
func bodies(f *ast.File) []ast.Node {
	var out []ast.Node
	for _, d := range f.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); d.Body != nil && !directive {
			out = append(out, d.Body)
		}
	}
	return out
}

// syntaxError translates what the library says of broken YAML.
func syntaxError(err error) Error {
	out := Error{Line: 1, Col: 1, Problem: err.Error(), Hint: "the file is not valid YAML"}
	var y yaml.Error
	if !errors.As(err, &y) {
		return out
	}
	out.Problem = y.GetMessage()
	if t := y.GetToken(); t != nil && t.Position != nil {
		out.Line, out.Col = t.Position.Line, t.Position.Column
	}
	switch {
	case strings.Contains(out.Problem, "'\t'"):
		out.Problem, out.Hint = "a tab cannot indent a line", "indent with spaces"
	case strings.Contains(out.Problem, "mapping value is not allowed"):
		out.Problem, out.Hint = "a key cannot stand here", "check the indentation; quote a value that holds a colon"
	case strings.Contains(out.Problem, "reserved character"):
		out.Hint = "quote the value"
	}
	return out
}

// remote matches URLs with a scheme and scp-like addresses (host:path, user@host:path).
var remote = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://|([^/\s:@]+@)?[A-Za-z0-9.-]{2,}:[^\\])`)

// absolute makes a relative path start from dir; URLs are left as they are.
func absolute(repo, dir string) string {
	if dir == "" || filepath.IsAbs(repo) || remote.MatchString(repo) {
		return repo
	}
	return filepath.Join(dir, repo)
}
