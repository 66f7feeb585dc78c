// Package toolcall reads tool calls out of a model's answer. A call is written
// like a function call with named arguments:
//
//	search(query="go maps", limit=3, tags=[faq, runtime])
package toolcall

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSyntax is returned, wrapped, for text that is not a call.
var ErrSyntax = errors.New("not a tool call")

// Call is one request of the model to run a tool.
type Call struct {
	Name string
	Args map[string]string
}

// Parse reads one call. Quoted values may hold any character, with Go's escapes.
func Parse(text string) (Call, error) {
	text = strings.TrimSpace(text)
	name, rest, found := strings.Cut(text, "(")
	if !found || !strings.HasSuffix(rest, ")") {
		return Call{}, fmt.Errorf("%w: %q has no arguments in parentheses", ErrSyntax, text)
	}
	if !validName(name) {
		return Call{}, fmt.Errorf("%w: %q cannot name a tool", ErrSyntax, name)
	}
	args, err := parseArgs(strings.TrimSuffix(rest, ")"))
	if err != nil {
		return Call{}, err
	}
	return Call{Name: name, Args: args}, nil
}

func validName(name string) bool {
	if name == "" {
		return false
	}
	for _, c := range name {
		if c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func parseArgs(text string) (map[string]string, error) {
	args := map[string]string{}
	if strings.TrimSpace(text) == "" {
		return args, nil
	}
	for _, field := range splitFields(text) {
		key, value, found := strings.Cut(field, "=")
		if !found {
			return nil, fmt.Errorf("%w: argument %q has no value", ErrSyntax, field)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		args[strings.TrimSpace(key)] = value
	}
	return args, nil
}

// splitFields cuts text at the commas that stand outside quotes and brackets.
func splitFields(text string) []string {
	var fields []string
	start, depth, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && quoted {
			i++
		} else if c == '"' {
			quoted = !quoted
		} else if quoted {
			continue
		} else if c == '[' {
			depth++
		} else if c == ']' {
			depth--
		} else if c == ',' && depth <= 1 {
			fields = append(fields, text[start:i])
			start = i + 1
		}
	}
	return append(fields, text[start:])
}

func unquote(value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	text, err := strconv.Unquote(value)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not a quoted text", ErrSyntax, value)
	}
	return text, nil
}

// Int returns an argument as a whole number, or fallback when it is not given.
func (c Call) Int(key string, fallback int) (int, error) {
	text, given := c.Args[key]
	if !given {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%w: argument %s: %q is no whole number", ErrSyntax, key, text)
	}
	return n, nil
}

// List returns the elements of an argument that is written as [a, b, c].
func (c Call) List(key string) ([]string, error) {
	text := c.Args[key]
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return nil, fmt.Errorf("%w: argument %s: %q is no list", ErrSyntax, key, text)
	}
	inner := text[1 : len(text)-2]
	var elements []string
	for _, element := range strings.Split(inner, ",") {
		elements = append(elements, strings.TrimSpace(element))
	}
	return elements, nil
}
