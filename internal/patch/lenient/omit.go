package lenient

import (
	"regexp"
	"strings"
)

// filler are the words of which comments consist that say nothing but that code
// is left out.
const filler = `a above add added all and any are as assume assumed at be before below block body both brevity but by case cases change changed changes class classes ` +
	`clarity code comment comments constant constants content contents continue continued continues definition definitions docstring down else elided etc everything ` +
	`exact exactly existing field fields file following for from function functions get go goes handling has have helper helpers here implementation implementations ` +
	`import imports in insert is it its just keep keeping kept leave left line lines logic loop loops method methods module more no not now of omitted on only or ` +
	`original other others part parts paste place previous previously prior put remain remainder remaining remains rest same section sections see setup shown skip ` +
	`skipped snip snipped so some statement statements stay stays still stuff test tests that the then these this those through to todo truncated type types ` +
	`unchanged unmodified untouched up usual variable variables version was were will with your`

var (
	onlyFiller = regexp.MustCompile(`^[\W\d_]*(?:(?:` + strings.ReplaceAll(filler, " ", "|") + `)(?:[\W\d_]+|$))+$`)
	// leavesOut are those that name what is left out, or that it is.
	leavesOut = regexp.MustCompile(`\.{3}|…|\b(?:existing|rest|remain(?:s|ing|der)?|unchanged|unmodified|untouched|omitted|truncated|elided|snip(?:ped)?|skip(?:ped)?|same|original|previous|prior|brevity|` +
		`continue[sd]?|etc|others?|everything else|keep|kept|leave|your|no (?:more )?changes?|not (?:shown|changed)|so on|as (?:is|was|were|before|above|usual)|here goes|goes here)\b`)
	// partSame are comments that say so of a part of the program by its name.
	partSame = regexp.MustCompile(`^\W*\(?[\w\s.,'-]{0,40}\b(?:function|method|class|loop|import|code|logic|implementation|calculation|body|helper|handler|constructor)s?\s+` +
		`(?:(?:is|are|remains?|stays?)\s+)?(?:unchanged|unmodified|omitted|the same|as is|as before)\W*$|^\W*\([\w\s.,'-]{0,40}\s(?:unchanged|unmodified|omitted)\)\W*$`)
	dotsOnly = regexp.MustCompile(strings.ReplaceAll(`^\s*(?:D|\(D\)|\[D\]|<D>|\{D\})\s*$`, "D", `\s*(?:\.\s?\.\s?\.[\s.]*|…+|⋮+)\s*`))
	// foreign are the same in other languages: models follow that of the program's comments.
	foreign = regexp.MustCompile(`省略|其余|不变|保持原样|(?:其他|其它|现有|原有|原来的?|剩余|之前的?)的?(?:代码|部分|逻辑|内容|函数|方法)|既存の|変更なし|` +
		`unverändert|restlicher code|inchangé|reste du code|sin cambios|resto del código|без изменений|остальной код`)
	opener = regexp.MustCompile(`^(?:\{/\*|//+|/\*+|#+|--+|<!--|;+|%+|\*|"""|''')`)
	wordly = regexp.MustCompile(`^(?:\.{3}|…|<|\[|\().*\s.*(?:\.{3}|…|>|\]|\))$`)
	// empty code before a comment: what would stand there was left out
	hollow = regexp.MustCompile(`^(?:pass|\.{3}|[^"'#]*[:{])\s+(?:#+|//+|/\*)`)
	// behind are comments that say so behind other code, dots those in place of a body
	behind = regexp.MustCompile(`\s(?:#+|//+|/\*)(.*(?:\.{3}|…|\b(?:existing|rest|remaining|omitted)\b).*)$`)
	noBody = regexp.MustCompile(`^(?:async )?(?:def|class|if|for|while|with|else|elif|try|except|finally)\b.*:\s*(?:\.{3}|…)$`)
)

// maxOmits is the longest line that is read as one that leaves code out, in bytes.
const maxOmits = 120

// omits says whether a line tells of code that is left out, more loosely than
// isElision: it suits new lines for which old ones go. A comment counts when all of
// its words are such as say nothing of the program, and dots do in every language.
func omits(text string) bool {
	t := strings.ToLower(strings.TrimSpace(text))
	if len(t) > maxOmits {
		return false
	}
	if dotsOnly.MatchString(t) || noBody.MatchString(t) {
		return true
	}
	body := ""
	switch {
	case opener.MatchString(t):
		body = t[len(opener.FindString(t)):]
	case hollow.MatchString(t):
		body = t[len(hollow.FindString(t)):]
	case wordly.MatchString(t):
		body = t
	default:
		m := behind.FindStringSubmatch(t)
		return m != nil && onlyFiller.MatchString(m[1])
	}
	return dotsOnly.MatchString(body) || foreign.MatchString(body) || partSame.MatchString(body) || onlyFiller.MatchString(body) && leavesOut.MatchString(body)
}

// drops says whether old lines go for which no new ones come: where a line that
// tells of code left out would cost that code.
func (c change) drops(h hunk, old string) bool {
	gone, come := 0, 0
	if c.whole {
		come = h.count('+')
		kept := map[string]bool{}
		for _, l := range h.lines {
			kept[strings.TrimSpace(l.text)] = true
		}
		for text := range trimmedLines(old) {
			if !kept[text] {
				gone++
			}
		}
	}
	for _, l := range h.lines {
		switch {
		case c.whole || isBlankLine(l):
		case l.op == '-':
			gone++
		case l.op == '+':
			come++
		}
	}
	return gone > 1 || gone == 1 && come < 2
}
