package wire

import "bytes"

// EventFault reads the error that an event of a chat stream carries, and says
// whether there is one: by the type of the event, or in its data, for all of the
// answer or for a choice. An error that holds nothing is none: some servers send one
// with each chunk.
func EventFault(kind string, data []byte) (Fault, bool) {
	if kind == "error" {
		return ReadFault(data), true
	}
	if !bytes.Contains(data, []byte(`"error"`)) { // nearly always
		return Fault{}, false
	}
	top, ok := object(data)
	if !ok {
		return Fault{}, false
	}
	if holds(top["error"]) || top["object"] == "error" || top["type"] == "error" {
		return ReadFault(data), true
	}
	choices, _ := top["choices"].([]any)
	for _, c := range choices {
		if choice, ok := c.(map[string]any); ok && holds(choice["error"]) {
			f := stated(choice)
			if f.Message == "" {
				f.Message = str(choice["error"])
			}
			return f, true
		}
	}
	return Fault{}, false
}

// holds says whether a value of JSON has anything in it.
func holds(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0
	case []any:
		for _, item := range v {
			if holds(item) {
				return true
			}
		}
		return false
	case map[string]any:
		for _, item := range v {
			if holds(item) {
				return true
			}
		}
		return false
	}
	return true
}
