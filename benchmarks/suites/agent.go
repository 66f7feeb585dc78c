package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Where an agent finds things in its box.
const (
	taskDir  = sandbox.WorkDir + "/task"  // what it is to do; it cannot write there
	agentDir = sandbox.WorkDir + "/agent" // its own files; it cannot write there
	workDir  = sandbox.WorkDir + "/work"  // the files of the problem, its current folder
	outDir   = sandbox.WorkDir + "/out"   // what it says besides

	answerFile = "answer.txt"
	usageFile  = "usage.json"
)

const (
	maxOutput  = 256 << 10 // bytes kept of each stream of an agent
	maxAnswer  = 64 << 10  // bytes
	maxUsage   = 64 << 10  // bytes
	maxTokens  = 1 << 50
	graceLife  = 10 * time.Minute // a box outlives its agent's time limit by this
	maxEntries = 4096             // files and folders that an agent may leave
	maxFiles   = 32 << 20         // bytes in them
)

// Agent is a program that is to be measured.
type Agent struct {
	Argv  []string          // without a shell
	Files []model.File      // laid in at /box/agent
	Env   map[string]string // besides what every agent gets
}

// work is what an agent left behind on one problem.
type work struct {
	tree    model.Tree
	answer  string
	tokens  int64
	outcome sandbox.Outcome
	refused string // why what it left behind cannot be graded
	note    string // what else there is to say
}

// attempt lets the agent work on a problem in a box of its own. An error means
// that nothing was measured.
func (r *Runner) attempt(ctx context.Context, p Problem) (w work, err error) {
	limit := r.limit(p)
	box, err := r.Boxes.Open(ctx, r.spec(p, limit))
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, box.Close(ctx)) }()
	if err := lay(ctx, box, r.Agent, p); err != nil {
		return w, err
	}
	if w.outcome, err = command(ctx, box, r.Agent, p, limit); err != nil {
		return w, err
	}
	if o := w.outcome; o.ExitCode == 127 && bytes.HasPrefix(o.Stderr, []byte("cannot start: ")) {
		return w, fmt.Errorf("%w: %s: %s (is it in the agent's image, or in its folder, which is at %s?)",
			ErrAgent, r.Agent.Argv[0], strings.TrimSpace(string(o.Stderr)), agentDir)
	}
	return w, collect(ctx, box, &w)
}

// spec is the agent's box for a problem.
func (r *Runner) spec(p Problem, limit time.Duration) sandbox.Spec {
	spec := r.Spec
	if p.Checker != nil {
		if own, ok := r.Specs[p.Checker.Kind]; ok {
			spec = own
		}
	}
	spec.Network = sandbox.NetworkNone
	spec.Purpose = "agent on " + p.ID
	spec.Limits.Lifetime = max(spec.Limits.Lifetime, limit+graceLife)
	return spec
}

// command runs the agent's command. It is a batch, so that the box outlives an agent
// that takes too long or too much memory, and says what that has used.
func command(ctx context.Context, box sandbox.Box, a Agent, p Problem, limit time.Duration) (out sandbox.Outcome, err error) {
	c := sandbox.Command{
		Argv: a.Argv, Dir: workDir, Env: environment(a, p, limit),
		Input: []byte(p.Statement + "\n"), Timeout: limit, MaxOutput: maxOutput,
	}
	err = box.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{c}, User: sandbox.Runner}, func(_ int, o sandbox.Outcome) error {
		out = o
		return nil
	})
	return out, err
}

// lay puts into the box what the agent may see, and nothing else.
func lay(ctx context.Context, box sandbox.Box, a Agent, p Problem) error {
	statement := model.File{Path: statementFile, Mode: model.ModeFile, Data: []byte(p.Statement + "\n")}
	for _, x := range []struct {
		dir   string
		user  sandbox.User
		files []model.File
	}{
		{taskDir, sandbox.Builder, []model.File{statement}}, {agentDir, sandbox.Builder, a.Files},
		{workDir, sandbox.Runner, p.Files.Files}, {outDir, sandbox.Runner, nil},
	} {
		if err := box.Put(ctx, x.dir, x.user, x.files); err != nil {
			return fmt.Errorf("lay in problem %s: %w", p.ID, err)
		}
	}
	return nil
}

func environment(a Agent, p Problem, limit time.Duration) map[string]string {
	env := map[string]string{"GOCACHE": sandbox.WorkDir + "/go-build"} // the image's own is not the runner's
	for k, v := range a.Env {
		env[k] = v
	}
	for k, v := range map[string]string{
		"PROBLEM": p.Name, "STATEMENT": taskDir + "/" + statementFile, "AGENT": agentDir, "WORK": workDir,
		"ANSWER": outDir + "/" + answerFile, "USAGE": outDir + "/" + usageFile,
		"TIME_LIMIT": strconv.FormatFloat(limit.Seconds(), 'f', -1, 64),
	} {
		env["RATCHET_"+k] = v
	}
	return env
}

// collect reads back what the agent left: its usage and, when it ended in time and
// within its memory, its files and its answer. What is wrong with these is the
// agent's fault, not an error.
func collect(ctx context.Context, box sandbox.Box, w *work) error {
	said, refused, err := read(ctx, box, outDir, map[string]int64{answerFile: maxAnswer, usageFile: maxUsage})
	if err != nil {
		return err
	}
	if refused != "" {
		w.note = refused
	}
	if f, ok := said.Find(answerFile); ok {
		w.answer = string(f.Data)
	}
	if f, ok := said.Find(usageFile); ok {
		if w.tokens, err = readUsage(f.Data); err != nil {
			w.note = err.Error()
		}
	}
	if w.outcome.TimedOut || w.outcome.OutOfMemory {
		return nil
	}
	w.tree, w.refused, err = read(ctx, box, workDir, nil)
	return err
}

// readUsage reads what an agent reports of its use of a model: {"tokens": 123}.
// Other keys may be there.
func readUsage(data []byte) (int64, error) {
	var u struct {
		Tokens *int64 `json:"tokens"`
	}
	if err := json.Unmarshal(data, &u); err != nil {
		return 0, fmt.Errorf("%s is not read: %w", usageFile, err)
	}
	if u.Tokens == nil || *u.Tokens < 0 || *u.Tokens > maxTokens {
		return 0, fmt.Errorf(`%s is not read: "tokens" is not a whole number from 0 to %d`, usageFile, int64(maxTokens))
	}
	return *u.Tokens, nil
}

// leftovers are folders that tools fill and nobody means to hand in.
var leftovers = map[string]bool{".git": true, "__pycache__": true, ".pytest_cache": true, "node_modules": true}

// read reads the regular files below a folder of the box, all or those in only,
// each with its limit in bytes; symlinks and the like are left out. refused says
// why it cannot be taken.
func read(ctx context.Context, box sandbox.Box, dir string, only map[string]int64) (t model.Tree, refused string, err error) {
	entries, complete, err := box.List(ctx, dir, maxEntries)
	switch {
	case errors.Is(err, sandbox.ErrPath):
		return t, dir + " is no folder any more", nil
	case errors.Is(err, sandbox.ErrMissing):
		return t, dir + " is not there any more", nil
	case errors.Is(err, sandbox.ErrDenied):
		return t, dir + " cannot be read any more", nil
	case err != nil:
		return t, "", fmt.Errorf("read back %s: %w", dir, err)
	}
	if !complete && only == nil {
		return t, fmt.Sprintf("%s holds more than %d files and folders, or folders too deep", dir, maxEntries), nil
	}
	left := int64(maxFiles)
	var edits []model.Edit
	for _, e := range entries {
		limit, wanted := only[e.Path]
		if e.Kind != sandbox.EntryFile || only != nil && !wanted || only == nil && leftover(e.Path) {
			continue
		}
		if only == nil {
			limit = left
		}
		if e.Size > limit {
			return model.Tree{}.With(edits...), fmt.Sprintf("%s: with %s there is more than %d bytes", dir, e.Path, limit), nil
		}
		data, err := box.Get(ctx, path.Join(dir, e.Path), limit)
		if err != nil {
			return t, "", err
		}
		left -= int64(len(data))
		edits = append(edits, model.Edit{Path: e.Path, Mode: mode(e), Data: data})
	}
	return model.Tree{}.With(edits...), "", nil
}

func leftover(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if leftovers[part] {
			return true
		}
	}
	return badPath(p) != ""
}

func mode(e sandbox.Entry) uint32 {
	if e.Exec {
		return model.ModeExec
	}
	return model.ModeFile
}
