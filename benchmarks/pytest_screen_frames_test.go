package benchmarks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const testToken = "0123456789abcdef0123456789abcdef"

// forkReplyOf is a reply as a server sends it.
func forkReplyOf(head, stdout, stderr string) []byte {
	b := []byte(testToken)
	for _, part := range []string{head, stdout, stderr} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
	}
	return append(b, head+stdout+stderr...)
}

func TestForkReplies(t *testing.T) {
	good := forkReplyOf(`{"code": 3, "truncated": true}`, "out", "error")
	r := bytes.NewReader(append(bytes.Clone(good), forkReplyOf(`{"signal": 9}`, "", "")...))
	reply, err := readForkReply(r, testToken, 100)
	require.NoError(t, err)
	require.Equal(t, forkReply{Code: 3, Truncated: true, Stdout: []byte("out"), Stderr: []byte("error")}, reply)
	reply, err = readForkReply(r, testToken, 100)
	require.NoError(t, err)
	require.Equal(t, 9, reply.Signal)
	_, err = readForkReply(r, testToken, 100)
	require.Equal(t, io.EOF, err)

	for n := 1; n < len(good); n++ {
		_, err := readForkReply(bytes.NewReader(good[:n]), testToken, 100)
		require.Equal(t, io.ErrUnexpectedEOF, err, "cut after %d bytes", n)
	}
	for name, bad := range map[string][]byte{
		"another token":   append([]byte("x"), good[1:]...),
		"long output":     forkReplyOf("{}", strings.Repeat("o", 101), ""),
		"long head":       forkReplyOf(`"`+strings.Repeat("h", maxForkHead)+`"`, "", ""),
		"no JSON":         forkReplyOf("{", "", ""),
		"JSON of another": forkReplyOf(`{"code": "x"}`, "", ""),
	} {
		_, err := readForkReply(bytes.NewReader(bad), testToken, 100)
		require.ErrorIs(t, err, errForkReply, name)
	}
}

func TestForkRequests(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, writeForkRequest(&b, forkLay{Op: "lay", Files: []forkFile{{"/a", 0o644, []byte{0, 255}}}}))
	require.Equal(t, uint32(b.Len()-4), binary.BigEndian.Uint32(b.Bytes()))
	require.Contains(t, b.String(), `"data":"AP8="`)
}

// What a server sends never makes more than its bounds, whatever it is.
func FuzzForkReply(f *testing.F) {
	f.Add(forkReplyOf(`{"code": 1}`, "out", "err"))
	f.Add(forkReplyOf(`{"spoiled": ["/box/src/a"]}`, "", ""))
	f.Add([]byte(testToken + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1000
		reply, err := readForkReply(bytes.NewReader(data), testToken, most)
		if err == nil {
			require.LessOrEqual(t, len(reply.Stdout), most)
			require.LessOrEqual(t, len(reply.Stderr), most)
			return
		}
		known := errors.Is(err, errForkReply) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		require.True(t, known, "%v", err)
	})
}

// What a test says of lines never breaks the mapping to statements.
func FuzzPyCoverFrame(f *testing.F) {
	for _, message := range []string{
		`{"import": {"calc/core.py": [[1, 1]]}, "run": {"calc/core.py": [[2, 2], [9, 3]]}}`,
		`{"run": {"../x.py": [[-1, 1000000000]], "calc/core.py": [[-5, 9000000000000000000]]}}`, `{"run": null}`, `[]`,
	} {
		f.Add(message, "def add(a, b):\n    return a\n")
	}
	s := pytestSuite(f, Config{})
	problems := pyProblems(s, "tests/test_calc.py::test_add")
	f.Fuzz(func(t *testing.T, message, source string) {
		c := &pyCover{suite: s, lines: map[string]pyLines{}}
		c.frame(pyFrame{Kind: "cover", ID: "tests/test_calc.py::test_add", Message: message})
		c.frame(pyFrame{Kind: "cover", ID: "tests/test_calc.py::test_add", Message: message})
		in := tree("-- calc/core.py --\n" + source)
		lines := strings.Count(source, "\n") + 2
		out := c.coverage(in, problems)
		for _, b := range out.Blocks {
			require.True(t, 1 <= b.StartLine && b.StartLine <= b.EndLine && b.EndLine <= lines, "%+v", b)
		}
		for _, hits := range out.Hits {
			for _, h := range hits {
				require.Less(t, h, len(out.Blocks))
			}
		}
	})
}
