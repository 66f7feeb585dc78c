package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved are the names under which ratchet itself acts, and the kinds of its
// proposers: no person may sign with one of them.
var reserved = []string{"ratchet", "evidence", "deadline", "stop", "search", "llm", "agent"}

// Limits of what a person may write, in characters.
const (
	MostName = 100  // of a name
	MostText = 2000 // of a hint, and of the reason of anything else
)

// CheckPerson says what is wrong with the name of somebody who steers a campaign
// or decides on a change; nil when nothing is. A proposer can never do either, so
// its name is refused, in whatever case and however much space is round it, and so
// is one that looks like it in other letters.
func CheckPerson(by string, proposers []string) error {
	name := strings.TrimSpace(by)
	switch {
	case name == "":
		return errors.New("a name is needed: who asks for this?")
	case utf8.RuneCountInString(name) > MostName:
		return fmt.Errorf("the name is longer than %d characters", MostName)
	case !visible(name):
		return fmt.Errorf("the name %q holds characters that cannot be seen", name)
	case named(name, reserved):
		return fmt.Errorf("the name %s is reserved for ratchet itself", name)
	case named(name, proposers):
		return fmt.Errorf("the name %s is reserved for a proposer of the campaign, and proposers decide nothing", name)
	}
	if taken, ok := alike(name, slices.Concat(reserved, proposers)); ok {
		return fmt.Errorf("the name %+q looks like %s, which is reserved: choose one that nobody can take for it", name, taken)
	}
	return nil
}

func named(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) })
}

// CheckWhy says what is wrong with a reason, which may be empty.
func CheckWhy(why string) error {
	if why == "" {
		return nil
	}
	return checkText("the reason", why)
}

// CheckHint says what is wrong with the text of a hint.
func CheckHint(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the hint is empty: say what the proposers should know")
	}
	return checkText("the hint", text)
}

// CheckRevision says what is wrong with the name of a commit before it is looked
// up: it is printed with whatever is wrong with it then.
func CheckRevision(rev string) error { return checkText("the name of the commit", rev) }

func checkText(what, text string) error {
	switch n := utf8.RuneCountInString(text); {
	case n > MostText:
		return fmt.Errorf("%s has %d characters, at most %d are allowed", what, n, MostText)
	case !plain(text):
		return fmt.Errorf("%s holds control characters, such as line ends, or characters that cannot be seen: write it in one line of plain text", what)
	}
	return nil
}

// visible says that every character of a name shows: one that does not would let
// it look like another name.
func visible(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
}

// plain says that a text is one line that reads as it is written: no control
// characters, no other line ends, nothing that turns the direction of writing or
// cannot be seen, but for the two joiners that some scripts and emoji need.
func plain(s string) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
	}) < 0
}
