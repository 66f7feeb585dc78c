package benchmarks

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

// marker starts each line that the testing package itself writes when a test
// binary runs with -test.v=test2json. What tests print is not so marked; where
// t.Log prints a marker, the testing package puts an escape before it.
const (
	marker = '\x16'
	escape = '\x1b'
)

// testRecord is what a stream says of one top-level test.
type testRecord struct {
	started int             // "=== RUN" lines
	paused  bool            // waiting for its turn to run in parallel
	ended   []model.Outcome // Pass, Fail or Skip, one for each "---" line
	wall    time.Duration   // summed
	output  tail
}

// running reports whether the test was started, neither ended nor waiting.
func (r *testRecord) running() bool { return r.started > len(r.ended) && !r.paused }

// stream is the parsed standard output of one test process.
type stream struct {
	tests map[string]*testRecord
	final string // "PASS" or "FAIL", as printed at the end; empty when it was not
	last  string // the top-level test that ended last
}

func (s *stream) test(name string) *testRecord {
	r := s.tests[name]
	if r == nil {
		r = &testRecord{}
		s.tests[name] = r
	}
	return r
}

// outcome sums up all runs of a test with the given name: Pass when all passed.
func (s *stream) outcome(name string, want int) (model.Outcome, bool) {
	r := s.tests[name]
	if r == nil || len(r.ended) < want {
		return model.Missing, false
	}
	for _, o := range []model.Outcome{model.Fail, model.Skip} {
		if slices.Contains(r.ended, o) {
			return o, true
		}
	}
	return model.Pass, true
}

// parseStream reads the output of a test binary. It never fails: what is not
// understood is output of the test that was current.
func parseStream(out []byte) *stream {
	s := &stream{tests: map[string]*testRecord{}}
	current := ""
	for piece := range frames(out) {
		text, framed := bytes.CutPrefix(piece, []byte{marker})
		name, result, ok := "", false, false
		if framed {
			line, rest, _ := bytes.Cut(text, []byte{'\n'})
			if name, result, ok = s.frame(string(line)); ok {
				text = rest
				if result {
					text = piece[1:]
				}
				current = name
			}
		}
		if current != "" && len(text) > 0 {
			s.test(current).output.add(text)
		}
	}
	return s
}

// frames cuts out at each marker that is not escaped; only the first piece may lack one.
func frames(out []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		start := 0
		for i := 1; i < len(out); i++ {
			if out[i] == marker && out[i-1] != escape {
				if !yield(out[start:i]) {
					return
				}
				start = i
			}
		}
		if start < len(out) {
			yield(out[start:])
		}
	}
}

// frame takes in one line of the testing package. It returns the top-level test
// that what follows belongs to, and whether the line was a result.
func (s *stream) frame(line string) (name string, result, ok bool) {
	if line == "PASS" || line == "FAIL" {
		s.final = line
		return "", false, true
	}
	if rest, ok := strings.CutPrefix(line, "=== "); ok {
		verb, name, _ := strings.Cut(rest, " ")
		name = strings.TrimSpace(name)
		top, _, isSub := strings.Cut(name, "/")
		if !isSub {
			s.begin(verb, name)
		}
		return top, false, true
	}
	rest, ok := strings.CutPrefix(line, "--- ")
	if !ok {
		return "", false, false
	}
	verb, rest, ok := strings.Cut(rest, ": ")
	outcome, known := map[string]model.Outcome{"PASS": model.Pass, "FAIL": model.Fail, "SKIP": model.Skip}[verb]
	name, took, hasTime := strings.Cut(rest, " (")
	if !ok || !known || !hasTime {
		return "", false, false
	}
	top, _, isSub := strings.Cut(name, "/")
	if top == "" {
		return "", false, false
	}
	if !isSub {
		s.end(name, outcome, strings.TrimSuffix(took, ")"))
	}
	return top, true, true
}

func (s *stream) begin(verb, name string) {
	if name == "" {
		return
	}
	switch verb {
	case "RUN":
		s.test(name).started++
	case "PAUSE":
		s.test(name).paused = true
	case "CONT":
		s.test(name).paused = false
	}
}

func (s *stream) end(name string, o model.Outcome, took string) {
	r := s.test(name)
	r.ended = append(r.ended, o)
	r.paused = false
	if d, err := time.ParseDuration(took); err == nil && d > 0 {
		r.wall += d
	}
	s.last = name
}

// culprits are the tests that a process which ended early was running, or the
// one whose failure ended it.
func (s *stream) culprits() []string {
	var out []string
	for name, r := range s.tests {
		if r.running() {
			out = append(out, name)
		}
	}
	if r := s.tests[s.last]; r != nil && slices.Contains(r.ended, model.Fail) && !slices.Contains(out, s.last) {
		out = append(out, s.last)
	}
	slices.Sort(out)
	return out
}

// tail keeps the last MaxMessage bytes that are added to it.
type tail struct{ b []byte }

func (t *tail) add(p []byte) {
	if len(p) > model.MaxMessage {
		p = p[len(p)-model.MaxMessage:]
	}
	t.b = append(t.b, p...)
	if n := len(t.b) - model.MaxMessage; n > model.MaxMessage {
		t.b = append(t.b[:0], t.b[n:]...)
	}
}

// String is valid UTF-8 of at most MaxMessage bytes, cut at the start of a line where there is one.
func (t *tail) String() string {
	b := t.b
	if len(b) > model.MaxMessage {
		b = b[len(b)-model.MaxMessage:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}

// tailOf returns the end of some output as a message.
func tailOf(parts ...[]byte) string {
	var t tail
	for _, p := range parts {
		t.add(p)
	}
	return t.String()
}
