package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const discoverTree = `
-- go.mod --
module example.com/m
-- a_test.go --
package m

import (
	"fmt"
	tt "testing"
)

func TestRoot(t *tt.T)          {}
func Test(t *tt.T)              {}
func Testlower(t *tt.T)         {}
func TestMain(m *tt.M)          { m.Run() }
func TestHelper(t *tt.T, n int) {}
func TestResult(t *tt.T) int    { return 0 }
func TestGeneric[T any](t *tt.T) {}
func FuzzRoot(f *tt.F)          {}
func BenchmarkRoot(b *tt.B)     {}
func Example()                  {
	fmt.Println()
	// Output:
}
func ExampleSilent() { fmt.Println() }
func ExampleLoud() {
	fmt.Println("x")
	// Unordered output: x
}

type s struct{}

func (s) TestMethod(t *tt.T) {}
-- p/p.go --
package p
-- p/p_test.go --
package p
import "testing"
func TestSame(t *testing.T) {}
func TestIn(t *testing.T) {}
-- p/x_test.go --
package p_test
import "testing"
func TestSame(t *testing.T) {}
func TestOut(t *testing.T) {}
-- p/p_windows_test.go --
package p
import "testing"
func TestWindows(t *testing.T) {}
-- p/p_linux_test.go --
package p
import "testing"
func TestLinux(t *testing.T) {}
-- p/tag_test.go --
//go:build integration || arm64

package p
import "testing"
func TestTagged(t *testing.T) {}
-- p/broken_test.go --
package p
import "testing"
func TestBeforeTheError(t *testing.T) {}
func (
-- p/testdata/t_test.go --
package t
import "testing"
func TestData(t *testing.T) {}
-- vendor/v/v_test.go --
package v
import "testing"
func TestVendored(t *testing.T) {}
-- _old/o_test.go --
package o
import "testing"
func TestOld(t *testing.T) {}
-- .hid/o_test.go --
package o
import "testing"
func TestDot(t *testing.T) {}
-- sub/go.mod --
module example.com/m/sub
-- sub/s_test.go --
package sub
import "testing"
func TestSub(t *testing.T) {}
-- sub/deep/s_test.go --
package deep
import "testing"
func TestDeep(t *testing.T) {}
`

func TestDiscover(t *testing.T) {
	in := tree(discoverTree)
	for name, c := range map[string]struct {
		cfg  Config
		want []string
	}{
		"all": {Config{}, []string{
			"unit/Example", "unit/ExampleLoud", "unit/FuzzRoot", "unit/Test", "unit/TestRoot",
			"unit/p/TestBeforeTheError", "unit/p/TestIn", "unit/p/TestLinux", "unit/p/TestOut", "unit/p/TestSame",
		}},
		"root only": {Config{Packages: []string{"."}}, []string{
			"unit/Example", "unit/ExampleLoud", "unit/FuzzRoot", "unit/Test", "unit/TestRoot",
		}},
		"one folder": {Config{Packages: []string{"./p/..."}}, []string{
			"unit/p/TestBeforeTheError", "unit/p/TestIn", "unit/p/TestLinux", "unit/p/TestOut", "unit/p/TestSame",
		}},
		"module below": {Config{Root: "sub"}, []string{"unit/sub/TestSub", "unit/sub/deep/TestDeep"}},
		"pattern below the module": {Config{Root: "sub", Packages: []string{"./deep"}}, []string{
			"unit/sub/deep/TestDeep",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := discover(t, suite(t, c.cfg), in)
			require.Equal(t, c.want, ids(got))
			for _, p := range got {
				require.Equal(t, model.SplitSearch, p.Split)
				require.Equal(t, "unit", p.Suite)
			}
		})
	}
}

func TestDiscoverWorkspace(t *testing.T) {
	in := tree(discoverTree).With(edit("go.work", "go 1.26\nuse (\n\t.\n\t./sub\n)\n"))
	got := ids(discover(t, suite(t, Config{}), in))
	require.Contains(t, got, "unit/TestRoot")
	require.Contains(t, got, "unit/sub/deep/TestDeep")
}

func TestDiscoverErrors(t *testing.T) {
	_, err := suite(t, Config{}).Discover(t.Context(), Target{Trusted: tree("-- go.mod --\nmodule m\n-- a.go --\npackage a\n")})
	require.ErrorIs(t, err, ErrNoProblems)
	_, err = suite(t, Config{}).Discover(t.Context(), Target{Trusted: tree("-- a.go --\npackage a\n")})
	require.ErrorContains(t, err, "no go.mod")
}

func TestHarness(t *testing.T) {
	s := suite(t, Config{})
	for path, want := range map[string]bool{
		"a_test.go": true, "x/y_test.go": true, "go.mod": true, "sub/go.sum": true, "go.work": true, "go.work.sum": true,
		"vendor/x/y.go": true, "p/testdata/in": true, "p/testdata": true, "testdata/x": true,
		"a.go": false, "go.mods": false, "mytestdata/x": false, "testdata.go": false, "README.md": false,
	} {
		require.Equal(t, want, s.Harness(path), path)
	}
}

func TestMerge(t *testing.T) {
	s := suite(t, Config{})
	trusted := tree("-- go.mod --\nmodule m\n-- p/a.go --\nold\n-- p/a_test.go --\ngood\n-- p/testdata/x --\ngood\n")
	code := tree("-- go.mod --\nevil\n-- p/a.go --\nnew\n-- p/a_test.go --\nevil\n-- p/added_test.go --\nevil\n-- vendor/v.go --\nevil\n")
	got := s.merge(code, trusted)
	require.Equal(t, tree("-- go.mod --\nmodule m\n-- p/a.go --\nnew\n-- p/a_test.go --\ngood\n-- p/testdata/x --\ngood\n"), got)

	link := model.Tree{Files: []model.File{{Path: "p", Mode: model.ModeSymlink, Data: []byte("elsewhere")}}}
	_, ok := s.merge(link, trusted).Find("p")
	require.False(t, ok, "a link in place of a folder of the harness")
}

// Discover agrees with what test binaries themselves list.
func TestDiscoverAgreesWithGo(t *testing.T) {
	in := tree(manners).Without(func(p string) bool { return strings.HasPrefix(p, "broken/") })
	log, err := hostGo(t, write(t, in), "test", "-vet=off", "-list=.", "./...")
	require.NoError(t, err, log)
	var listed, found []string
	for line := range strings.Lines(log) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "ok ") && !strings.HasPrefix(name, "? ") {
			listed = append(listed, name)
		}
	}
	for _, p := range discover(t, suite(t, Config{}), in) {
		found = append(found, p.Name)
	}
	found = append(found, "TestPass") // declared in the external tests as well
	require.ElementsMatch(t, listed, found)
}
