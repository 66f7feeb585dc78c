// Command probe is the code under test of the sandbox's contract suite: it
// tries what untrusted code might. It is compiled on the host and laid into boxes.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// probes are the things to try; each prints what it found to standard output.
var probes = map[string]func(args []string) error{
	"exit":      func(a []string) error { os.Exit(number(a[0])); return nil },
	"echo":      func(a []string) error { fmt.Print(strings.Join(a, " ")); return nil },
	"cat":       func([]string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"where":     where,
	"env":       func([]string) error { fmt.Println(strings.Join(os.Environ(), "\n")); return nil },
	"status":    func([]string) error { return printFile("/proc/self/status") },
	"signal":    signalSelf,
	"hang":      hang,
	"flood":     flood,
	"eat":       eat,
	"bomb":      bomb,
	"fill":      fill,
	"write":     func(a []string) error { return os.WriteFile(a[0], []byte("written by the probe"), 0o644) },
	"misname":   func(a []string) error { return os.WriteFile(a[0]+"/not\xfftext", nil, 0o644) },
	"read":      func(a []string) error { return printFile(a[0]) },
	"shut":      func(a []string) error { return os.Chmod(a[0], 0) },
	"remove":    func(a []string) error { return os.Remove(a[0]) },
	"stat":      stat,
	"symlink":   func(a []string) error { return os.Symlink(a[0], a[1]) },
	"fifo":      fifo,
	"detach":    detach,
	"processes": func([]string) error { return json.NewEncoder(os.Stdout).Encode(processes()) },
	"network":   network,
	"forbidden": forbidden,
	"litter":    litter,
	"owned":     owned,
	"parent":    parent,
	"orphans":   orphans,
	"exists":    exists,
	"limits":    limits,
}

func main() {
	if len(os.Args) < 2 || probes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "probe: unknown", os.Args[1:])
		os.Exit(64)
	}
	if err := probes[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func printFile(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}

func where([]string) error {
	dir, err := os.Getwd()
	fmt.Print(dir)
	return err
}

func exists(args []string) error {
	for _, name := range args {
		_, err := os.Lstat(name)
		fmt.Println(name, err == nil)
	}
	return nil
}
