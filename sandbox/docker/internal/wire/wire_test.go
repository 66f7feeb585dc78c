package wire

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	require.NoError(t, w.Write(KindData, []byte("hello")))
	require.NoError(t, w.Write(KindEOF, nil))
	require.NoError(t, w.WriteIndexed(KindStdout, 3, []byte("out")))
	require.NoError(t, w.WriteJSON(KindReply, Reply{Fault: FaultPath}))
	big := bytes.Repeat([]byte("x"), 3*Chunk+1)
	require.NoError(t, w.WriteChunks(KindData, big))

	r := NewReader(&buf)
	b, err := r.Expect(KindData)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
	_, err = r.Expect(KindEOF)
	require.NoError(t, err)
	b, err = r.Expect(KindStdout)
	require.NoError(t, err)
	i, rest, err := Index(b, 4)
	require.NoError(t, err)
	require.Equal(t, 3, i)
	require.Equal(t, "out", string(rest))
	_, _, err = Index(b, 3)
	require.ErrorIs(t, err, ErrFrame)
	_, err = r.Expect(KindData)
	require.ErrorIs(t, err, ErrFrame, "another kind")
	var got bytes.Buffer
	require.NoError(t, r.ReadFile(&got, int64(len(big))))
	require.Equal(t, big, got.Bytes())
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

func TestTooLongFramesAreRefused(t *testing.T) {
	_, err := NewReader(strings.NewReader("D\xff\xff\xff\xff")).Next()
	require.ErrorIs(t, err, ErrFrame)
	require.ErrorIs(t, NewWriter(io.Discard).Write(KindData, make([]byte, MaxFrame+1)), ErrFrame)
}

// An engine that cannot start the helper says so in plain text, which must be seen.
func TestPlainTextIsShown(t *testing.T) {
	_, err := NewReader(strings.NewReader("OCI runtime exec failed: no such file\r\n" + strings.Repeat("x", 1000))).Next()
	require.ErrorIs(t, err, ErrFrame)
	require.ErrorContains(t, err, "OCI runtime exec failed: no such file")
	require.Less(t, len(err.Error()), 300)
}

func TestReadFileWantsTheAnnouncedLength(t *testing.T) {
	var buf bytes.Buffer
	require.NoError(t, NewWriter(&buf).Write(KindData, []byte("four")))
	require.ErrorIs(t, NewReader(&buf).ReadFile(io.Discard, 3), ErrFrame)
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("D\x00\x00\x00\x02ab"))
	f.Add([]byte("R\x00\x00\x00\x00S\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Add([]byte("D\xff\xff\xff\xff"))
	f.Add([]byte("o\x00\x00\x00\x05\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			fr, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrFrame) {
					t.Fatalf("untyped error %v", err)
				}
				break
			}
			if err := w.Write(fr.Kind, fr.Payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Fatalf("%q was read as %q", data, again.Bytes())
		}
	})
}

// FuzzPath checks that whatever is accepted stays inside, judged by path.Join.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", "../a", "/a", "a/../../b", ".", "", "a//b", "a\x00", "..", "a/..", "...", "a/./b"} {
		f.Add(s, "x")
		f.Add("dir/link", s)
	}
	inside := func(p string) bool { return strings.HasPrefix(p, "/box/in/") }
	f.Fuzz(func(t *testing.T, p, target string) {
		if CheckPath(p) != nil {
			return
		}
		if joined := path.Join("/box/in", p); !inside(joined) || joined != "/box/in/"+p {
			t.Fatalf("%q becomes %q", p, joined)
		}
		if CheckSymlink(p, target) == nil {
			end := path.Join("/box/in", path.Dir(p), target)
			if path.IsAbs(target) || end != "/box/in" && !inside(end) {
				t.Fatalf("a link at %q to %q leads to %q", p, target, end)
			}
		}
	})
}
