package repo

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct{ Key, Value string }

var trailerLine = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9-]*): (.*)$`)

// message is a commit message in parts; parseMessage undoes format.
type message struct {
	subject  string
	body     string
	trailers []Trailer
}

// format lays the message out as git does: subject, body and trailers, divided
// by blank lines. Text is cleaned (it may come from a model): the subject is one
// line, control characters go, blank lines do not repeat.
func (m message) format() (string, error) {
	subject := oneLine(m.subject)
	if subject == "" {
		return "", fmt.Errorf("%w: the subject of the commit message is empty", ErrInvalid)
	}
	parts := []string{subject}
	if body := cleanText(m.body); body != "" {
		parts = append(parts, body)
	}
	lines := make([]string, 0, len(m.trailers))
	for _, t := range m.trailers {
		line := t.Key + ": " + oneLine(t.Value)
		if !trailerLine.MatchString(line) || oneLine(t.Value) == "" {
			return "", fmt.Errorf("%w: trailer %q: %q", ErrInvalid, t.Key, t.Value)
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		parts = append(parts, strings.Join(lines, "\n"))
	}
	return strings.Join(parts, "\n\n") + "\n", nil
}

// parseMessage splits a message. The last paragraph is the trailers when it is
// not the subject and every line of it is one.
func parseMessage(s string) message {
	s = strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	head, rest, _ := strings.Cut(s, "\n\n")
	m := message{subject: oneLine(head)}
	rest = strings.Trim(rest, "\n")
	last := rest
	if i := strings.LastIndex(rest, "\n\n"); i >= 0 {
		last = rest[i+2:]
	}
	if trailers, ok := parseTrailers(last); ok {
		m.trailers = trailers
		rest = strings.Trim(strings.TrimSuffix(rest, last), "\n")
	}
	m.body = rest
	return m
}

func parseTrailers(s string) ([]Trailer, bool) {
	var out []Trailer
	for _, line := range strings.Split(s, "\n") {
		t := trailerLine.FindStringSubmatch(line)
		if t == nil {
			return nil, false
		}
		out = append(out, Trailer{Key: t[1], Value: t[2]})
	}
	return out, true
}

func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// cleanText trims every line, drops leading, trailing and repeated blank lines.
func cleanText(s string) string {
	var out []string
	for _, line := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		line = strings.TrimRightFunc(printable(line), unicode.IsSpace)
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// printable turns control characters into spaces and bad UTF-8 into U+FFFD.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
