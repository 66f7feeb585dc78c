package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Status answers with an HTTP status and an error body of the protocol.
func Status(code int, message string) Reply {
	return failing(fmt.Sprint("status ", code), code, func(Request) string { return message })
}

// Body answers with an HTTP status and a body that is not of the protocol.
func Body(code int, contentType, body string) Reply {
	return Reply{name: fmt.Sprint("body ", code), status: &status{code: code, body: body, typ: contentType}}
}

func failing(name string, code int, words func(Request) string) Reply {
	return Reply{name: name, status: &status{code: code, words: words}}
}

// ContextLength refuses a request of any length as longer than limit, with HTTP 400.
func ContextLength(limit int) Reply {
	return failing("context length", http.StatusBadRequest, func(r Request) string { return tooLong(r, limit) })
}

// tooLong has the words of vLLM and of Anthropic.
func tooLong(r Request, limit int) string {
	switch {
	case r.Protocol == Anthropic && r.Prompt > limit:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", r.Prompt, limit)
	case r.Protocol == Anthropic:
		return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again",
			r.Prompt, r.MaxTokens, limit)
	}
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). "+
		"Please reduce the length of the messages or completion.", limit, r.Prompt+r.MaxTokens, r.Prompt, r.MaxTokens)
}

// ContextLengthNew is ContextLength in other words of vLLM, which counts
// the prompt no further than it has to.
func ContextLengthNew(limit int) Reply {
	return failing("context length, new words", http.StatusBadRequest, func(r Request) string {
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains at least %d input tokens, "+
			"for a total of at least %d tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
			limit, r.MaxTokens, r.Prompt, r.Prompt+r.MaxTokens)
	})
}

// Unauthorized refuses the key with HTTP 401 and repeats it in the message.
func Unauthorized() Reply {
	return failing("unauthorized", http.StatusUnauthorized, badKey)
}

func badKey(r Request) string {
	return "Incorrect API key provided: " + r.Key() + ". You can find your API key in the account settings."
}

// Forbidden refuses the key with HTTP 403.
func Forbidden() Reply {
	return Status(http.StatusForbidden, "Your key does not have permission to use this model.").named("forbidden")
}

// NoModel does not know the model: HTTP 404.
func NoModel() Reply {
	return failing("no model", http.StatusNotFound, func(r Request) string { return noModel(r.Model) })
}

func noModel(name string) string { return "The model `" + name + "` does not exist." }

// Unprocessable refuses the request with HTTP 422 and FastAPI's body.
func Unprocessable() Reply {
	return Body(http.StatusUnprocessableEntity, "application/json",
		`{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted","input":{}}]}`).named("unprocessable")
}

// UnknownParameter refuses a parameter as such with HTTP 400. Rules with Sends give it
// to those calls alone that have the parameter.
func UnknownParameter(name string) Reply {
	return Status(http.StatusBadRequest, "Unsupported parameter: '"+name+"' is not supported with this model.").named("unknown parameter")
}

// TooMany answers HTTP 429 with Retry-After in seconds, rounded up; none for 0.
func TooMany(after time.Duration) Reply {
	return Status(http.StatusTooManyRequests, "Rate limit reached for requests.").retryAfter(after).named("too many requests")
}

// TooManyUntil answers HTTP 429 with Retry-After as a date.
func TooManyUntil(at time.Time) Reply {
	return Status(http.StatusTooManyRequests, "Rate limit reached for requests.").
		Header("Retry-After", at.UTC().Format(http.TimeFormat)).named("too many requests until")
}

// Unavailable answers HTTP 503 with Retry-After in seconds, rounded up; none for 0.
func Unavailable(after time.Duration) Reply {
	return Status(http.StatusServiceUnavailable, "The server is overloaded: the waiting queue is full.").retryAfter(after).named("unavailable")
}

// Overloaded answers HTTP 529, as Anthropic does under load.
func Overloaded() Reply { return Status(529, "Overloaded").named("overloaded") }

func (r Reply) retryAfter(d time.Duration) Reply {
	if d <= 0 {
		return r
	}
	return r.Header("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
}

// ServerError answers HTTP 500.
func ServerError() Reply {
	return Status(http.StatusInternalServerError, "EngineCore encountered an issue. See stack trace (above) for the root cause.").named("server error")
}

// ProxyPage answers with the page of a proxy whose server is away, for instance
// HTTP 502. With 200 it is the page of a proxy that wants a login.
func ProxyPage(code int) Reply {
	page := fmt.Sprintf("<html>\r\n<head><title>%d %s</title></head>\r\n<body><center><h1>%[1]d %s</h1></center><hr><center>nginx</center></body>\r\n</html>\r\n", code, http.StatusText(code))
	return Body(code, "text/html", page).named("proxy page")
}

// Redirect sends the caller elsewhere with HTTP 307, which repeats the body.
func Redirect(url string) Reply {
	return Body(http.StatusTemporaryRedirect, "text/plain", "").Header("Location", url).named("redirect")
}

// MalformedBody answers HTTP 200 with a body that is no JSON.
func MalformedBody() Reply {
	return Body(http.StatusOK, "application/json", `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"mess`).named("malformed body")
}

// Reset closes the connection hard before a byte is sent.
func Reset() Reply { return Reply{name: "reset", reset: true} }

// Unscripted says that a test's script has no answer: HTTP 400 with the reason.
func Unscripted(why string) Reply {
	return Status(http.StatusBadRequest, "unscripted: "+why).named("unscripted")
}
