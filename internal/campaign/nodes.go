package campaign

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// unsupported names the features of YAML that a campaign file does without.
func unsupported(n ast.Node) (problem, hint string) {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "there is no value", "write one, or remove the element"
	case *ast.AnchorNode, *ast.AliasNode:
		return "anchors and aliases are not supported", "write the value out"
	case *ast.TagNode:
		return "tags are not supported", "write the value without it"
	}
	return "", ""
}

// kindOf names what a node is, for people.
func kindOf(n ast.Node) string {
	switch x := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + x.GetToken().Value
	case *ast.StringNode, *ast.LiteralNode:
		return "the text " + quote(textOf(n))
	}
	return "something else"
}

func isText(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// textOf is the text of a scalar as it stands in the file, "" for anything else.
func textOf(n ast.Node) string {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value
	case *ast.LiteralNode:
		if x.Value == nil {
			return ""
		}
		return x.Value.Value
	case *ast.MappingNode, *ast.SequenceNode:
		return ""
	}
	if t := n.GetToken(); t != nil {
		return t.Value
	}
	return ""
}

func numberHint(n ast.Node) string {
	text := textOf(n)
	switch {
	case text != "" && strings.Trim(text, "0123456789.eE+-_xX") == "":
		if isText(n) && len(text) < 16 {
			return "write it without quotes, in plain digits"
		}
		return "that is larger than any sensible value, or no whole number"
	default:
		return "write it in plain digits"
	}
}

// join appends a key to the path of its parent.
func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// fieldsOf maps the keys of the struct v to its fields.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i, k := range keysOf(v.Type()) {
		out[k] = v.Field(i)
	}
	return out
}

// keysOf lists the keys of a struct type in the order of its fields.
func keysOf(t reflect.Type) []string {
	out := make([]string, t.NumField())
	for i := range out {
		out[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return out
}

// keyHint says what an unknown key was probably meant to be.
func keyHint(name, parent string, t reflect.Type) string {
	known := keysOf(t)
	if near := nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if home := homeOf(name, "", reflect.TypeFor[Spec]()); home != "" && home != parent {
		return "it belongs to " + home
	}
	return fmt.Sprintf("the keys here are %s", strings.Join(known, ", "))
}

// homeOf finds the first part of the file that has a key of that name.
func homeOf(name, path string, t reflect.Type) string {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	for i, k := range keysOf(t) {
		if k == name && path != "" {
			return path
		}
		if home := homeOf(name, join(path, k), t.Field(i).Type); home != "" {
			return home
		}
	}
	return ""
}
