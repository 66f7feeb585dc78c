package benchmarks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frame signs a line as the driver does.
func frame(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)) + " " + text + "\n"
}

func TestPyFrames(t *testing.T) {
	key := []byte("k")
	begin, end := frame(key, `{"n":0,"t":"begin","id":"a"}`), frame(key, `{"n":1,"t":"end"}`)
	for name, c := range map[string]struct {
		out      string
		frames   int
		complete bool
	}{
		"all":               {begin + end, 2, true},
		"noise":             {"noise\n" + begin + "\n" + strings.Repeat("x", 100) + "\n" + end + "more", 2, true},
		"nothing":           {"", 0, false},
		"no end":            {begin, 1, false},
		"cut":               {begin + strings.TrimSuffix(end, "\n"), 1, false},
		"another key":       {frame([]byte("other"), `{"n":0,"t":"begin"}`) + frame([]byte("other"), `{"n":0,"t":"end"}`), 0, false},
		"repeated":          {begin + begin + end, 2, true},
		"left out":          {end, 0, false},
		"changed":           {strings.Replace(begin, `"a"`, `"b"`, 1), 0, false},
		"no JSON":           {frame(key, "x"), 0, false},
		"what comes behind": {begin + end + frame(key, `{"n":2,"t":"result"}`), 2, true},
	} {
		frames, complete := parsePyFrames([]byte(c.out), key)
		require.Len(t, frames, c.frames, name)
		require.Equal(t, c.complete, complete, name)
	}
}

func FuzzPyFrames(f *testing.F) {
	key := []byte("k")
	f.Add([]byte(frame(key, `{"n":0,"t":"child","c":0,"ids":["a.py::b"]}`) + frame(key, `{"n":1,"t":"exit","status":-9}`)))
	f.Add([]byte("00 {}\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		frames, _ := parsePyFrames(out, key)
		if strings.Count(string(out), "\n") < len(frames) {
			t.Fatal("more frames than lines")
		}
		r := &pyRun{canaries: map[string]pyCanaries{}}
		for _, c := range pyChildren(frames) {
			r.misjudged(c)
			for _, id := range c.ids {
				if res := c.result(id, false); res.Score > 0 && !c.done() {
					t.Fatal("believed a child that was not done")
				}
			}
		}
	})
}
