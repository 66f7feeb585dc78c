package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/invopop/jsonschema"
)

// JSON writes s canonically: equal campaigns give equal bytes, every default is
// spelled out, and FromJSON (or Parse) reads it back.
func JSON(s Spec) ([]byte, error) {
	if s.Sandbox.Setup == nil {
		s.Sandbox.Setup = []string{}
	}
	if s.Paths.Deny == nil {
		s.Paths.Deny = []string{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("campaign: write %s as JSON: %w", s.Name, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// FromJSON reads what JSON wrote. JSON is YAML, so keys that an older version
// did not know yet get their defaults, and the checks are those of Parse.
func FromJSON(data []byte) (Spec, error) {
	s, err := Parse(data, ParseOptions{File: "stored campaign"})
	if err != nil {
		return Spec{}, fmt.Errorf("campaign: read stored JSON: %w", err)
	}
	return s, nil
}

// Schema returns the JSON Schema (2020-12) of a campaign file, indented.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
	}
	root := r.Reflect(Spec{})
	root.Title = "ratchet campaign"
	root.Description = "One effort to improve one repository against its benchmarks."
	if err := describe("", root, reflect.TypeFor[Spec](), reflect.ValueOf(Default())); err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("campaign: write the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// describe adds defaults and rules to the schema of one key and those below it.
func describe(key string, s *jsonschema.Schema, t reflect.Type, value reflect.Value) error {
	ruleFor(key).describe(s, t)
	switch t.Kind() {
	case reflect.Struct:
		for i, k := range keysOf(t) {
			below, ok := s.Properties.Get(k)
			if !ok {
				return fmt.Errorf("campaign: the schema lacks the key %s", join(key, k))
			}
			if err := describe(join(key, k), below, t.Field(i).Type, value.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		element := reflect.Zero(t.Elem())
		switch t.Elem() {
		case reflect.TypeFor[Suite]():
			element = reflect.ValueOf(defaultSuite())
		case reflect.TypeFor[Endpoint]():
			element = reflect.ValueOf(blankEndpoint())
		}
		if !value.IsZero() {
			s.Default = value.Interface()
		}
		return describe(key+"[0]", s.Items, t.Elem(), element)
	default:
		if !value.IsZero() {
			s.Default = value.Interface()
		}
	}
	return nil
}

func (r rule) describe(s *jsonschema.Schema, t reflect.Type) {
	s.Pattern = r.pattern
	for _, e := range r.enum {
		s.Enum = append(s.Enum, e)
	}
	if s.Type == "array" && r.items {
		one := uint64(1)
		s.MinItems = &one
	}
	s.UniqueItems = s.Type == "array" && r.unique
	switch t {
	case reflect.TypeFor[Duration]():
		s.Type, s.Pattern = "string", `^\+?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`
	case reflect.TypeFor[Size]():
		s.Type, s.Pattern = "string", `^[0-9]+(\.[0-9]*)? *(B|KiB|MiB|GiB|TiB)$`
	default:
		r.bounds(s)
	}
}

func (r rule) bounds(s *jsonschema.Schema) {
	if r.max == 0 || s.Type != "integer" && s.Type != "number" {
		return
	}
	number := func(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', -1, 64)) }
	s.Maximum = number(r.max)
	if r.above {
		s.ExclusiveMinimum = number(r.min)
	} else {
		s.Minimum = number(r.min)
	}
}
