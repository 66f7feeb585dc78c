package benchmarks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const covered = `
-- sub/go.mod --
module example.com/m/v2

go 1.26
-- sub/m.go --
package m

import "example.com/m/v2/deep"

func Sign(n int) int {
	if n < 0 {
		return -1
	}
	return deep.Step(n)
}

func Never() int {
	return 0
}
-- sub/deep/d.go --
package deep

func Step(n int) int {
	if n > 99 {
		panic("too large")
	}
	for n > 50 {
	}
	return 1
}
-- sub/m_test.go --
package m

import "testing"

func TestNegative(t *testing.T) {
	if Sign(-3) != -1 {
		t.Fatal()
	}
}
func TestFails(t *testing.T) {
	if Sign(2) != 7 {
		t.Fatal("wrong")
	}
}
func TestPanics(t *testing.T) { Sign(100) }
func TestHangs(t *testing.T)  { Sign(60) }
func TestSkips(t *testing.T)  { t.Skip() }
func FuzzSign(f *testing.F) {
	f.Add(-1)
	f.Fuzz(func(t *testing.T, n int) { Sign(n) })
}
-- sub/x_test.go --
package m_test

import (
	"testing"

	m "example.com/m/v2"
)

func TestPanics(t *testing.T) { m.Sign(-1) }
func TestNone(t *testing.T)   {}
-- sub/deep/d_test.go --
package deep_test

import (
	"fmt"

	"example.com/m/v2/deep"
)

func ExampleStep() {
	fmt.Println(deep.Step(0))
	// Output: 1
}
-- sub/bad/b_test.go --
package bad

import "testing"

func TestBad(t *testing.T) { undefined() }
`

func TestCover(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t).hanging(), suite(t, Config{Root: "sub"}), tree(covered)
	problems := discover(t, s, in)
	target := l.target(in, in, problems)
	got, err := s.Cover(t.Context(), target, problems)
	require.NoError(t, err)

	const (
		signIf, negative, signEnd = "sub/m.go:5.22-6.11", "sub/m.go:6.11-8.3", "sub/m.go:9.2-9.21"
		stepIf, tooLarge          = "sub/deep/d.go:3.22-4.12", "sub/deep/d.go:4.12-5.21"
		loop, body, stepEnd       = "sub/deep/d.go:7.2-7.13", "sub/deep/d.go:7.14-8.3", "sub/deep/d.go:9.2-9.10"
	)
	require.Equal(t, map[string][]string{
		"unit/sub/TestNegative":     {signIf, negative},
		"unit/sub/TestFails":        {signIf, signEnd, stepIf, loop, stepEnd},
		"unit/sub/TestPanics":       {signIf, negative, signEnd, stepIf, tooLarge},
		"unit/sub/TestHangs":        {signIf, signEnd, stepIf, loop, body},
		"unit/sub/FuzzSign":         {signIf, negative},
		"unit/sub/deep/ExampleStep": {stepIf, loop, stepEnd},
	}, hits(t, got))
	require.Equal(t, map[string]model.Outcome{
		"unit/sub/TestNegative": model.Pass, "unit/sub/TestFails": model.Fail, "unit/sub/TestPanics": model.Crashed,
		"unit/sub/TestHangs": model.Timeout, "unit/sub/TestSkips": model.Skip, "unit/sub/FuzzSign": model.Pass,
		"unit/sub/TestNone": model.Pass, "unit/sub/deep/ExampleStep": model.Pass, "unit/sub/bad/TestBad": model.BuildFailed,
	}, outcomes(t, got.Results))
	require.Positive(t, got.Sandbox)
}

// hits writes blocks out, the hits of each problem sorted by file as in the test's constants.
func hits(t *testing.T, c model.Coverage) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for id, indexes := range c.Hits {
		var deep []string
		for i, n := range indexes {
			require.True(t, i == 0 || indexes[i-1] < n, "ascending")
			b := c.Blocks[n]
			text := fmt.Sprintf("%s:%d.%d-%d.%d", b.File, b.StartLine, b.StartCol, b.EndLine, b.EndCol)
			if b.File == "sub/deep/d.go" {
				deep = append(deep, text)
			} else {
				out[id] = append(out[id], text)
			}
		}
		out[id] = append(out[id], deep...)
	}
	return out
}
