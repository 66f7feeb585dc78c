// Package jsonpath picks a value out of a decoded JSON document by a path such
// as results.0.title. A negative number counts from the end of a list.
package jsonpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotFound is returned, wrapped, when a path leads nowhere.
var ErrNotFound = errors.New("no such value")

// Lookup follows path from document; the empty path is the document itself.
func Lookup(document any, path string) (any, error) {
	if path == "" {
		return document, nil
	}
	value := document
	for _, step := range strings.Split(path, ".") {
		next, ok := descend(value, step)
		if !ok {
			return nil, fmt.Errorf("%w: %q in path %q", ErrNotFound, step, path)
		}
		value = next
	}
	return value, nil
}

func descend(value any, step string) (any, bool) {
	if object, ok := value.(map[string]any); ok {
		next, found := object[step]
		return next, found
	}
	if list, ok := value.([]any); ok {
		return element(list, step)
	}
	return nil, false
}

func element(list []any, step string) (any, bool) {
	index, err := strconv.Atoi(step)
	if err != nil {
		return nil, false
	}
	if index < 0 {
		index = len(list) - index
	}
	if index < 0 || index >= len(list) {
		return nil, false
	}
	return list[index], true
}

// Text follows path and returns the value as a text: texts as they are, numbers
// without needless digits.
func Text(document any, path string) (string, error) {
	value, err := Lookup(document, path)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("%w: the value at %q is no text", ErrNotFound, path)
}
