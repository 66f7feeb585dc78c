package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
	"ratchet/internal/report"
)

// TestStack runs real campaigns in real sandboxes on one stack, the way a person
// does: ratchet dev in one terminal, everything else in others.
func TestStack(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.dev()
	for name, test := range map[string]func(*cli){
		"repair": testRepair, "approval": testApproval, "steering": testSteering, "hint": testHint, "iterate": testIterate,
		"all passing": testAllPassing, "all failing": testAllFailing, "hang": testHang, "mended": testMended,
		"benchmark": testBenchmark, "agent": testAgentBenchmark, "failure": testFailure,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(c.in(t))
		})
	}
}

// dev runs ratchet dev until the test ends, and returns when it is ready.
func (c *cli) dev() {
	c.t.Helper()
	var stdout *lines
	c.t.Cleanup(func() { require.Contains(c.t, stdout.String(), "stopping; campaigns are checkpointed") })
	stdout, _ = c.background("Ctrl-C stops the stack", "dev")
}

// background runs a command until the test ends, and returns when it has printed a
// line that begins with ready. Cleanups that were registered later see it run,
// those that were registered before see it ended.
func (c *cli) background(ready string, args ...string) (stdout, stderr *lines) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	printed := make(chan struct{})
	stdout = &lines{seen: func(line string) {
		if strings.HasPrefix(line, ready) {
			close(printed)
		}
	}}
	stderr = &lines{}
	s := c.surroundings(nil, nil)
	s.stdout, s.stderr = stdout, stderr
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, s, args) }()
	select {
	case <-printed:
	case code := <-ended:
		cancel()
		require.FailNow(c.t, strings.Join(args, " ")+" has ended", "exit code %d\n%s%s", code, stdout, stderr)
	}
	t := c.t
	t.Cleanup(func() {
		cancel()
		require.Equal(t, exitInterrupted, <-ended, "%s%s", stdout, stderr)
	})
	return stdout, stderr
}

// clamp has one defect, in the second condition: three of its tests fail.
const clampCode = `// Package clamp bounds numbers.
package clamp

// Clamp returns x, or the bound that it is beyond.
func Clamp(x, lo, hi int) int {
	if x < lo {
		return lo
	}
	if x < hi {
		return hi
	}
	return x
}
`

const clampTest = `package clamp

import "testing"

func check(t *testing.T, x, want int) {
	t.Helper()
	if got := Clamp(x, 0, 9); got != want {
		t.Fatalf("Clamp(%d, 0, 9) is %d, want %d", x, got, want)
	}
}

func TestBelow(t *testing.T)   { check(t, -1, 0) }
func TestAbove(t *testing.T)   { check(t, 12, 9) }
func TestWithin(t *testing.T)  { check(t, 5, 5) }
func TestAtTheTop(t *testing.T) { check(t, 9, 9) }
func TestAtTheEnd(t *testing.T) { check(t, 0, 0) }
`

func clampModule() map[string]string {
	return module(map[string]string{"clamp.go": clampCode, "clamp_test.go": clampTest})
}

// soundModule is the same without the defect.
func soundModule() map[string]string {
	return module(map[string]string{
		"clamp.go": strings.Replace(clampCode, "x < hi", "x > hi", 1), "clamp_test.go": clampTest,
	})
}

// small keeps a campaign short.
const small = "search: {generations: 3, candidates: 12, parallel: 1}"

func (c *cli) report(name string) report.Report {
	c.t.Helper()
	var r report.Report
	c.document(&r, "campaign", "report", name)
	return r
}

// git opens a repository for reading; it is closed with the test.
func (c *cli) git(path string) *repo.Repo {
	c.t.Helper()
	r, err := repo.Open(c.t.Context(), path)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, r.Close()) })
	return r
}

func (c *cli) ref(path, name string) string {
	c.t.Helper()
	hash, err := c.git(path).Ref(c.t.Context(), name)
	require.NoError(c.t, err)
	return hash
}

func (c *cli) tree(path, commit string) string {
	c.t.Helper()
	hash, err := c.git(path).TreeHash(c.t.Context(), commit)
	require.NoError(c.t, err)
	return hash
}

// untouched requires that the branch of a report holds its base's files and that
// the source has one branch, where it was.
func (c *cli) untouched(r report.Report, source, base string) {
	c.t.Helper()
	tip := c.ref(r.Repo, "refs/heads/"+r.Branch)
	require.Equal(c.t, c.tree(source, base), c.tree(r.Repo, tip))
	require.Zero(c.t, r.Kept)
	c.sourceUntouched(source, base)
}

func (c *cli) sourceUntouched(source, base string) {
	c.t.Helper()
	refs, err := c.git(source).Refs(c.t.Context(), "refs/")
	require.NoError(c.t, err)
	require.Equal(c.t, map[string]string{"refs/heads/main": base}, refs)
}

// until watches a campaign until an event that stop accepts, and returns it.
func (c *cli) until(name string, stop func(progress) bool) (found progress) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	s := c.surroundings(nil, nil)
	seen := false
	stdout := &lines{seen: func(line string) {
		var p progress
		decodeOne(c.t, line, &p)
		if !seen && stop(p) {
			found, seen = p, true
			cancel()
		}
	}}
	stderr := &lines{}
	s.stdout, s.stderr = stdout, stderr
	run(ctx, s, []string{"campaign", "watch", name, "--json"})
	require.True(c.t, seen, "%s%s", stdout, stderr)
	return found
}

// waiting starts a campaign whose changes need a person, and returns the first that does.
func (c *cli) waiting(name string) (source, base string, change model.Change) {
	c.t.Helper()
	source = c.dir + "/" + name + ".git"
	base = c.repository(name+".git", "main", clampModule())
	file := c.campaign(name, source, small, "approval: {keep: person, deadline: 1h, then: revert}")
	var started struct {
		Campaign string `json:"campaign"`
		Resumed  bool   `json:"resumed"`
		Running  bool   `json:"running"`
	}
	c.document(&started, "run", file, "--detach")
	require.Equal(c.t, name, started.Campaign)
	require.True(c.t, started.Running)
	require.False(c.t, started.Resumed)
	p := c.until(name, func(p progress) bool { return p.Event == "change" && p.Change.State == model.ChangeAwaiting })
	return source, base, *p.Change
}
