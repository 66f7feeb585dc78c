package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ratchet/internal/llm"
)

// Fault is what a server says when something is wrong, in whichever form.
type Fault struct {
	Message string
	Type    string // such as overloaded_error
	Code    string // such as context_length_exceeded, or a number
	Param   string // the parameter that it is about
	// Stated means that the server called it an error, so that it is one whatever
	// the status says.
	Stated bool
}

// Refusal is a response that is no answer.
type Refusal struct {
	Status     int
	RetryAfter time.Duration
	Fault      Fault
	// NoStream is the media type of a response that should have been a stream.
	NoStream string
	// Computed is the size in bytes of what may be an answer in another form.
	Computed int
	// Kind is the kind of error where the status does not tell; nil where it does.
	Kind error
}

func (r *Refusal) Error() string { return fmt.Sprintf("HTTP %d: %s", r.Status, r.Fault.Message) }

// ReadFault reads the body of a refusal, or the data of an error event. It takes
// the forms of vLLM, Ollama, FastAPI, OpenAI and Anthropic; of anything else the
// whole text is the message.
func ReadFault(body []byte) Fault {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "�"))
	top, ok := object(body)
	if !ok {
		return Fault{Message: text}
	}
	f := stated(top)
	if f.Message == "" {
		f.Message = text
	}
	return f
}

func stated(top map[string]any) Fault {
	f := faultOf(top)
	f.Stated = top["object"] == "error" || top["type"] == "error"
	switch inner := top["error"].(type) {
	case string:
		f.Message, f.Stated = inner, true
	case map[string]any:
		f = faultOf(inner)
		f.Stated = true
	}
	return f
}

// object reads an object, or the first one of a list, which is how Google's servers
// wrap an error.
func object(body []byte) (map[string]any, bool) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return nil, false
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	return top, ok
}

func faultOf(m map[string]any) Fault {
	if inner, ok := m["message"].(map[string]any); ok && inner["detail"] != nil { // Mistral's
		m["message"] = detail(inner["detail"])
	}
	f := Fault{Message: str(m["message"]), Type: str(m["type"]), Code: str(m["code"]), Param: str(m["param"])}
	if f.Message == "" {
		f.Message = detail(m["detail"])
	}
	return f
}

// detail is the message of FastAPI: a text, or a list of findings, of which the
// input is left out, because it is the prompt.
func detail(v any) string {
	list, ok := v.([]any)
	if !ok {
		return str(v)
	}
	var out []string
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, strings.TrimSpace(str(m["loc"])+" "+str(m["msg"])+" "+str(m["type"])))
		}
	}
	return strings.Join(out, "; ")
}

// str is a value of JSON as text; a list or an object as JSON.
func str(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Names says whether the fault speaks of a parameter.
func (f Fault) Names(param string) bool {
	return strings.Contains(f.Param, param) || strings.Contains(f.Message, param) || strings.Contains(f.Code, param)
}

// unknown are the words with which servers refuse a parameter as such, and not
// the value of one that they know.
var unknown = []string{
	"unsupported", "not support", "n't support", "unrecognized", "unknown", "unexpected", "extra", "not permitted", "not allowed",
	"not implemented", "deprecated", "invalid parameter", "only the default",
}

// Unsupported says whether the fault is that a parameter is not taken.
func (f Fault) Unsupported(param string) bool { return f.Names(param) && f.says(unknown) }

// overflow are the words of servers whose model is too small for a prompt.
var overflow = []string{
	"context_length_exceeded", "maximum context length", "context length", "context window", "context size", "exceed_context", "maximum model length",
	"max_model_len", "maximum prompt length", "exceeds the maximum allowed length", "input token count", "`inputs` tokens + ", "`inputs` must have less than", "too many tokens", "prompt is too long", "input is too long", "prompt too long", "input length and `max_tokens` exceed",
}

// Overflow says whether the fault is that a prompt is too long.
func (f Fault) Overflow() bool { return f.says(overflow) }

// spent are the words for an account without money.
var spent = []string{"insufficient_quota", "exceeded your current quota", "credit balance", "billing"}

func (f Fault) says(words []string) bool {
	all := strings.ToLower(f.Message + "\n" + f.Type + "\n" + f.Code)
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}

// kindOfStatus is the kind of error of a refusal.
func kindOfStatus(status int, f Fault) error {
	switch {
	case (status == 400 || status == 413 || status == 422 || status == 500) && f.Overflow(), status == 413:
		return llm.ErrContext
	case status == 401, status == 402, status == 403, status == http.StatusProxyAuthRequired, (status == 429 || status == 400) && f.says(spent):
		return llm.ErrAuth
	case status/100 == 3, status == 404, status == 405, status == 410:
		return llm.ErrNoModel
	case status == 429, status == 503, status == 529:
		return llm.ErrOverloaded
	case status == 408, status == 409, status == 425, status >= 500:
		return llm.ErrUnavailable
	}
	return llm.ErrRequest
}

// kindOfType is the kind of an error by its name, nil for names that say little.
func kindOfType(f Fault) error {
	switch strings.ToLower(f.Type) {
	case "overloaded_error", "rate_limit_error", "rate_limit_exceeded", "serviceunavailableerror", "toomanyrequestserror":
		return llm.ErrOverloaded
	case "authentication_error", "permission_error", "billing_error":
		return llm.ErrAuth
	case "not_found_error", "notfounderror":
		return llm.ErrNoModel
	case "invalid_request_error", "badrequesterror":
		return llm.ErrRequest
	}
	return nil
}

// kindOfEvent is the kind of an error that a stream carries after HTTP 200. What
// says no more than that the server failed is ErrTruncated once tokens came.
func kindOfEvent(f Fault, tokens bool) error {
	if f.Overflow() {
		return llm.ErrContext
	}
	kind := kindOfType(f)
	if status, err := strconv.Atoi(f.Code); err == nil && status >= 400 && status < 600 && kind == nil {
		kind = kindOfStatus(status, f)
	}
	switch {
	case kind != nil && kind != llm.ErrUnavailable:
		return kind
	case tokens:
		return llm.ErrTruncated
	}
	return llm.ErrUnavailable
}

// maxRetryAfter bounds what is believed of a server's clock.
const maxRetryAfter = 24 * time.Hour

// RetryAfter is how long a server asks to be left alone, 0 when it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return span(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return span(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		return span(t.Sub(now).Seconds())
	}
	return 0
}

func span(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// maxDetail is how much of a server's words an error repeats, in bytes.
const maxDetail = 500

// Line makes one line of a server's words, of at most maxDetail bytes, to be logged
// and shown in terminals: without a key, in whichever form servers repeat what they
// were sent, without control characters, which a terminal obeys, and without
// characters that nobody sees.
func Line(key llm.Scrubber, text string) string {
	return cut(hide(key, strings.Map(shown, strings.ToValidUTF8(text, "\uFFFD"))))
}

func shown(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	}
	return r
}

// cut shortens text to one line of at most maxDetail bytes.
func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxDetail {
		return text
	}
	text = text[:maxDetail]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
