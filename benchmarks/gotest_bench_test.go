package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// manners is a module whose tests end in every way a test can.
const manners = `
-- go.mod --
module example.com/m

go 1.26
-- m.go --
package m

func Add(a, b int) int { return a + b }
-- m_test.go --
package m

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestPass(t *testing.T) { t.Log("fine") }
func TestFail(t *testing.T) { t.Error("sum is off") }
func TestSkip(t *testing.T) { t.Skip("not today") }
func TestSub(t *testing.T) {
	t.Run("a", func(t *testing.T) {})
	t.Run("b", func(t *testing.T) { t.Error("sub is off") })
}
func TestPanic(t *testing.T) { var m map[string]int; m["x"] = 1 }
func TestExit(t *testing.T)  { os.Exit(3) }
func TestExit0(t *testing.T) { os.Exit(0) }
func TestHang(t *testing.T)  { time.Sleep(time.Hour) }
func TestParallel(t *testing.T) { t.Parallel(); t.Log("side by side") }
func TestParallelFail(t *testing.T) { t.Parallel(); t.Error("side by side") }
func TestStray(t *testing.T) {
	go func() { panic("stray") }()
	time.Sleep(50 * time.Millisecond)
}
func TestWritesBesideItself(t *testing.T) {
	if _, err := os.Stat("left"); err == nil {
		t.Fatal("something was left behind")
	}
	if err := os.WriteFile("left", nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
func TestReadsTestdata(t *testing.T) {
	if b, err := os.ReadFile("testdata/in"); err != nil || string(b) != "data\n" {
		t.Fatal(string(b), err)
	}
}
func FuzzSeeds(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {
		if Add(n, 0) != n {
			t.Fatal(n)
		}
	})
}
func FuzzBadSeed(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) { t.Fatal(n) })
}
func ExampleAdd() {
	fmt.Println(Add(1, 2))
	// Output: 3
}
func ExampleAdd_wrong() {
	fmt.Println(Add(1, 2))
	// Output: 4
}
-- testdata/in --
data
-- x_test.go --
package m_test

import "testing"

func TestPass(t *testing.T)     {}
func TestExternal(t *testing.T) {}
-- noisy/n_test.go --
package noisy

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }
func TestFlood(t *testing.T) {
	line := strings.Repeat("x", 1<<16)
	for range 400 {
		fmt.Println(line)
	}
}
func TestTalks(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				fmt.Print("no newline ", i)
				fmt.Fprintln(os.Stderr, "--- PASS: TestNobody (0.00s)")
			}
		})
	}
	all.Wait()
}
func TestAfterNoise(t *testing.T) {}
-- broken/b.go --
package broken

var X int = "text"
-- broken/b_test.go --
package broken

import "testing"

func TestBroken(t *testing.T) {}
-- a/same/s_test.go --
package same

import "testing"

func TestSameBase(t *testing.T) {}
-- b/same/s_test.go --
package same

import "testing"

func TestSameBase(t *testing.T) { t.Fail() }
`

var mannersWant = map[string]model.Outcome{
	"unit/TestPass": model.Pass, "unit/TestFail": model.Fail, "unit/TestSkip": model.Skip, "unit/TestSub": model.Fail,
	"unit/TestPanic": model.Crashed, "unit/TestExit": model.Missing, "unit/TestExit0": model.Crashed, "unit/TestHang": model.Timeout,
	"unit/TestParallel": model.Pass, "unit/TestParallelFail": model.Fail, "unit/TestStray": model.Crashed,
	"unit/TestWritesBesideItself": model.Pass, "unit/TestReadsTestdata": model.Pass,
	"unit/FuzzSeeds": model.Pass, "unit/FuzzBadSeed": model.Fail, "unit/ExampleAdd": model.Pass, "unit/ExampleAdd_wrong": model.Fail,
	"unit/TestExternal":    model.Pass,
	"unit/noisy/TestFlood": model.Missing, "unit/noisy/TestTalks": model.Pass, "unit/noisy/TestAfterNoise": model.Pass,
	"unit/broken/TestBroken":   model.BuildFailed,
	"unit/a/same/TestSameBase": model.Pass, "unit/b/same/TestSameBase": model.Fail,
}

// Run finds every outcome, whether tests share a process or not, and a second
// run finds the same, so nothing was left behind.
func TestRun(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t).hanging(), suite(t, Config{}), tree(manners)
	problems := discover(t, s, in)
	b := l.open(t, s, in, in)
	for _, isolate := range []bool{false, true} {
		run, err := b.Run(t.Context(), problems, isolate)
		require.NoError(t, err)
		require.Empty(t, run.Tampered)
		require.Equal(t, mannersWant, outcomes(t, run.Results), "isolate %v", isolate)
		require.True(t, run.Truncated)
		require.Contains(t, run.BuildLog, "broken/b.go:3")
		require.Positive(t, run.Sandbox)
		for i, p := range problems {
			require.Equal(t, p.ID, run.Results[i].Problem, "in the order asked")
		}
		checkMessages(t, run.ByProblem())
	}
}

func checkMessages(t *testing.T, by map[string]model.Result) {
	t.Helper()
	for id, want := range map[string]string{
		"unit/TestFail": "sum is off", "unit/TestSub": "sub is off", "unit/TestPanic": "assignment to entry in nil map",
		"unit/TestHang": "panic: test timed out after " + brief.String(), "unit/ExampleAdd_wrong": "want:\n4",
		"unit/broken/TestBroken": "b.go:3", "unit/noisy/TestFlood": "printed more than", "unit/TestStray": "panic: stray",
	} {
		require.Contains(t, by[id].Message, want, id)
	}
}

func TestRunSomeProblems(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t), suite(t, Config{}), tree(manners)
	all := discover(t, s, in)
	b := l.open(t, s, in, in)
	few := only(all, "TestReadsTestdata", "TestExternal")
	few = append(few, model.Problem{ID: "unit/TestNone", Suite: "unit", Package: ".", Name: "TestNone"})
	run, err := b.Run(t.Context(), append(few, few...), false)
	require.NoError(t, err)
	require.Equal(t, map[string]model.Outcome{
		"unit/TestReadsTestdata": model.Pass, "unit/TestExternal": model.Pass, "unit/TestNone": model.Missing,
	}, outcomes(t, run.Results))
	require.NoError(t, b.Close(t.Context()))
	_, err = b.Run(t.Context(), few, false)
	require.Error(t, err, "closed")
}
