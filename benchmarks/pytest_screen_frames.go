package benchmarks

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errForkReply is wrapped by every error about what a fork server sends.
var errForkReply = errors.New("not a reply of the fork server")

const (
	// maxForkHead bounds the JSON of one reply, in bytes.
	maxForkHead = 64 << 10
	// forkToken is the length of the token that begins each reply.
	forkToken = 32
)

// forkHello is the first request to a fork server.
type forkHello struct {
	Token   string   `json:"token"`
	Program string   `json:"program"` // that is run, with the arguments of each request
	Folder  string   `json:"folder"`  // compiled source below it may be kept
	Source  string   `json:"source"`  // the tree
	Roots   []string `json:"roots"`   // folders that are kept as they are
}

// forkLay asks for files to be taken away and laid in.
type forkLay struct {
	Op     string     `json:"op"` // "lay"
	Heal   bool       `json:"heal"`
	Delete []string   `json:"delete"` // paths
	Files  []forkFile `json:"files"`
}

type forkFile struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Data []byte `json:"data"`
}

// forkRun asks for a run of the program.
type forkRun struct {
	Op    string            `json:"op"` // "run"
	Args  []string          `json:"args"`
	Env   map[string]string `json:"env"`
	Dir   string            `json:"dir"`
	Limit float64           `json:"limit"` // seconds
	Max   int64             `json:"max"`   // bytes kept of each stream
}

// forkReply is any reply; which fields are set follows from the request.
type forkReply struct {
	Spoiled   []string `json:"spoiled"` // paths of files that are not as they were
	Error     string   `json:"error"`   // why files could not be laid in
	Code      int      `json:"code"`
	Signal    int      `json:"signal"`
	TimedOut  bool     `json:"timed_out"`
	OOM       bool     `json:"oom"`
	Truncated bool     `json:"truncated"`

	Stdout, Stderr []byte `json:"-"`
}

// writeForkRequest sends one request.
func writeForkRequest(w io.Writer, request any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

// readForkReply reads one reply that begins with token, with at most limit bytes
// of each stream. Errors of r are returned as they are; a reply cut short is
// io.ErrUnexpectedEOF.
func readForkReply(r io.Reader, token string, limit int64) (forkReply, error) {
	var reply forkReply
	start := make([]byte, len(token)+12)
	if _, err := io.ReadFull(r, start); err != nil {
		return reply, err
	}
	if string(start[:len(token)]) != token {
		return reply, fmt.Errorf("%w: it begins with %q", errForkReply, start[:len(token)])
	}
	var sizes [3]int64
	for i := range sizes {
		sizes[i] = int64(binary.BigEndian.Uint32(start[len(token)+4*i:]))
	}
	if sizes[0] > maxForkHead || sizes[1] > limit || sizes[2] > limit {
		return reply, fmt.Errorf("%w: sizes %v", errForkReply, sizes)
	}
	var parts [3][]byte
	for i, n := range sizes {
		parts[i] = make([]byte, n)
		if _, err := io.ReadFull(r, parts[i]); err != nil {
			return reply, unexpected(err)
		}
	}
	if err := json.Unmarshal(parts[0], &reply); err != nil {
		return forkReply{}, fmt.Errorf("%w: %w", errForkReply, err)
	}
	reply.Stdout, reply.Stderr = parts[1], parts[2]
	return reply, nil
}

// unexpected makes an end in the middle of something an error that says so.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
