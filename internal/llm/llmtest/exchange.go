package llmtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// exchange writes one response.
type exchange struct {
	ctx      context.Context
	w        http.ResponseWriter
	bytewise bool
	plain    bool // not a stream
	sent     int  // chunks of the answer
}

// errHangUp drops a connection after what was sent.
var errHangUp = errors.New("the script hangs up")

func (x *exchange) hangUp() error { return errHangUp }

// reset closes the connection so that the caller is told of it, with what was sent
// and not read yet lost.
func (x *exchange) reset() error {
	c, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return errHangUp
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
	return nil
}

func (x *exchange) refuse(p protocol, q Request, st *status) error {
	if st.words != nil {
		writeJSON(x.w, st.code, p.refuse(st.code, st.words(q)))
		return nil
	}
	x.w.Header().Set("Content-Type", st.typ)
	x.w.WriteHeader(st.code)
	_, err := io.WriteString(x.w, st.body)
	return err
}

// send writes an answer, frame by frame.
func (x *exchange) send(p protocol, q *Request, r Reply, a answer) error {
	typ, how := "text/event-stream; charset=utf-8", stream{protocol: p}
	var frames []frame
	if q.Stream && !r.wholly {
		frames = p.frames(a)
	} else {
		typ, how.plain, x.plain = "application/json", true, true
		a.usage = !r.noUsage
		b := encode(p.body(a))
		frames = []frame{{part: token, data: b[:len(b)/2]}, {part: closing, data: b[len(b)/2:]}}
	}
	for _, e := range r.edits {
		frames = e(how, frames)
	}
	if x.w.Header().Get("Content-Type") == "" {
		x.w.Header().Set("Content-Type", typ)
	}
	x.w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		return err
	}
	return x.play(frames, r.First, r.Gap)
}

// play writes frames, with waits before the first token and between tokens.
func (x *exchange) play(frames []frame, first, gap time.Duration) error {
	started := false
	for _, f := range frames {
		pause := time.Duration(0)
		if f.part != opening && !started {
			pause, started = first, true
		}
		if f.part == token && x.sent > 0 {
			pause = gap
		}
		if err := x.wait(pause); err != nil {
			return err
		}
		if err := x.do(f); err != nil {
			return err
		}
		if f.part == token {
			x.sent++
		}
	}
	return nil
}

func (x *exchange) do(f frame) error {
	if f.act != nil {
		return f.act(x)
	}
	if !x.bytewise {
		return x.write(f.data)
	}
	for i := range f.data {
		if err := x.write(f.data[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

func (x *exchange) write(b []byte) error {
	if _, err := x.w.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(x.w).Flush()
}

// drip writes the same bytes every gap until the caller or the server goes.
func (x *exchange) drip(data []byte, gap time.Duration) error {
	for {
		if err := x.wait(max(gap, time.Millisecond)); err != nil {
			return err
		}
		if err := x.write(data); err != nil {
			return err
		}
	}
}

func (x *exchange) stall() error {
	<-x.ctx.Done()
	return context.Cause(x.ctx)
}
