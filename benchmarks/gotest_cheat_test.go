package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// honest is a module in which TestAdd fails for a mistake, and TestGolden for a
// file that a candidate may not change.
const honest = `
-- go.mod --
module example.com/m

go 1.26

require example.com/dep v0.0.0

replace example.com/dep => ./vendor-dep
-- vendor-dep/go.mod --
module example.com/dep
-- vendor-dep/d.go --
package dep

const One = 1
-- calc/calc.go --
package calc

func Add(a, b int) int { return a - b }
-- calc/calc_test.go --
package calc

import (
	"testing"

	"example.com/dep"
)

func TestAdd(t *testing.T) {
	if got := Add(dep.One, 2); got != 3 {
		t.Errorf("Add(1, 2) = %d", got)
	}
}

func TestZero(t *testing.T) {
	if got := Add(0, 0); got != 0 {
		t.Errorf("Add(0, 0) = %d", got)
	}
}
-- other/other_test.go --
package other

import (
	"os"
	"testing"
)

func TestGolden(t *testing.T) {
	if b, _ := os.ReadFile("testdata/golden"); string(b) != "right\n" {
		t.Fatalf("golden is %q", b)
	}
}
-- other/testdata/golden --
wrong
`

const wrongAdd = "\nfunc Add(a, b int) int { return a - b }\n"

// asked prints a line for each name that the process was asked to run.
const asked = `
func asked() []string {
	for _, a := range os.Args {
		if s, ok := strings.CutPrefix(a, "-test.run=^("); ok {
			return strings.Split(strings.TrimSuffix(s, ")$"), "|")
		}
	}
	return nil
}
`

// filter replaces text on its way to standard output.
const filter = `
func filter(r *os.File, out *os.File, old, with string) {
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			out.WriteString(strings.ReplaceAll(string(buf[:n]), old, with))
		}
		if err != nil {
			return
		}
	}
}
`

func TestCheats(t *testing.T) {
	t.Parallel()
	l, s, trusted := boxes(t), suite(t, Config{}), tree(honest)
	for name, c := range cheats {
		t.Run(name, func(t *testing.T) {
			code := trusted
			for path, text := range c.edits {
				code = code.With(edit(path, text))
			}
			run := l.run(t, s, trusted, code)
			got := outcomes(t, run.Results)
			require.Equal(t, model.Fail, got["unit/other/TestGolden"], "%+v", run)
			if c.tampered == racy {
				require.NotEqual(t, model.Pass, got["unit/calc/TestAdd"], "%+v", run)
				return
			}
			require.Equal(t, c.add, got["unit/calc/TestAdd"], "%+v", run)
			if c.tampered == "" {
				require.Empty(t, run.Tampered)
			} else {
				require.Contains(t, run.Tampered, "package calc: ")
				require.Contains(t, run.Tampered, c.tampered)
				require.NotEqual(t, model.Pass, got["unit/calc/TestZero"], "nothing of the package counts")
			}
		})
	}
}

type cheat struct {
	edits    map[string]string
	add      model.Outcome // of TestAdd
	tampered string        // part of what the run says; empty when it says nothing
}

// racy marks a cheat of which some output may be lost when its process ends;
// its gain is refused either way.
const racy = "racy"

// in is a cheat that is one version of the package's own file.
func in(text string, add model.Outcome, tampered string) cheat {
	return cheat{map[string]string{"calc/calc.go": text}, add, tampered}
}

// Work that is skipped under test shows only in a metric, and is no case here.
var cheats = map[string]cheat{
	"no cheat: an honest fix": in("package calc\n\nfunc Add(a, b int) int { return a + b }\n", model.Pass, ""),
	"no cheat: nothing done":  {nil, model.Fail, ""},
	"no cheat: a panic": in(`package calc

func Add(a, b int) int { return []int{}[a] }
`, model.Crashed, ""),

	"exit 0 in init": in("package calc\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"+wrongAdd, model.Missing, ""),
	"plain PASS lines, then exit 0": in(`package calc

import (
	"fmt"
	"os"
	"strings"
)

func init() {
	for _, name := range asked() {
		fmt.Printf("=== RUN   %s\n--- PASS: %s (0.00s)\n", name, name)
	}
	fmt.Println("PASS")
	os.Exit(0)
}
`+asked+wrongAdd, model.Missing, ""),
	"marked PASS lines for all that is asked, then exit 0": in(`package calc

import (
	"fmt"
	"os"
	"strings"
)

func init() {
	for _, name := range asked() {
		fmt.Printf("\x16=== RUN   %s\n\x16--- PASS: %s (0.00s)\n", name, name)
	}
	fmt.Print("\x16PASS\n")
	os.Exit(0)
}
`+asked+wrongAdd, model.Missing, "the canary that must fail was reported as pass"),
	"marked PASS lines for known tests, then exit 1": in(`package calc

import (
	"fmt"
	"os"
)

func init() {
	for _, name := range []string{"TestAdd", "TestZero"} {
		fmt.Printf("\x16=== RUN   %s\n\x16--- PASS: %s (0.00s)\n", name, name)
	}
	fmt.Print("\x16FAIL\n")
	os.Exit(1)
}
`+wrongAdd, model.Missing, "a canary was not reported"),
	"marked PASS lines beside the real ones": in(`package calc

import "fmt"

func Add(a, b int) int {
	fmt.Print("\x16--- PASS: TestAdd (0.00s)\n")
	return a - b
}
`, model.Missing, "TestAdd was reported"),
	"marked FAIL lines for guessed canaries": in(`package calc

import (
	"fmt"
	"os"
	"strings"
)

func init() {
	for _, name := range asked() {
		verb := "FAIL"
		if name == "TestAdd" || name == "TestZero" {
			verb = "PASS"
		}
		fmt.Printf("\x16=== RUN   %s\n\x16--- %s: %s (0.00s)\n", name, verb, name)
	}
	fmt.Print("\x16FAIL\n")
	os.Exit(1)
}
`+asked+wrongAdd, model.Missing, "canary"),
	"output rewritten in a pipe": in(`package calc

import (
	"os"
	"strings"
)

func init() {
	out := os.Stdout
	r, w, _ := os.Pipe()
	os.Stdout = w
	go filter(r, out, "--- FAIL", "--- PASS")
}
`+filter+wrongAdd, model.Missing, racy),
	"output of one test rewritten in a pipe": in(`package calc

import (
	"os"
	"strings"
)

func init() {
	out := os.Stdout
	r, w, _ := os.Pipe()
	os.Stdout = w
	go filter(r, out, "--- FAIL: TestAdd", "--- PASS: TestAdd")
}
`+filter+wrongAdd, model.Missing, racy),
	"output through another file": in(`package calc

import "os"

func init() { os.Stdout, _ = os.OpenFile("/proc/self/fd/1", os.O_WRONLY, 0) }
`+wrongAdd, model.Missing, "another file than standard output"),
	"output of one test rewritten below the descriptor": in(`package calc

import (
	"os"
	"strings"
	"syscall"
)

func init() {
	fd, _ := syscall.Dup(1)
	r, w, _ := os.Pipe()
	syscall.Dup3(int(w.Fd()), 1, 0)
	go filter(r, os.NewFile(uintptr(fd), "out"), "--- FAIL: TestAdd", "--- PASS: TestAdd")
}
`+filter+wrongAdd, model.Missing, racy),
	"the parent process is killed": in(`package calc

import (
	"os"
	"syscall"
)

func init() { syscall.Kill(os.Getppid(), syscall.SIGKILL) }
`+wrongAdd, model.Crashed, ""),
	"everything is killed": in(`package calc

import "syscall"

func init() { syscall.Kill(-1, syscall.SIGKILL) }
`+wrongAdd, model.Crashed, ""),
	"other packages' binaries and files are overwritten": in(`package calc

import (
	"os"
	"path/filepath"
)

func init() {
	self, _ := os.ReadFile("/proc/self/exe")
	bins, _ := filepath.Glob("/box/bin/*/*")
	for _, b := range append(bins, "/.ratchet/box", "/usr/local/go/bin/go") {
		os.Remove(b)
		os.WriteFile(b, self, 0o755)
	}
	os.WriteFile("../other/testdata/golden", []byte("right\n"), 0o644)
}
`+wrongAdd, model.Fail, ""),
	"a process is left behind": in(`package calc

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

func init() {
	if os.Getenv("LEFT_BEHIND") == "" {
		c := exec.Command("/proc/self/exe")
		c.Env = []string{"LEFT_BEHIND=1"}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
		return
	}
	for {
		os.WriteFile("/box/src/other/testdata/golden", []byte("right\n"), 0o644)
		time.Sleep(time.Millisecond)
	}
}
`+wrongAdd, model.Fail, ""),

	"every file of the harness is changed at once": {everyHarnessCheat(), model.Fail, ""},
}

// Each of these changes files that come from the trusted tree.
var harnessCheats = map[string]map[string]string{
	"a TestMain in an added file": {"calc/main_test.go": `package calc

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(0) }
`},
	"an added test file that repairs the code": {
		"calc/fix_test.go": "package calc\n\nfunc init() { repair() }\n",
	},
	"an overwritten test file": {
		"calc/calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n\nfunc TestZero(t *testing.T) {}\n",
	},
	"a build tag that drops the tests": {
		"calc/calc_test.go": "//go:build never\n\npackage calc\n",
	},
	"overwritten testdata": {"other/testdata/golden": "right\n"},
	"a changed go.mod": {
		"go.mod": "module example.com/m\n\ngo 1.26\n\nrequire example.com/dep v0.0.0\n\nreplace example.com/dep => ./evil\n",
	},
}

func everyHarnessCheat() map[string]string {
	all := map[string]string{"evil/go.mod": "module example.com/dep\n", "evil/d.go": "package dep\n\nconst One = 5\n"}
	for _, files := range harnessCheats {
		for path, text := range files {
			all[path] = text
		}
	}
	return all
}

func TestHarnessCheatsAreDropped(t *testing.T) {
	s, trusted := suite(t, Config{}), tree(honest)
	for name, files := range harnessCheats {
		t.Run(name, func(t *testing.T) {
			code := trusted
			for path, text := range files {
				code = code.With(edit(path, text))
			}
			require.NotEqual(t, trusted, code)
			require.Equal(t, trusted.Files, s.merge(code, trusted).Files)
		})
	}
}
