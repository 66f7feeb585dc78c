package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func signalSelf(args []string) error {
	signal.Reset()
	if err := syscall.Kill(os.Getpid(), syscall.Signal(number(args[0]))); err != nil {
		return err
	}
	select {} // the signal is on its way
}

// hang says that it runs and then never ends, whatever asks it to.
func hang([]string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Println("hanging")
	for {
		time.Sleep(time.Hour)
	}
}

// spawn starts this program again, in a session of its own.
func spawn(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// detach leaves processes behind that hold standard output: with "exit" it
// ends itself, else it hangs.
func detach(args []string) error {
	for range 3 {
		if _, err := spawn("hang"); err != nil {
			return err
		}
	}
	if len(args) > 0 && args[0] == "exit" {
		return nil
	}
	return hang(nil)
}

// bomb starts processes until the box refuses, says how many there were, and
// with "hang" leaves them all running.
func bomb(args []string) error {
	n := 0
	for ; n < 5000; n++ {
		if _, err := spawn("hang"); err != nil {
			break
		}
	}
	fmt.Println("started", n)
	if len(args) > 0 && args[0] == "hang" {
		return hang(nil)
	}
	return nil
}

// processes lists what is alive in the box, by its command line.
func processes() []string {
	entries, _ := os.ReadDir("/proc")
	var out []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil {
			continue
		}
		state := ""
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "State:"); ok {
				state = strings.Fields(v)[0]
			}
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		out = append(out, e.Name()+" "+state+" "+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return out
}

// orphans makes children whose parent ends before them, and waits until the
// box's first process has collected them.
func orphans(args []string) error {
	if len(args) > 0 { // the parent in the middle
		for range 5 {
			if _, err := spawn("exit", "0"); err != nil {
				return err
			}
		}
		return nil
	}
	middle, err := spawn("orphans", "middle")
	if err != nil {
		return err
	}
	if err := middle.Wait(); err != nil {
		return err
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		left := 0
		for _, p := range processes() {
			if strings.Contains(p, "exit 0") || strings.Contains(p, " Z ") {
				left++
			}
		}
		if left == 0 {
			fmt.Print("collected")
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("not collected: %q", processes())
}

// parent attacks the process that started this one.
func parent(args []string) error {
	dir := fmt.Sprintf("/proc/%d", os.Getppid())
	switch args[0] {
	case "kill":
		return syscall.Kill(os.Getppid(), syscall.SIGKILL)
	case "stop":
		if err := syscall.Kill(os.Getppid(), syscall.SIGSTOP); err != nil {
			return err
		}
		return hang(nil)
	case "everyone":
		return syscall.Kill(-1, syscall.SIGKILL)
	}
	_, errMem := os.OpenFile(dir+"/mem", os.O_RDWR, 0)
	_, errOut := os.OpenFile(dir+"/fd/1", os.O_WRONLY, 0)
	_, errEnv := os.ReadFile(dir + "/environ")
	errTrace := syscall.PtraceAttach(os.Getppid())
	for what, err := range map[string]error{"mem": errMem, "fd": errOut, "environ": errEnv, "trace": errTrace} {
		if err == nil {
			return fmt.Errorf("the parent's %s is within reach", what)
		}
	}
	fmt.Print("out of reach")
	return nil
}
