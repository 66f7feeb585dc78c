// Command box is the helper inside every sandbox box. It is the one program
// that the host starts there: "box hold" is the box's first process, "box
// serve" carries out the host's requests as one user. It is static, imports
// the standard library only, and is laid in the image by the package docker.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: box hold LIFETIME | serve")
	}
	if err := dispatch(os.Args[1], os.Args[2:]); err != nil {
		fail(err.Error())
	}
}

func dispatch(name string, args []string) error {
	runtime.GOMAXPROCS(2)
	// A caught signal is back at its default in programs that are started; an
	// ignored one would stay ignored in them.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ, syscall.SIGPIPE)
	switch {
	case name == "hold" && len(args) == 1:
		return hold(args[0])
	case name == "serve" && len(args) == 0:
		return serve(os.Stdin, os.Stdout)
	}
	return fmt.Errorf("unknown command %q", name)
}

func fail(msg string) {
	fmt.Fprintln(os.Stderr, "box:", msg)
	os.Exit(1)
}

// reserveThreads makes the runtime own n idle threads, so that the helper can
// still act when the code under test has used up the box's processes.
func reserveThreads(n int) error {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	done := make(chan struct{})
	for range n {
		go func() {
			var b [1]byte
			_, _ = syscall.Read(p[0], b[:]) // holds a thread until the pipe is closed
			done <- struct{}{}
		}()
	}
	syscall.Close(p[1])
	for range n {
		<-done
	}
	return syscall.Close(p[0])
}
