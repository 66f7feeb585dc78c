package llmtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrorChunk streams half of the text, then an error, after HTTP 200. What is not
// streamed fails with HTTP 500.
func ErrorChunk(text, message string) Reply {
	r := Say(text).edited(breaking(func(s stream) []frame { return s.failure(message) })).named("error chunk")
	r.plain = &status{code: http.StatusInternalServerError, words: func(Request) string { return message }}
	return r
}

// Truncated sends half of the text and drops the connection.
func Truncated(text string) Reply {
	return Say(text).edited(breaking(func(stream) []frame { return []frame{{act: (*exchange).hangUp}} })).named("truncated")
}

// ResetAfter is Truncated with a hard close.
func ResetAfter(text string) Reply {
	return Say(text).edited(breaking(func(stream) []frame { return []frame{{act: (*exchange).reset}} })).named("reset after")
}

// CleanEnd streams the whole text and ends the response in good form, but without
// finish reason, usage and end mark.
func CleanEnd(text string) Reply {
	r := Say(text).edited(without(finish, usage, closing)).named("clean end")
	r.noFinish = true
	return r
}

// NoFinish streams the whole text and the end mark, but no finish reason.
func NoFinish(text string) Reply {
	r := Say(text).named("no finish")
	r.noFinish = true
	return r
}

// NoDone streams everything but the end mark that follows the finish reason.
func NoDone(text string) Reply { return Say(text).edited(without(closing)).named("no end mark") }

func without(parts ...part) edit {
	return func(s stream, frames []frame) []frame {
		if s.plain {
			return frames
		}
		return slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return slices.Contains(parts, f.part) })
	}
}

// Stall sends the first n tokens and then nothing, until the caller goes away. With
// 0 only the header is sent.
func Stall(text string, n int) Reply {
	return Say(text).edited(func(_ stream, frames []frame) []frame {
		before, _ := split(frames, n)
		return append(slices.Clip(before), frame{act: (*exchange).stall})
	}).named("stall")
}

// Silence takes the request and never answers, not even with a header.
func Silence() Reply { return Reply{name: "silence", silent: true} }

// KeepAlive sends the first n tokens and from then on only what keeps a connection
// alive, every gap, until the caller goes away.
func KeepAlive(text string, n int, gap time.Duration) Reply {
	return Say(text).edited(func(s stream, frames []frame) []frame {
		before, _ := split(frames, n)
		return append(slices.Clip(before), frame{act: func(x *exchange) error { return x.drip(s.keepAlive(), gap) }})
	}).named("keep-alive")
}

// SlowFirst waits before the first token and is a right answer then.
func SlowFirst(text string, wait time.Duration) Reply {
	return Say(text).Slow(wait, 0).named("slow first token")
}

// Trickle waits before every token and is a right answer.
func Trickle(text string, gap time.Duration) Reply {
	return Say(text).Slow(gap, gap).named("trickle")
}

// MalformedChunk streams half of the text, then a chunk that is no JSON, then the
// end mark.
func MalformedChunk(text string) Reply {
	return Say(text).edited(func(s stream, frames []frame) []frame {
		before, after := split(frames, half(frames))
		out := append(slices.Clip(before), frame{data: s.event(`{"id":"chatcmpl-1","type":"content_block_delta","choices":[{"del`)})
		return append(out, slices.DeleteFunc(slices.Clone(after), func(f frame) bool { return f.part != closing })...)
	}).named("malformed chunk")
}

// EmptyAnswer is an answer without a token.
func EmptyAnswer() Reply { return Say("").named("empty answer") }

// EmptyChoices is an answer without a choice, or without a block of content.
func EmptyChoices() Reply {
	r := Say("").named("empty choices")
	r.noChoice = true
	return r
}

// Refusal answers with a refusal in the protocol's form.
func Refusal(text string) Reply {
	r := Say(text).named("refusal")
	r.refusal = true
	return r
}

// Prose answers like a model that talks and changes nothing.
func Prose() Reply {
	return Say("I have looked at the code carefully. The function seems correct to me, although one could consider handling more cases. Let me know if you want me to go on!").named("prose")
}

// WrongSchema answers with JSON that is of no schema that anyone asks for.
func WrongSchema() Reply { return Say(`{"unexpected": [1, 2, {"deep": null}]}`).named("wrong schema") }

// CutShort ends at the token limit, wherever that is.
func CutShort(text string) Reply {
	r := Say(text).named("cut short")
	r.Finish = "length"
	return r
}

// NoUsage is a right answer that does not say what it used.
func NoUsage(text string) Reply {
	r := Say(text).named("no usage")
	r.noUsage = true
	return r
}

// Duplicated is a right answer whose finish and end mark are sent twice.
func Duplicated(text string) Reply {
	return Say(text).edited(func(s stream, frames []frame) []frame {
		if s.plain {
			return frames
		}
		return append(slices.Clip(frames), slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return f.part != finish && f.part != closing })...)
	}).named("duplicated")
}

// CutUTF8 streams a text in pieces that cut runes of several bytes in two, as servers
// do that decode each token by itself.
func CutUTF8(text string) Reply {
	r := Say(text).named("cut UTF-8")
	for len(text) > 0 {
		_, n := utf8.DecodeRuneInString(text)
		cut := max(n/2, 1)
		r.Chunks = append(r.Chunks, text[:cut])
		if cut < n {
			r.Chunks = append(r.Chunks, text[cut:n])
		}
		text = text[n:]
	}
	return r
}

// Bytewise is a right answer that reaches the network one byte at a time.
func Bytewise(text string) Reply {
	r := Say(text).named("bytewise")
	r.bytewise = true
	return r
}

// Huge streams about n bytes of text, whatever max_tokens says.
func Huge(n int) Reply {
	const piece = 32 << 10
	r := Reply{name: "huge", endless: true, Chunks: []string{}}
	line := strings.Repeat("all work and no play ", piece/21)
	for size := 0; size < n; size += len(line) {
		r.Chunks = append(r.Chunks, line)
	}
	return r
}

// HugeLine sends one line of n bytes without an end, after HTTP 200.
func HugeLine(n int) Reply {
	const piece = 64 << 10
	r := Say("").edited(func(_ stream, _ []frame) []frame {
		out := []frame{{data: []byte("data: ")}}
		for size := 0; size < n; size += piece {
			out = append(out, frame{data: []byte(strings.Repeat("x", piece))})
		}
		return out
	})
	return r.named("huge line")
}

// WrongType is a right answer with the content type of something else.
func WrongType(text string) Reply {
	return Say(text).Header("Content-Type", "text/plain; charset=utf-8").named("wrong content type")
}

// NotStreamed answers with one body, also where a stream was asked for.
func NotStreamed(text string) Reply {
	r := Say(text).named("not streamed")
	r.wholly = true
	return r
}
