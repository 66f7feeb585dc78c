package toolcall

import (
	"errors"
	"reflect"
	"testing"
)

func parse(t *testing.T, text string) Call {
	t.Helper()
	call, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return call
}

func refuse(t *testing.T, text string) {
	t.Helper()
	if call, err := Parse(text); !errors.Is(err, ErrSyntax) {
		t.Errorf("Parse(%q) = %v, %v; want a syntax error", text, call, err)
	}
}

func TestParseWithoutArguments(t *testing.T) {
	call := parse(t, " list_files() \n")
	if call.Name != "list_files" || len(call.Args) != 0 {
		t.Errorf("got %v", call)
	}
}

func TestParseArguments(t *testing.T) {
	call := parse(t, `search(query=maps, limit = 3)`)
	want := map[string]string{"query": "maps", "limit": "3"}
	if !reflect.DeepEqual(call.Args, want) {
		t.Errorf("got %v, want %v", call.Args, want)
	}
}

func TestParseQuotedComma(t *testing.T) {
	call := parse(t, `say(text="a, b", tone=dry)`)
	if call.Args["text"] != "a, b" || call.Args["tone"] != "dry" {
		t.Errorf("got %v", call.Args)
	}
}

func TestParseEscapedQuote(t *testing.T) {
	call := parse(t, `say(text="he said \"hi, you\"")`)
	if want := `he said "hi, you"`; call.Args["text"] != want {
		t.Errorf("got %q, want %q", call.Args["text"], want)
	}
}

func TestParseKeepsListsWhole(t *testing.T) {
	call := parse(t, `tag(names=[red=1,blue=2], file=a.txt)`)
	want := map[string]string{"names": "[red=1,blue=2]", "file": "a.txt"}
	if !reflect.DeepEqual(call.Args, want) {
		t.Errorf("got %v, want %v", call.Args, want)
	}
}

func TestParseListOfOne(t *testing.T) {
	call := parse(t, `tag(names=[red])`)
	if call.Args["names"] != "[red]" {
		t.Errorf("got %v", call.Args)
	}
}

func TestListArgument(t *testing.T) {
	call := parse(t, `tag(names=[red, dark blue])`)
	got, err := call.List("names")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"red", "dark blue"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListRefusesText(t *testing.T) {
	if _, err := parse(t, `tag(names=red)`).List("names"); !errors.Is(err, ErrSyntax) {
		t.Errorf("got %v, want a syntax error", err)
	}
}

func TestParseRefusesPlainText(t *testing.T) {
	refuse(t, "I think that is all.")
	refuse(t, "search(query=x")
}

func TestParseRefusesBadNames(t *testing.T) {
	refuse(t, "(x=1)")
	refuse(t, "rm -rf(x=1)")
}

func TestParseRefusesArgumentWithoutValue(t *testing.T) {
	refuse(t, "search(query)")
}

func TestParseRefusesBrokenQuotes(t *testing.T) {
	refuse(t, `say(text="\q")`)
}

func TestIntArgument(t *testing.T) {
	call := parse(t, "search(limit=12, page=x)")
	if n, err := call.Int("limit", 5); n != 12 || err != nil {
		t.Errorf("limit: got %d, %v", n, err)
	}
	if n, err := call.Int("offset", 5); n != 5 || err != nil {
		t.Errorf("offset: got %d, %v", n, err)
	}
	if _, err := call.Int("page", 5); !errors.Is(err, ErrSyntax) {
		t.Errorf("page: got %v, want a syntax error", err)
	}
}
