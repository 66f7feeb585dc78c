package benchmarks

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// Modules may be vendored, lie below the root, or be many in a workspace.
func TestRunModuleLayouts(t *testing.T) {
	t.Parallel()
	l := boxes(t)
	for name, c := range map[string]struct {
		cfg  Config
		tree string
		want map[string]model.Outcome
	}{
		"vendored, below the root": {Config{Root: "code"}, `
-- code/go.mod --
module example.com/m

go 1.26

require example.com/dep v1.2.3
-- code/vendor/modules.txt --
# example.com/dep v1.2.3
## explicit
example.com/dep
-- code/vendor/example.com/dep/d.go --
package dep

const Two = 2
-- code/p/p_test.go --
package p

import (
	"testing"

	"example.com/dep"
)

func TestDep(t *testing.T) {
	if dep.Two != 2 {
		t.Fatal()
	}
}
`, map[string]model.Outcome{"unit/code/p/TestDep": model.Pass}},
		"old, with names of the standard library": {Config{}, `
-- go.mod --
module example.com/old

go 1.11
-- o.go --
package old

var fmt, reflect, testing, os, time, strings = 1, 2, 3, 4, 5, 6
-- o_test.go --
package old

import check "testing"

func TestOld(t *check.T) { _ = fmt }
`, map[string]model.Outcome{"unit/TestOld": model.Pass}},
		"workspace": {Config{}, `
-- go.work --
go 1.26

use (
	./one
	./two
)
-- one/go.mod --
module example.com/one

go 1.26
-- one/o.go --
package one

func One() int { return 1 }
-- one/o_test.go --
package one

import "testing"

func TestOne(t *testing.T) {}
-- two/go.mod --
module example.com/two

go 1.26
-- two/t_test.go --
package two

import (
	"testing"

	"example.com/one"
)

func TestTwo(t *testing.T) {
	if one.One() != 2 {
		t.Fatal("one is not two")
	}
}
-- unused/go.mod --
module example.com/unused
-- unused/u_test.go --
package unused

import "testing"

func TestUnused(t *testing.T) {}
`, map[string]model.Outcome{"unit/one/TestOne": model.Pass, "unit/two/TestTwo": model.Fail}},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := suite(t, c.cfg), tree(c.tree)
			run := l.run(t, s, in, in)
			require.Equal(t, c.want, outcomes(t, run.Results), "%+v", run)
			require.Empty(t, run.Tampered)
			problems := discover(t, s, in)
			covered, err := s.Cover(t.Context(), l.target(in, in, problems), problems)
			require.NoError(t, err)
			require.Equal(t, c.want, outcomes(t, covered.Results))
		})
	}
}

// Every package that can be built is warmed, whatever the others do.
func TestWarm(t *testing.T) {
	s := suite(t, Config{})
	dir := write(t, tree(honest))
	cmds := s.Warm()
	require.Len(t, cmds, 2)
	for _, c := range cmds {
		require.Equal(t, "go", c.Argv[0])
		require.Equal(t, Source, c.Dir)
		require.Positive(t, c.Timeout)
		log, err := hostGo(t, dir, c.Argv[1:]...)
		require.NoError(t, err, log)
	}
	require.Contains(t, strings.Join(cmds[1].Argv, " "), "-cover")
}

// An image that was prepared with the suite's commands runs the suite.
func TestRunInWarmImage(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t), suite(t, Config{}), tree(honest)
	image, err := l.boxes.(*docker.Engine).Prepare(t.Context(), docker.Target{Image: docker.HostGo, Tree: in, Warm: s.Warm()}, nil)
	require.NoError(t, err)
	l.spec.Image, l.spec.Env = image.ID, image.Env
	got := outcomes(t, l.run(t, s, in, in).Results)
	require.Equal(t, map[string]model.Outcome{
		"unit/calc/TestAdd": model.Fail, "unit/calc/TestZero": model.Pass, "unit/other/TestGolden": model.Fail,
	}, got)
}

// An image without Go is the operator's mistake, not a tree that does not build.
func TestOpenWithoutGo(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t), suite(t, Config{}), tree(honest)
	target := l.target(in, in, discover(t, s, in))
	target.Spec.Env = map[string]string{"PATH": "/nowhere"}
	_, err := s.Open(t.Context(), target)
	var known *sandbox.Error
	require.True(t, errors.As(err, &known), "%v", err)
	require.Contains(t, known.Hint, "needs a Go tool chain")
}
