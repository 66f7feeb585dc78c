// Package wire is what the Docker sandbox on the host and its helper inside a
// box say to each other over the standard streams of one exec. It imports the
// standard library only, because the helper is compiled by itself.
//
// The host sends a Request, followed by its data; the helper answers with any
// number of frames and ends with KindReply. Requests are answered in order.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxFrame bounds the payload of one frame, in bytes.
const MaxFrame = 8 << 20

// Chunk is the size in which longer data is cut, in bytes.
const Chunk = 128 << 10

// Kind tells what a frame holds.
type Kind byte

// From the host.
const (
	KindRequest Kind = 'Q' // JSON Request
	KindData    Kind = 'D' // a piece of a file or of standard input
	KindEOF     Kind = 'Z' // end of standard input
)

// From the helper.
const (
	KindHello   Kind = 'H' // JSON Hello, once, first
	KindStarted Kind = 'S' // a command is about to start; index
	KindStdout  Kind = 'o' // index, then bytes
	KindStderr  Kind = 'e' // index, then bytes
	KindEnded   Kind = 'X' // JSON Ended
	KindBytes   Kind = 'B' // a piece of a file that was asked for
	KindReply   Kind = 'R' // JSON Reply, ends a request
)

// ErrFrame is returned for bytes that are not a frame.
var ErrFrame = errors.New("malformed frame")

// Frame is one message.
type Frame struct {
	Kind    Kind
	Payload []byte
}

const headerLen = 5

// Reader reads frames. It is not safe for concurrent use.
type Reader struct{ r *bufio.Reader }

// NewReader returns a reader of frames from r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next frame; io.EOF at a clean end, ErrFrame for one that is
// too long, io.ErrUnexpectedEOF for one that is cut. The payload is the caller's.
func (r *Reader) Next() (Frame, error) {
	var head [headerLen]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %s", ErrFrame, r.quote(head[:]))
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Kind: Kind(head[0]), Payload: payload}, nil
}

// quote shows what came in place of a frame: an engine that cannot start the helper
// says why in plain text.
func (r *Reader) quote(head []byte) string {
	const most = 200
	rest, _ := r.r.Peek(min(r.r.Buffered(), most))
	return fmt.Sprintf("%q", append(head, rest...))
}

// Expect returns the payload of the next frame, which must be of kind k.
func (r *Reader) Expect(k Kind) ([]byte, error) {
	f, err := r.Next()
	if err != nil {
		return nil, err
	}
	if f.Kind != k {
		return nil, fmt.Errorf("%w: %q where %q was expected", ErrFrame, f.Kind, k)
	}
	return f.Payload, nil
}

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a writer of frames to w. Frames are not held back.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one frame.
func (w *Writer) Write(k Kind, payload []byte) error { return w.write(k, nil, payload) }

// WriteJSON sends one frame that holds v as JSON.
func (w *Writer) WriteJSON(k Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(k, nil, b)
}

// WriteIndexed sends a frame that belongs to command i.
func (w *Writer) WriteIndexed(k Kind, i int, payload []byte) error {
	var index [4]byte
	binary.BigEndian.PutUint32(index[:], uint32(i))
	return w.write(k, index[:], payload)
}

func (w *Writer) write(k Kind, prefix, payload []byte) error {
	n := len(prefix) + len(payload)
	if n > MaxFrame {
		return fmt.Errorf("%w: %d bytes do not fit", ErrFrame, n)
	}
	buf := make([]byte, 0, headerLen+n)
	buf = append(buf, byte(k))
	buf = binary.BigEndian.AppendUint32(buf, uint32(n))
	buf = append(append(buf, prefix...), payload...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(buf)
	return err
}

// WriteChunks sends data as frames of at most Chunk bytes.
func (w *Writer) WriteChunks(k Kind, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), Chunk)
		if err := w.Write(k, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Index splits the payload of an indexed frame; limit is the number of commands.
func Index(payload []byte, limit int) (int, []byte, error) {
	if len(payload) < 4 {
		return 0, nil, fmt.Errorf("%w: no index", ErrFrame)
	}
	i := binary.BigEndian.Uint32(payload)
	if uint64(i) >= uint64(limit) {
		return 0, nil, fmt.Errorf("%w: index %d of %d", ErrFrame, i, limit)
	}
	return int(i), payload[4:], nil
}
