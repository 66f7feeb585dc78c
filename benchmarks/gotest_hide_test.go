package benchmarks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const hideTree = `
-- go.mod --
module example.com/m

go 1.26
-- m.go --
package m

func One() int { return 1 }
-- odd-name/x.go --
package peculiar

func Two() int { return 2 }
-- a_test.go --
// Package comment stays.
package m

import (
	"bytes"
	"fmt" // used by the example
	_ "net/http/pprof"
	"os"
	. "strings"
	str "strconv"
	"testing"

	oddly "example.com/m/odd-name"
)

import "errors"

// helper is kept.
func helper() string { return ToUpper("x") }

// TestSecret has a comment that tells its secret.
func TestSecret(t *testing.T) {
	var os struct{ Name string }
	if One() != 1 || errors.New(os.Name) == nil || helper() == "" || str.Itoa(1) == "" {
		t.Fatal("secret", bytes.NewReader(nil), oddly.Two())
	}
} // trailing secret

func TestShown(t *testing.T) {
	t.Log(os.Args)
}

/* Example_secret block */
func Example_secret() {
	fmt.Println("secret")
	// Output: secret
}
-- b_test.go --
package m

import "testing"

func TestOnlySecret(t *testing.T) { t.Fatal("secret") }
-- c_test.go --
package m_test

import (
	"testing"

	peculiar "example.com/m/odd-name"
	"example.com/m"
)

func TestSecret(t *testing.T) { t.Fatal("secret", m.One()) }

func TestOther(t *testing.T) { t.Log(peculiar.Two()) }
-- d_test.go --
package m_test

import (
	"example.com/m/odd-name"
	"testing"
)

func TestSecret2(t *testing.T) { t.Fatal("secret", peculiar.Two()) }

type kept struct{ testing.TB }
`

func TestHideKeepsTheRestBuilding(t *testing.T) {
	s := suite(t, Config{})
	in := tree(hideTree)
	all := discover(t, s, in)
	hidden := only(all, "TestSecret", "TestSecret2", "Example_secret", "TestOnlySecret")
	require.Len(t, hidden, 4)
	out, err := s.Hide(in, hidden)
	require.NoError(t, err)

	require.Equal(t, []string{"unit/TestOther", "unit/TestShown"}, ids(discover(t, s, out)))
	for _, f := range out.Files {
		require.NotContains(t, string(f.Data), "secret", f.Path)
	}
	_, ok := out.Find("b_test.go")
	require.False(t, ok, "a file with nothing left in it")
	log, err := hostGo(t, write(t, out), "test", "./...")
	require.NoError(t, err, log)
}

func TestHideCutsExactly(t *testing.T) {
	s := suite(t, Config{})
	in := tree(hideTree)
	out, err := s.Hide(in, only(discover(t, s, in), "TestSecret", "Example_secret"))
	require.NoError(t, err)
	got, _ := out.Find("a_test.go")
	require.Equal(t, `// Package comment stays.
package m

import (
	_ "net/http/pprof"
	"os"
	. "strings"
	"testing"

)

// helper is kept.
func helper() string { return ToUpper("x") }

func TestShown(t *testing.T) {
	t.Log(os.Args)
}

`, string(got.Data))
	untouched, _ := out.Find("m.go")
	before, _ := in.Find("m.go")
	require.Equal(t, before, untouched)
}

func TestHideNothing(t *testing.T) {
	s := suite(t, Config{})
	in := tree(hideTree)
	in.Hash = "abc"
	out, err := s.Hide(in, nil)
	require.NoError(t, err)
	require.Equal(t, in, out)
}

// Hiding each test of a tree by itself, and each but one, must leave code that
// compiles. What is left each time is a folder of one module, so that the go command
// looks at all of them at once.
func TestHideEachBuilds(t *testing.T) {
	s := suite(t, Config{})
	in := tree(hideTree)
	all := discover(t, s, in)
	left := tree("-- go.mod --\nmodule example.com/all\n\ngo 1.26\n")
	hiddenIn := map[string][]string{}
	for i := range all {
		others := append(append([]model.Problem{}, all[:i]...), all[i+1:]...)
		for _, hidden := range [][]model.Problem{all[i : i+1], others} {
			out, err := s.Hide(in, hidden)
			require.NoError(t, err)
			require.Len(t, discover(t, s, out), len(all)-len(hidden))
			folder := fmt.Sprintf("left%d", len(hiddenIn))
			hiddenIn[folder] = ids(hidden)
			left = left.With(moved(out, folder)...)
		}
	}
	log, err := hostGo(t, write(t, left), "vet", "./...")
	require.NoError(t, err, "%v: %s", hiddenIn, log)
}

// moved is the module of hideTree as a folder of another one.
func moved(in model.Tree, folder string) (out []model.Edit) {
	for _, f := range in.Files {
		if f.Path != "go.mod" {
			out = append(out, edit(folder+"/"+f.Path, strings.ReplaceAll(string(f.Data), "example.com/m", "example.com/all/"+folder)))
		}
	}
	return out
}

func TestImportNames(t *testing.T) {
	for path, want := range map[string]string{
		"gopkg.in/yaml.v3": "yaml", "github.com/x/go-git/v5": "git", "github.com/nats-io/nats.go": "nats",
		"github.com/goccy/go-yaml": "yaml", "math/rand/v2": "rand", "example.com/foo-bar": "bar", "net/http": "http",
		"github.com/kr/text-go": "text",
	} {
		in := model.File{Path: "x.go", Data: []byte("package x\nimport \"" + path + "\"\n")}
		require.Contains(t, importNames(parseGo(in).ast.Imports[0], nil), want, path)
	}
}
