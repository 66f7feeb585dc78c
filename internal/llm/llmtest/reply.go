package llmtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Reply is what a call is answered: a text, or a fault. The constructors make
// replies; the methods return changed copies. A Reply is a Script that always
// gives itself.
type Reply struct {
	Text   string
	Chunks []string // how Text is streamed; nil: token by token
	Finish string   // why the answer ends, in OpenAI's words; empty for "stop"

	First time.Duration // wait before the first token
	Gap   time.Duration // wait before each further token

	name   string
	gate   *Gate
	status *status // in place of an answer
	plain  *status // in place of an answer that is not streamed
	header http.Header
	edits  []edit

	reset    bool // close the connection hard, without a byte
	silent   bool // send nothing at all, and keep the connection
	wholly   bool // ignore that a stream was asked for
	noUsage  bool
	endless  bool // do not keep to max_tokens
	noFinish bool
	noChoice bool
	refusal  bool
	bytewise bool // hand each byte to the network by itself
}

// Say answers with a text, as a healthy server does.
func Say(text string) Reply { return Reply{Text: text, name: "answer"} }

// Decide makes a Reply a Script.
func (r Reply) Decide(Request) Reply { return r }

// Name is what Request.Reply says of the calls that got this reply.
func (r Reply) Name() string { return r.name }

// At holds the reply back until the gate is open. A held reply takes no slot.
func (r Reply) At(g *Gate) Reply {
	r.gate = g
	return r
}

// Slow waits before the first token, and before each further one.
func (r Reply) Slow(first, gap time.Duration) Reply {
	r.First, r.Gap = first, gap
	return r
}

// Header sets a header of the response.
func (r Reply) Header(key, value string) Reply {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(key, value)
	return r
}

func (r Reply) named(name string) Reply {
	r.name = name
	return r
}

func (r Reply) edited(e edit) Reply {
	r.edits = append(slices.Clip(r.edits), e)
	return r
}

// status is a response that is no answer.
type status struct {
	code int
	// words gives the message for a request; nil for a body of its own.
	words func(Request) string
	body  string
	typ   string // content type of body
}

// answer is a reply made ready for one request.
type answer struct {
	id      string
	model   string
	text    string
	chunks  []string
	finish  string // in OpenAI's words; empty for none
	refusal bool
	choice  bool   // there is one
	tool    string // whose input the text is; empty for text

	usage                  bool // is reported
	prompt, cached, output int
}

// answer makes the reply ready, as far as max_tokens allows.
func (r Reply) answer(q Request, limit int) answer {
	a := answer{
		model: q.Model, text: r.Text, chunks: r.Chunks, finish: r.Finish, refusal: r.refusal, choice: !r.noChoice,
		usage: q.Usage && !r.noUsage, prompt: q.Prompt, cached: q.Cached,
	}
	if a.finish == "" {
		a.finish = "stop"
	}
	if isObject(r.Text) && !r.refusal {
		a.tool = q.Tool
	}
	tokens := Tokens(r.Text)
	a.output = len(tokens)
	if a.chunks == nil {
		a.chunks = tokens
	}
	if a.output > limit && !r.endless {
		a.chunks, a.output, a.finish = tokens[:limit], limit, "length"
		a.text = join(a.chunks)
	}
	if r.noFinish {
		a.finish = ""
	}
	return a
}

// isObject says whether a text can be the input of a tool. What cannot is sent as
// text, as compatible servers do that ignore which tool is to be called.
func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

func join(chunks []string) string {
	var out []byte
	for _, c := range chunks {
		out = append(out, c...)
	}
	return string(out)
}

// part says what a frame of a response is for.
type part int

const (
	opening part = iota // before anything is computed
	role                // comes with the first token
	token
	finish
	usage
	closing
)

// frame is a piece of a response: bytes, or something to do in their place.
type frame struct {
	part part
	data []byte
	act  func(*exchange) error
}

// stream is what an edit is told of the response. A plain one is a JSON body in two
// frames: a token and a closing one.
type stream struct {
	protocol
	plain bool
}

// edit changes the frames of an answer into those of a fault.
type edit func(s stream, frames []frame) []frame

// split divides frames before the one that follows the first n tokens; n is cut to
// the tokens that there are. With 0 the first token and its role come after.
func split(frames []frame, n int) (before, after []frame) {
	if n <= 0 {
		i := slices.IndexFunc(frames, func(f frame) bool { return f.part != opening })
		return frames[:max(i, 0)], frames[max(i, 0):]
	}
	last := 0
	for i, f := range frames {
		if f.part == token && n > 0 {
			n--
			last = i + 1
		}
	}
	return frames[:last], frames[last:]
}

// half is how many tokens a stream has sent when it breaks in the middle.
func half(frames []frame) int {
	n := 0
	for _, f := range frames {
		if f.part == token {
			n++
		}
	}
	return (n + 1) / 2
}

// breaking puts other frames in place of all after the first half of the tokens.
func breaking(with func(s stream) []frame) edit {
	return func(s stream, frames []frame) []frame {
		before, _ := split(frames, half(frames))
		return append(slices.Clip(before), with(s)...)
	}
}
