package campaign

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// node is the part of a JSON Schema that these tests look at.
type node struct {
	Type                 string           `json:"type"`
	Description          string           `json:"description"`
	Properties           map[string]*node `json:"properties"`
	AdditionalProperties *bool            `json:"additionalProperties"`
	Items                *node            `json:"items"`
	Enum                 []string         `json:"enum"`
	Default              any              `json:"default"`
	Required             []string         `json:"required"`
}

func schema(t *testing.T) *node {
	t.Helper()
	b, err := Schema()
	require.NoError(t, err)
	var root node
	require.NoError(t, json.Unmarshal(b, &root))
	return &root
}

// TestSchemaAndParserAgree gives the parser every key of the schema, which it
// must know, and a stranger beside each, which both must refuse.
func TestSchemaAndParserAgree(t *testing.T) {
	keys := 0
	var visit func(path []string, n *node)
	visit = func(path []string, n *node) {
		for n.Items != nil {
			path, n = append(path, "[]"), n.Items
		}
		if n.Properties == nil {
			return
		}
		require.False(t, *n.AdditionalProperties, path)
		require.True(t, refused(t, append(path, "stranger")), path)
		for key, below := range n.Properties {
			keys++
			require.NotEmpty(t, below.Description, key)
			require.False(t, refused(t, append(path, key)), "%v.%s", path, key)
			visit(append(append([]string{}, path...), key), below)
		}
	}
	visit(nil, schema(t))
	require.Equal(t, countKeys(reflect.TypeFor[Spec]()), keys)
	require.Equal(t, 79, keys)
}

// refused says whether the parser reports the key at path as unknown.
func refused(t *testing.T, path []string) bool {
	t.Helper()
	file := "0"
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == "[]" {
			file = "[" + file + "]"
		} else {
			file = "{" + path[i] + ": " + file + "}"
		}
	}
	_, err := Parse([]byte(file), ParseOptions{})
	require.Error(t, err)
	return strings.Contains(err.Error(), "there is no such key")
}

func countKeys(t reflect.Type) int {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return 0
	}
	n := t.NumField()
	for i := range t.NumField() {
		n += countKeys(t.Field(i).Type)
	}
	return n
}

// TestSchemaDefaults builds a file from the schema's defaults alone: it must
// mean the same as a file that leaves every key out.
func TestSchemaDefaults(t *testing.T) {
	var build func(n *node) any
	build = func(n *node) any {
		if n.Properties == nil {
			return n.Default
		}
		out := map[string]any{}
		for k, below := range n.Properties {
			if v := build(below); v != nil {
				out[k] = v
			}
		}
		return out
	}
	file := build(schema(t)).(map[string]any)
	file["name"], file["repo"] = "sharper-agent", "./agent"
	b, err := json.Marshal(file)
	require.NoError(t, err)
	got, err := FromJSON(b)
	require.NoError(t, err)
	want, err := Parse([]byte(minimal), ParseOptions{})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestSchemaEnums(t *testing.T) {
	root := schema(t)
	require.Equal(t, []string{"name", "repo"}, root.Required)
	require.Equal(t, kinds(), root.Properties["suites"].Items.Properties["kind"].Enum)
	require.Equal(t, []string{"auto", "person"}, root.Properties["approval"].Properties["keep"].Enum)
	require.Equal(t, []string{"kind"}, root.Properties["proposers"].Items.Required)
}

// TestEveryRuleHasItsKey catches a rule whose key was renamed.
func TestEveryRuleHasItsKey(t *testing.T) {
	root := schema(t)
	for key := range rules {
		n := root
		for _, part := range strings.Split(key, ".") {
			if n.Items != nil {
				n = n.Items
			}
			n = n.Properties[part]
			require.NotNil(t, n, key)
		}
	}
}

func TestJSONIsCanonical(t *testing.T) {
	s, err := Parse([]byte(full), ParseOptions{Dir: "/srv"})
	require.NoError(t, err)
	a, err := JSON(s)
	require.NoError(t, err)
	s.Sandbox.Setup, s.Paths.Deny = nil, nil
	b, err := JSON(s)
	require.NoError(t, err)
	require.Contains(t, string(b), `"setup":[]`)
	require.Contains(t, string(b), `"deny":[]`)
	back, err := FromJSON(a)
	require.NoError(t, err)
	again, err := JSON(back)
	require.NoError(t, err)
	require.Equal(t, string(a), string(again))
	_, err = FromJSON([]byte(`{"name":"a","repo":"b","colour":1}`))
	require.ErrorContains(t, err, "colour: there is no such key")
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h",
		10 * time.Hour: "10h", 61 * time.Minute: "1h1m", time.Hour + time.Second: "1h0m1s", -2 * time.Hour: "-2h", 10 * time.Minute: "10m",
	} {
		require.Equal(t, want, Duration(d).String())
		var back Duration
		require.NoError(t, back.UnmarshalText([]byte(want)))
		require.Equal(t, d, back.Std())
	}
}

func TestSizeText(t *testing.T) {
	for s, want := range map[Size]string{
		0: "0B", 1: "1B", 1023: "1023B", 1024: "1KiB", 1 << 20: "1MiB", 3 << 29: "1536MiB", 1 << 30: "1GiB", 2 << 40: "2TiB",
	} {
		require.Equal(t, want, s.String())
		var back Size
		require.NoError(t, back.UnmarshalText([]byte(want)))
		require.Equal(t, s, back)
	}
}

// FuzzParse checks that no file makes Parse panic, that every error has a
// problem, and that whatever is accepted survives being stored.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add(minimal)
	f.Add("name: a\nrepo: \"b \\\" \\\\ \u2028 é\"\n")
	f.Add("name: a\nrepo: |\n  b\n")
	f.Add("{name: a, repo: b, suites: [{heldout: {problems: ['x: y', \"#\"]}}]}")
	f.Add("? a\n: b\n")
	f.Add("a: *b\n&c d: !!e f\n<<: [\n")
	f.Fuzz(func(t *testing.T, file string) {
		if len(file) > 4<<10 {
			t.Skip("the YAML library is quadratic in depth")
		}
		s, err := Parse([]byte(file), ParseOptions{Dir: "/srv"})
		if err != nil {
			for _, e := range err.(*Errors).List {
				require.NotEmpty(t, e.Problem)
			}
			return
		}
		b, err := JSON(s)
		require.NoError(t, err)
		back, err := FromJSON(b)
		require.NoError(t, err, string(b))
		require.Equal(t, fmt.Sprintf("%+v", s), fmt.Sprintf("%+v", back))
	})
}
