package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// childLimit bounds one child, and whatever else is waited for. A whole campaign
// takes a few seconds; on a machine with much else to do it may take minutes.
const childLimit = 10 * time.Minute

// parts of the short campaigns: broken ones a to d, sound ones e and f, the
// held-out guard, and a held-out one that nothing mends.
func parts() map[string]string {
	return map[string]string{"a": bad, "b": bad, "c": bad, "d": bad, "e": good, "f": good, guard: good, "beyond": bad}
}

// source makes the repository that campaigns start from.
func source(t testing.TB, parts map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.git")
	require.NoError(t, repo.Init(t.Context(), path))
	r, err := repo.Open(t.Context(), path)
	require.NoError(t, err)
	defer r.Close()
	var edits []model.Edit
	for name, part := range parts {
		edits = append(edits, model.Edit{Path: partOf(name), Data: []byte(part)},
			model.Edit{Path: testOf(name), Data: []byte("p/" + name + " must be good\n")})
	}
	base, err := r.Commit(t.Context(), repo.CommitSpec{Edits: edits, Subject: "Begin", When: time.Unix(1_700_000_000, 0)})
	require.NoError(t, err)
	require.NoError(t, r.SetRef(t.Context(), "refs/heads/main", "", base.Hash))
	return path
}

// spec is the campaign of these tests: some turns are kept, some reverted.
func spec(t testing.TB, source string, generations int) campaign.Spec {
	t.Helper()
	s := campaign.Default()
	s.Name, s.Repo, s.Base = "demo", source, "main"
	s.Paths = campaign.Paths{Allow: []string{"**"}}
	s.Suites = []campaign.Suite{{
		Name: suiteName, Kind: campaign.SuiteGoTest, Weight: 1, Root: ".", Packages: []string{"./..."},
		Heldout: campaign.Heldout{Problems: []string{guard, "beyond"}}, Timeout: campaign.Duration(time.Minute),
	}}
	s.Search.Generations, s.Search.Candidates, s.Search.Parallel, s.Search.Stop.Stale = generations, 5, 2, generations
	require.NoError(t, s.Validate())
	return s
}

// process is a child at work.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// begin starts a child; it is killed when the test ends.
func begin(t *testing.T, j job) *process {
	t.Helper()
	data, err := json.Marshal(j)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), childLimit)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), jobEnv+"="+string(data))
	cmd.Stderr = os.Stderr
	p := &process{t: t, cmd: cmd}
	p.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(stdout)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	return p
}

// line waits for the next line that the child prints.
func (p *process) line() string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	require.NoError(p.t, err, "the child ended early")
	return s[:len(s)-1]
}

// resume lets a child that holds go on.
func (p *process) resume() {
	p.t.Helper()
	_, err := io.WriteString(p.stdin, "\"go\"\n")
	require.NoError(p.t, err)
}

// finish waits until the child's campaign has ended.
func (p *process) finish() outcome {
	p.t.Helper()
	var o outcome
	require.NoError(p.t, json.Unmarshal([]byte(p.line()), &o))
	require.NoError(p.t, p.cmd.Wait())
	return o
}

// die waits until the child has killed itself.
func (p *process) die(point string) {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	err = p.cmd.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(p.t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL,
		"the child was to die at %s: %v %s", point, err, rest)
}

// run lets a campaign run to its end in one child.
func run(t *testing.T, j job) outcome {
	t.Helper()
	return begin(t, j).finish()
}
