package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"ratchet/sandbox/docker/internal/wire"
)

// reserved is how many threads the helper keeps: two for the streams of a
// command, one each to wait, to read requests and to kill, and some to spare.
const reserved = 8

type server struct {
	in  *wire.Reader
	out *wire.Writer
}

// serve carries out requests until its input ends. The code under test runs
// as the same user, so the first thing is to become untraceable: nobody but
// the kernel can then reach this process's memory and descriptors.
func serve(in io.Reader, out io.Writer) error {
	if err := hide(); err != nil {
		return err
	}
	if err := reserveThreads(reserved); err != nil {
		return err
	}
	takeOver() // from a helper before, and what that may have left
	if err := errors.Join(makeHome(), warmUp()); err != nil {
		return err
	}
	s := &server{in: wire.NewReader(in), out: wire.NewWriter(out)}
	if err := s.out.WriteJSON(wire.KindHello, wire.Hello{OOMKills: oomKills()}); err != nil {
		return err
	}
	return s.loop()
}

func hide() error {
	const prSetDumpable = 4
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("prctl: %w", errno)
	}
	return nil
}

func (s *server) loop() error {
	for {
		r, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		failed, err := s.handle(r)
		if err != nil {
			return err
		}
		if err := s.out.WriteJSON(wire.KindReply, faultOf(failed)); err != nil {
			return err
		}
	}
}

func (s *server) next() (wire.Request, error) {
	var r wire.Request
	b, err := s.in.Expect(wire.KindRequest)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// handle carries out one request. The first error is for the host, the second
// means that the stream is broken.
func (s *server) handle(r wire.Request) (failed, broken error) {
	switch r.Op {
	case wire.OpPut:
		return put(s.in, r.Dir, r.Files, r.Shared)
	case wire.OpGet:
		return get(s.out, r.Path, r.Limit), nil
	case wire.OpList:
		return list(s.out, r.Path, r.Limit), nil
	case wire.OpReset:
		return reset(), nil
	case wire.OpIndex:
		return indexCache(), nil
	case wire.OpBatch:
		return nil, s.batch(r.Count, r.Parallel)
	}
	return nil, fmt.Errorf("unknown request %q", r.Op)
}

// batch reads and runs count commands, parallel at once. Commands are read as
// there is room for them.
func (s *server) batch(count, parallel int) error {
	free := make(chan struct{}, max(parallel, 1))
	var wg sync.WaitGroup
	var broken error
	for range count {
		free <- struct{}{}
		j, err := s.job(parallel <= 1)
		if err != nil {
			broken = err
			break
		}
		wg.Go(func() {
			j.run()
			<-free
		})
		if j.cmd.Stdin { // its data comes before the next request
			wg.Wait()
			j.drained()
		}
	}
	wg.Wait()
	killOthers()
	return broken
}

// job reads one command and lays in its files.
func (s *server) job(alone bool) (*job, error) {
	r, err := s.next()
	if err != nil {
		return nil, err
	}
	if r.Op != wire.OpRun || r.Run == nil {
		return nil, fmt.Errorf("request %q inside a batch", r.Op)
	}
	j := &job{server: s, cmd: *r.Run, dir: r.Dir, alone: alone}
	if len(r.Files) > 0 {
		j.failed, err = put(s.in, r.Dir, r.Files, false)
	}
	return j, err
}
