package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
	"ratchet/sandbox/docker"
)

// cli runs commands in this process, each in surroundings of its own.
type cli struct {
	t   testing.TB
	dir string // current folder
	env map[string]string
}

// result is what a command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// newCLI makes an empty current folder; the data folder is under it, by the environment.
func newCLI(t testing.TB) *cli {
	t.Helper()
	dir := t.TempDir()
	return &cli{t: t, dir: dir, env: map[string]string{
		"HOME": dir, "USER": "grace", "XDG_STATE_HOME": filepath.Join(dir, "state"),
	}}
}

// in is the same surroundings for a subtest.
func (c *cli) in(t testing.TB) *cli { return &cli{t: t, dir: c.dir, env: c.env} }

// data is the data folder that commands use without --data.
func (c *cli) data() string { return filepath.Join(c.dir, "state", "ratchet") }

func (c *cli) surroundings(stdout, stderr *bytes.Buffer) surroundings {
	return surroundings{
		stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		getenv: func(k string) string { return c.env[k] }, environ: func() []string { return nil }, cwd: c.dir,
	}
}

func (c *cli) run(args ...string) result { return c.runContext(c.t.Context(), args...) }

func (c *cli) runContext(ctx context.Context, args ...string) result {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, c.surroundings(&stdout, &stderr), args)
	return result{code, stdout.String(), stderr.String()}
}

// ok runs a command that must succeed, and returns its standard output.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	require.Equal(c.t, exitOK, r.code, "%v\n%s%s", args, r.stdout, r.stderr)
	return r.stdout
}

// fails runs a command that must fail with a code, say each of texts on standard
// error, and print nothing on standard output.
func (c *cli) fails(code int, texts []string, args ...string) {
	c.t.Helper()
	r := c.run(args...)
	require.Equal(c.t, code, r.code, "%v\n%s%s", args, r.stdout, r.stderr)
	require.Empty(c.t, r.stdout, "%v", args)
	require.True(c.t, strings.HasPrefix(r.stderr, "ratchet: "), r.stderr)
	for _, text := range texts {
		require.Contains(c.t, r.stderr, text, "%v", args)
	}
}

// document runs a command with --json and decodes the one document it prints.
func (c *cli) document(into any, args ...string) {
	c.t.Helper()
	decodeOne(c.t, c.ok(append(args, "--json")...), into)
}

// decodeOne decodes the whole of a text as one JSON document without unknown keys.
func decodeOne(t testing.TB, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(into), text)
	require.False(t, d.More(), "one document only: %s", text)
}

// write puts a file into the current folder.
func (c *cli) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o644))
}

// repository makes a bare repository in the current folder with one commit on a
// branch, or without any commit when there are no files; it returns the commit.
func (c *cli) repository(name, branch string, files map[string]string) string {
	c.t.Helper()
	ctx := c.t.Context()
	path := filepath.Join(c.dir, name)
	require.NoError(c.t, repo.Init(ctx, path))
	if len(files) == 0 {
		return ""
	}
	r, err := repo.Open(ctx, path)
	require.NoError(c.t, err)
	defer r.Close()
	tip, err := r.Ref(ctx, "refs/heads/"+branch)
	if err != nil {
		require.ErrorIs(c.t, err, repo.ErrNoRef)
	}
	var edits []model.Edit
	for name, text := range files {
		edits = append(edits, model.Edit{Path: name, Data: []byte(text)})
	}
	commit, err := r.Commit(ctx, repo.CommitSpec{Parent: tip, Edits: edits, Subject: "Write it", When: demoTime})
	require.NoError(c.t, err)
	require.NoError(c.t, r.SetRef(ctx, "refs/heads/"+branch, tip, commit.Hash))
	return commit.Hash
}

// campaign writes a campaign file for a repository, with more lines of YAML.
func (c *cli) campaign(name, repo string, lines ...string) string {
	c.t.Helper()
	file := name + ".yaml"
	suites := "suites: [{name: unit, kind: gotest, timeout: 20s}]"
	for _, l := range lines {
		if strings.HasPrefix(l, "suites:") {
			suites = ""
		}
	}
	c.write(file, strings.Join(append([]string{"name: " + name, "repo: " + repo, suites}, lines...), "\n")+"\n")
	return file
}

// needDocker skips without Docker, or fails where CI is set.
func needDocker(t testing.TB) {
	t.Helper()
	e, err := docker.New(t.Context(), docker.Config{Stack: "probe", Epoch: 1})
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("needs Docker (apt-get install docker.io): %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// module is a Go module with the given files besides its go.mod.
func module(files map[string]string) map[string]string {
	out := map[string]string{"go.mod": "module example.org/clamp\n\ngo 1.26\n"}
	for name, text := range files {
		out[name] = text
	}
	return out
}

// cancelled is the context of a command after Ctrl-C.
func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// lines is standard output or error of a command that runs beside the test; seen
// is called with each complete line.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	rest string
	seen func(line string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.text.Write(p)
	whole := strings.Split(l.rest+string(p), "\n")
	l.rest = whole[len(whole)-1]
	l.mu.Unlock()
	for _, line := range whole[:len(whole)-1] {
		if l.seen != nil {
			l.seen(line)
		}
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// linesOf are the lines of a text that ends with a line end.
func linesOf(text string) iter.Seq[string] {
	return strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n")
}
