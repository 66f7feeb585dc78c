package jsonpath

import (
	"encoding/json"
	"errors"
	"testing"
)

const sample = `{
	"title": "maps",
	"count": 3,
	"open": true,
	"results": [{"id": 7, "tags": ["a", "b"]}, {"id": 8}, {"id": 9.5}]
}`

func document(t *testing.T) any {
	t.Helper()
	var d any
	if err := json.Unmarshal([]byte(sample), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func finds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := Text(document(t), path); err != nil || got != want {
		t.Errorf("Text(%q) = %q, %v; want %q", path, got, err, want)
	}
}

func misses(t *testing.T, path string) {
	t.Helper()
	if got, err := Text(document(t), path); !errors.Is(err, ErrNotFound) {
		t.Errorf("Text(%q) = %q, %v; want %v", path, got, err, ErrNotFound)
	}
}

func TestLookupKey(t *testing.T)     { finds(t, "title", "maps") }
func TestLookupNumber(t *testing.T)  { finds(t, "count", "3") }
func TestLookupBool(t *testing.T)    { finds(t, "open", "true") }
func TestLookupElement(t *testing.T) { finds(t, "results.1.id", "8") }
func TestLookupDeep(t *testing.T)    { finds(t, "results.0.tags.1", "b") }

func TestLookupFromTheEnd(t *testing.T) { finds(t, "results.-1.id", "9.5") }

func TestLookupFirstFromTheEnd(t *testing.T) { finds(t, "results.-3.id", "7") }

func TestLookupPastTheEnd(t *testing.T) {
	misses(t, "results.3.id")
	misses(t, "results.-4.id")
}

func TestLookupMissingKey(t *testing.T)   { misses(t, "results.0.name") }
func TestLookupBadIndex(t *testing.T)     { misses(t, "results.first") }
func TestLookupInsideAText(t *testing.T)  { misses(t, "title.length") }
func TestLookupObjectAsText(t *testing.T) { misses(t, "results.0") }

func TestLookupEmptyPath(t *testing.T) {
	d := document(t)
	got, err := Lookup(d, "")
	if _, ok := got.(map[string]any); err != nil || !ok {
		t.Errorf("got %v, %v; want the document", got, err)
	}
}
