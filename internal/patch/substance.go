package patch

import (
	"bytes"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"

	"ratchet/internal/model"
)

type substanceKind int

const (
	changesSpace substanceKind = iota
	changesComments
	changesCode
)

// substance says what a change is about. A file that comes or goes, or changes
// its mode, is code.
func substance(c change) substanceKind {
	if c.old == nil || c.new == nil || c.old.Mode != c.new.Mode {
		return changesCode
	}
	if path.Ext(c.path) == ".go" {
		return goSubstance(c.old.Data, c.new.Data)
	}
	if isPython(c.path) {
		return pySubstance(c)
	}
	return lineSubstance(c.path, c.old.Data, c.new.Data)
}

// goSubstance compares tokens. Directives count as code: //go:build and
// //go:embed change what a program is.
func goSubstance(old, new []byte) substanceKind {
	oldCode, oldAll := goTokens(old)
	newCode, newAll := goTokens(new)
	switch {
	case oldCode != newCode:
		return changesCode
	case oldAll != newAll:
		return changesComments
	}
	return changesSpace
}

// goTokens returns the tokens of a file without comments, and with them.
func goTokens(src []byte) (code, all string) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, func(token.Position, string) {}, scanner.ScanComments)
	var c, a strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return c.String(), a.String()
		}
		if tok == token.SEMICOLON {
			lit = ";" // inserted at a line end, or written: the same
		}
		text := tok.String() + " " + lit + "\x00"
		if tok == token.COMMENT {
			text = strings.Join(strings.Fields(text), " ") + "\x00"
		}
		a.WriteString(text)
		if tok != token.COMMENT || directive.MatchString(lit) {
			c.WriteString(text)
		}
	}
}

// directive matches comments that mean something to the tool chain.
var directive = regexp.MustCompile(`^//(?:go:|line |export |extern )|^//\s*\+build |^/\*line `)

// lineComment is how a language begins a comment that fills a line.
var lineComment = map[string]string{
	".py": "#", ".rb": "#", ".sh": "#", ".pl": "#", ".r": "#", ".yaml": "#", ".yml": "#", ".toml": "#",
	".js": "//", ".ts": "//", ".jsx": "//", ".tsx": "//", ".java": "//", ".c": "//", ".h": "//", ".cc": "//",
	".cpp": "//", ".hpp": "//", ".cs": "//", ".rs": "//", ".swift": "//", ".kt": "//", ".php": "//", ".scala": "//",
	".sql": "--", ".lua": "--", ".hs": "--",
}

// lineSubstance compares lines. White space at the start of a line counts (it
// is code in Python and YAML), at the end not; blank lines do not count.
func lineSubstance(name string, old, new []byte) substanceKind {
	if bytes.Equal(codeLines(old, ""), codeLines(new, "")) {
		return changesSpace
	}
	mark := lineComment[strings.ToLower(path.Ext(name))]
	if mark != "" && bytes.Equal(codeLines(old, mark), codeLines(new, mark)) {
		return changesComments
	}
	return changesCode
}

// codeLines drops blank lines, trailing white space, and lines that are a
// comment. A first line that begins with #! is no comment.
func codeLines(src []byte, mark string) []byte {
	var out []byte
	for i, line := range bytes.Split(src, []byte("\n")) {
		line = bytes.TrimRight(line, " \t\r")
		text := bytes.TrimLeft(line, " \t")
		if len(text) == 0 {
			continue
		}
		shebang := i == 0 && bytes.HasPrefix(line, []byte("#!"))
		if mark != "" && bytes.HasPrefix(text, []byte(mark)) && !shebang {
			continue
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

func gateParse(_ model.Tree, c change) *Refusal {
	switch {
	case c.new == nil:
		return nil
	case isPython(c.path):
		return gateParsePython(c)
	case path.Ext(c.path) != ".go":
		return nil
	}
	if _, err := parser.ParseFile(token.NewFileSet(), c.path, c.new.Data, parser.SkipObjectResolution); err != nil {
		return &Refusal{Rule: RuleParse, Why: err.Error()}
	}
	return nil
}

// refusals are openings by which a model declines instead of writing the file.
var refusals = regexp.MustCompile(`(?i)^\W*(?:i(?:'|’)?m sorry|i am sorry|sorry, (?:but )?i|i can(?:'|’)?t (?:help|assist|do)|i cannot (?:help|assist|comply|fulfil)|i(?:'|’)?m unable to|i am unable to|as an ai\b|as a (?:large )?language model|here(?:'|’)?s the (?:updated|fixed|corrected|complete|full)|here is the (?:updated|fixed|corrected|complete|full)|sure[,!] here)`)

// elided matches a line that stands for code which was left out.
var elided = regexp.MustCompile(`(?i)^\s*(?://|#|/\*|--|<!--)?\s*(?:\.\.\.|…)\s*\(?(?:the )?(?:rest|remaining|existing|previous|other|unchanged|same)\b[^\n]*$`)

// gateBoilerplate refuses a file that holds what a model says around a file.
// It is small and strict, and looks only at what the old file did not have.
func gateBoilerplate(_ model.Tree, c change) *Refusal {
	text := string(c.newData())
	if c.new == nil || isProse(c.path) {
		return nil
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case refusals.MatchString(trimmed) && !refusals.MatchString(strings.TrimSpace(string(c.oldData()))):
		return &Refusal{Rule: RuleBoilerplate, Why: "it begins with a model's words, not with the file"}
	case strings.HasPrefix(trimmed, "```") && !bytes.HasPrefix(bytes.TrimSpace(c.oldData()), []byte("```")):
		return &Refusal{Rule: RuleBoilerplate, Why: "it begins with a code fence"}
	case trimmed == "" && len(bytes.TrimSpace(c.oldData())) > 0:
		return &Refusal{Rule: RuleBoilerplate, Why: "the file is emptied; delete it instead"}
	}
	for line := range strings.Lines(text) {
		if elided.MatchString(strings.TrimRight(line, "\r\n")) && !bytes.Contains(c.oldData(), []byte(strings.TrimSpace(line))) {
			return &Refusal{Rule: RuleBoilerplate, Why: "a part of the file was left out: " + strings.TrimSpace(line)}
		}
	}
	return nil
}

func isProse(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt", ".rst", ".adoc":
		return true
	}
	return false
}
