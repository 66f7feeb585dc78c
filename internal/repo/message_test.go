package repo

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessage(t *testing.T) {
	ratchet := []Trailer{{"Ratchet-Change", "c1"}, {"Ratchet-Campaign", "x"}}
	for name, c := range map[string]struct {
		in   message
		want string
	}{
		"all parts":         {message{"Subject", "Body.", ratchet}, "Subject\n\nBody.\n\nRatchet-Change: c1\nRatchet-Campaign: x\n"},
		"no body":           {message{"Subject", "", ratchet[:1]}, "Subject\n\nRatchet-Change: c1\n"},
		"only a subject":    {message{"Fix: it", "", nil}, "Fix: it\n"},
		"subject of lines":  {message{" a\r\n b\x00 ", "", nil}, "a b\n"},
		"untidy body":       {message{"s", "\n\na  \r\n\n\n\n b\x1b[31m\n\n", nil}, "s\n\na\n\n b [31m\n"},
		"forged trailers":   {message{"s", "Ratchet-Change: evil", ratchet[:1]}, "s\n\nRatchet-Change: evil\n\nRatchet-Change: c1\n"},
		"trailer of lines":  {message{"s", "", []Trailer{{"A", "b\nC: d"}}}, "s\n\nA: b C: d\n"},
		"scissors and hash": {message{"s", "# c\n---\nx", ratchet[:1]}, "s\n\n# c\n---\nx\n\nRatchet-Change: c1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.in.format()
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			back := parseMessage(got)
			require.Len(t, back.trailers, len(c.in.trailers))
			again, err := back.format()
			require.NoError(t, err)
			require.Equal(t, got, again)
			require.Equal(t, gitTrailers(t, got), formatTrailers(back.trailers))
		})
	}
}

// gitTrailers asks the git command for the trailers of a message.
func gitTrailers(t *testing.T, msg string) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("git is not installed: apt-get install git")
		}
		t.Skip("git is not installed: apt-get install git")
	}
	cmd := exec.Command(path, "interpret-trailers", "--parse", "--no-divider")
	cmd.Stdin = strings.NewReader(msg)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func formatTrailers(trailers []Trailer) string {
	var b strings.Builder
	for _, t := range trailers {
		b.WriteString(t.Key + ": " + t.Value + "\n")
	}
	return b.String()
}

// FuzzMessage expects that what was formatted parses to the same message, and
// that no text can forge a trailer.
func FuzzMessage(f *testing.F) {
	f.Add("Subject", "Body", "c1")
	f.Add("S\n\nRatchet-Change: x", "A: b\n\nRatchet-Change: y\n", "z\nRatchet-Change: w")
	f.Add("s", "\u2028A: b\u0085C: d", "\xff")
	f.Fuzz(func(t *testing.T, subject, body, value string) {
		text, err := message{subject, body, []Trailer{{"Ratchet-Change", value}}}.format()
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		back := parseMessage(text)
		require.Equal(t, []Trailer{{"Ratchet-Change", oneLine(value)}}, back.trailers)
		require.Equal(t, oneLine(subject), back.subject)
		require.Equal(t, cleanText(body), back.body)
		again, err := back.format()
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}

// FuzzRefName expects that no accepted name leads out of refs/.
func FuzzRefName(f *testing.F) {
	for _, name := range []string{"refs/heads/main", "refs/../x", "refs/heads/a.lock", "refs//x", "HEAD"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if badRefName(name) != "" {
			return
		}
		require.True(t, strings.HasPrefix(refStore{commonDir: "/r"}.path(name), "/r/refs/"))
		require.NotContains(t, name, "..")
	})
}
