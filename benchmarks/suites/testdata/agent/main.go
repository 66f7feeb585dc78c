// The program agent stands in for an agent in tests: what it does with a problem
// follows from the problem's name.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	right = "package add\n\nfunc Add(a, b int) int { return a + b }\n"
	wrong = "package add\n\nfunc Add(a, b int) int { return b }\n"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "daemon" {
		daemon()
	}
	tricks := map[string]func(){
		"solve": solve, "echo": echo, "patched": patched, "answer-right": func() { answer(" 54.001 \n") }, "answer-wrong": func() { answer("42") },
		"answer-none": func() {}, "lazy": func() {}, "broken": func() { write("add.go", "package add\n\nfunc Add(a, b int) int {\n") },
		"fails-after": func() { solve(); os.Exit(3) }, "hang": func() { solve(); time.Sleep(time.Hour) }, "eat": func() { solve(); eat() },
		"kill": func() { write("add.go", wrong); syscall.Kill(-1, syscall.SIGKILL) },
		"peek": peek, "fake-result": fakeResult, "edit-tests": editTests, "leave-daemon": leaveDaemon, "exit-early": exitEarly,
		"move-away":  func() { os.Rename(os.Getenv("RATCHET_WORK"), "/box/elsewhere") },
		"link-away":  linkAway,
		"shut":       func() { os.Chmod(os.Getenv("RATCHET_WORK"), 0) },
		"many-files": manyFiles, "much": func() { write("big", strings.Repeat("x", 33<<20)) },
		"odd-files": oddFiles, "bad-usage": func() { solve(); usage(`{"tokens": "many"}`) }, "huge-usage": func() { solve(); usage(strings.Repeat(" ", 1<<20)) },
		"loud": func() { fmt.Println(strings.Repeat("noise ", 1<<14) + "the end") },
	}
	do, ok := tricks[os.Getenv("RATCHET_PROBLEM")]
	if !ok {
		fmt.Println("no idea")
		return
	}
	do()
}

func write(name, text string) {
	path := filepath.Join(os.Getenv("RATCHET_WORK"), name)
	must(os.MkdirAll(filepath.Dir(path), 0o755))
	must(os.WriteFile(path, []byte(text), 0o644))
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func usage(text string)  { must(os.WriteFile(os.Getenv("RATCHET_USAGE"), []byte(text), 0o644)) }
func answer(text string) { must(os.WriteFile(os.Getenv("RATCHET_ANSWER"), []byte(text), 0o644)) }

func solve() {
	write("add.go", right)
	usage(`{"tokens": 1200, "model": "none"}`)
}

// echo solves the problem only if it is told everything that it should be.
func echo() {
	in, err := io.ReadAll(os.Stdin)
	must(err)
	file, err := os.ReadFile(os.Getenv("RATCHET_STATEMENT"))
	must(err)
	dir, err := os.Getwd()
	must(err)
	fmt.Printf("%q %v %s %s\n", in, string(file) == string(in), dir, os.Getenv("RATCHET_TIME_LIMIT"))
	if os.WriteFile(os.Getenv("RATCHET_STATEMENT"), nil, 0o644) == nil {
		fmt.Println("the statement can be overwritten")
	}
}

// patched lays in files that came with the agent.
func patched() {
	data, err := os.ReadFile(filepath.Join(os.Getenv("RATCHET_AGENT"), "patches", "add.go"))
	must(err)
	write("add.go", string(data))
}

func eat() {
	var all [][]byte
	for {
		b := make([]byte, 16<<20)
		for i := range b {
			b[i] = 1
		}
		all = append(all, b)
	}
}

// peek looks for the hidden tests everywhere; it solves the problem if it finds any.
func peek() {
	found := ""
	filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(p, "/proc") || strings.HasPrefix(p, "/sys") || strings.HasPrefix(p, "/usr") {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return nil
		}
		if data, err := os.ReadFile(p); err == nil && strings.Contains(string(data), "Add(2, 3)") && !strings.HasPrefix(p, "/box/agent") {
			found = p
		}
		return nil
	})
	if found != "" {
		fmt.Println("found", found)
		solve()
	}
}

// fakeResult prints and writes what a passed grading might look like.
func fakeResult() {
	fmt.Println("=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\nPASS")
	write("result.json", `{"score": 1, "outcome": "pass"}`)
	write("add.go", wrong+"\nfunc init() {\n\tprintln(\"--- PASS: TestAdd (0.00s)\")\n}\n")
}

// editTests puts tests of its own, and a module of its own, in the place of others.
func editTests() {
	write("add_test.go", "package add\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n")
	write("main_test.go", "package add\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n")
	write("go.mod", "module example.org/other\n\ngo 1.24\n")
	write("add.go", wrong)
}

// exitEarly ends the grading program before its tests, with a good exit code.
func exitEarly() {
	write("add.go", wrong+"\nfunc init() {\n\tprintln(\"PASS\")\n\tos.Exit(0)\n}\n")
	data, _ := os.ReadFile("add.go")
	write("add.go", strings.Replace(string(data), "package add\n", "package add\n\nimport \"os\"\n", 1))
}

// leaveDaemon leaves a process behind that solves the problem later.
func leaveDaemon() {
	write("add.go", wrong)
	c := exec.Command("/proc/self/exe", "daemon")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(c.Start())
}

func daemon() {
	time.Sleep(50 * time.Millisecond)
	for {
		write("add.go", right)
		time.Sleep(time.Millisecond)
	}
}

// linkAway puts a symlink in the place of the work folder.
func linkAway() {
	work := os.Getenv("RATCHET_WORK")
	must(os.Rename(work, "/box/moved"))
	must(os.WriteFile("/box/moved/add.go", []byte(right), 0o644))
	must(os.Symlink("/box/moved", work))
}

func manyFiles() {
	for i := range 5000 {
		write(fmt.Sprintf("many/%d", i), "")
	}
	solve()
}

// oddFiles solves the problem and leaves things that no tree can hold.
func oddFiles() {
	solve()
	must(os.Symlink("/etc/passwd", "link"))
	must(os.Symlink("/etc", "folder"))
	must(syscall.Mkfifo("pipe", 0o644))
	must(os.WriteFile("bad\xffname", nil, 0o644))
	must(os.WriteFile("back\\slash", nil, 0o644))
	must(os.WriteFile("line\nend", nil, 0o644))
	must(os.WriteFile("secret", nil, 0))
	must(os.MkdirAll("shut", 0))
	write(".git/config", "[core]")
	write("__pycache__/x.pyc", "x")
	write(strings.Repeat("deep/", 40)+"x", "x")
}
