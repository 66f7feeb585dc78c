package benchmarks

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// marked turns ^V at the start of a line into the marker.
func marked(s string) []byte { return []byte(strings.ReplaceAll(s, "^V", "\x16")) }

func TestParseStream(t *testing.T) {
	s := parseStream(marked(`noise before
^V=== RUN   TestA
^V=== RUN   TestA/sub
    a_test.go:3: bad
^V--- FAIL: TestA/sub (0.00s)
^V=== NAME  TestA
    a_test.go:4: worse
^V--- FAIL: TestA (1.50s)
^V=== NAME  
^V=== RUN   TestPar
^V=== PAUSE TestPar
^V=== NAME  
^V=== RUN   TestSkip
no newline^V--- SKIP: TestSkip (0.00s)
^V=== CONT  TestPar
--- PASS: TestForged (0.00s)
^V--- PASS: TestPar (0.02s)
^V=== RUN   ExampleX
^V--- FAIL: ExampleX (0.00s)
got:
1
^V=== NAME   
^VFAIL
`))
	want := map[string]model.Outcome{"TestA": model.Fail, "TestSkip": model.Skip, "TestPar": model.Pass, "ExampleX": model.Fail}
	for name, o := range want {
		got, ended := s.outcome(name, 1)
		require.True(t, ended, name)
		require.Equal(t, o, got, name)
	}
	require.NotContains(t, s.tests, "TestForged", "a line without the marker is only output")
	require.NotContains(t, s.tests, "TestA/sub")
	require.Equal(t, "FAIL", s.final)
	require.Equal(t, 1500*time.Millisecond, s.tests["TestA"].wall)
	require.Contains(t, s.tests["TestA"].output.String(), "bad")
	require.Contains(t, s.tests["TestA"].output.String(), "worse")
	require.Contains(t, s.tests["ExampleX"].output.String(), "got:\n1")
	require.Equal(t, "no newline--- SKIP: TestSkip (0.00s)", strings.ReplaceAll(s.tests["TestSkip"].output.String(), "\n", ""))
}

func TestParseStreamEscapedMarker(t *testing.T) {
	s := parseStream(marked("^V=== RUN   TestA\n\x1b^V--- PASS: TestA (0.00s)\n"))
	_, ended := s.outcome("TestA", 1)
	require.False(t, ended)
}

func TestCulprits(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want []string
	}{
		"panic":  {"^V=== RUN   TestA\n^V--- PASS: TestA (0s)\n^V=== RUN   TestB\n^V--- FAIL: TestB (0s)\n", []string{"TestB"}},
		"hangs":  {"^V=== RUN   TestA\n^V--- PASS: TestA (0s)\n^V=== RUN   TestB\n", []string{"TestB"}},
		"paused": {"^V=== RUN   TestA\n^V=== PAUSE TestA\n^V=== RUN   TestB\n", []string{"TestB"}},
		"parallel": {"^V=== RUN   TestA\n^V=== PAUSE TestA\n^V=== RUN   TestB\n^V=== PAUSE TestB\n^V=== CONT  TestA\n^V=== CONT  TestB\n",
			[]string{"TestA", "TestB"}},
		"nothing": {"", nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, parseStream(marked(c.out)).culprits()) })
	}
}

func TestTail(t *testing.T) {
	var x tail
	for range 1000 {
		x.add([]byte("0123456789\n"))
	}
	s := x.String()
	require.LessOrEqual(t, len(s), model.MaxMessage)
	require.True(t, strings.HasPrefix(s, "0123456789\n"), "cut at a line")
	x.add(bytes.Repeat([]byte{'a', 0xff}, 1<<20))
	require.True(t, utf8.ValidString(x.String()))
}

func FuzzParseStream(f *testing.F) {
	f.Add(marked("^V=== RUN   TestA\n^V--- PASS: TestA (0.00s)\n^VPASS\n"))
	f.Add(marked("^V^V--- FAIL: (\n^V=== \n^V=== RUN\n^V--- PASS: a/b (x"))
	f.Add(marked("x\x1b^V--- SKIP: T (9999999999h)^V--- SKIP: T (-1s)"))
	f.Fuzz(func(t *testing.T, out []byte) {
		whole := 0
		for piece := range frames(out) {
			whole += len(piece)
		}
		if whole != len(out) {
			t.Fatalf("frames lost %d bytes", len(out)-whole)
		}
		s := parseStream(out)
		for name, r := range s.tests {
			if strings.Contains(name, "/") || name == "" {
				t.Fatalf("not a top-level test: %q", name)
			}
			if len(r.ended) > bytes.Count(out, []byte("\x16--- ")) || r.wall < 0 {
				t.Fatalf("%q: %d results", name, len(r.ended))
			}
			if m := r.output.String(); len(m) > model.MaxMessage || !utf8.ValidString(m) {
				t.Fatalf("bad message of %d bytes", len(m))
			}
		}
		s.culprits()
	})
}
