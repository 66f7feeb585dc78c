// Command ratchet improves a git repository by itself, and only forward.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the stack to stop
	code := run(ctx, system(), os.Args[1:])
	stop()
	os.Exit(code)
}

// system is the process's own surroundings.
func system() surroundings {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "."
	}
	return surroundings{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ, cwd: cwd, terminal: term.IsTerminal(int(os.Stdout.Fd())),
	}
}
