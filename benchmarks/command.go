package benchmarks

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// maxCommandOutput bounds what is kept of each stream of a command, in bytes.
const maxCommandOutput = 16 << 20

// commandSuite is what the kinds that run a plain command (junit, exec, metric)
// have in common. It is immutable.
type commandSuite struct {
	cfg Config
	// own says which files belong to the grader by the kind's own rules.
	own func(path string) bool
	// absent says which of the grader's files are never laid into a box.
	absent func(path string) bool
}

// newCommandSuite checks what the kinds have in common. own and absent may be nil.
func newCommandSuite(c Config, own, absent func(string) bool) (commandSuite, error) {
	s := commandSuite{cfg: c, own: own, absent: absent}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return s, s.refuse("command is missing: write it as a list of words, such as [python3, run.py]")
	}
	for _, words := range c.Prepare {
		if len(words) == 0 || words[0] == "" {
			return s, s.refuse("a prepare command is empty: write each as a list of words, such as [go, build, -o, app, .]")
		}
	}
	for _, p := range c.Harness {
		if !doublestar.ValidatePattern(p) || path.IsAbs(p) {
			return s, s.refuse("harness pattern %q: write patterns relative to the repository, such as bench/**", p)
		}
	}
	return s, nil
}

func (s *commandSuite) refuse(format string, args ...any) error {
	return fmt.Errorf("suite %q: %w: %w", s.cfg.Name, ErrConfig, fmt.Errorf(format, args...))
}

func (s *commandSuite) Name() string { return s.cfg.Name }

// Harness covers what the campaign file names and what the kind knows itself.
func (s *commandSuite) Harness(p string) bool {
	if s.unlaid(p) || s.own != nil && s.own(p) {
		return true
	}
	return slices.ContainsFunc(s.cfg.Harness, func(pattern string) bool { return matches(pattern, p) })
}

// matches follows doublestar's rules; a pattern also covers what is below a
// folder that it matches.
func matches(pattern, p string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	return doublestar.MatchUnvalidated(pattern, p) || doublestar.MatchUnvalidated(pattern+"/**", p)
}

func (s *commandSuite) unlaid(p string) bool { return s.absent != nil && s.absent(p) }

// Affected returns all problems: what a command reads cannot be told.
func (s *commandSuite) Affected(_ model.Tree, _ []string, problems []model.Problem) []model.Problem {
	return problems
}

// Warm prepares the trusted tree, which fills the caches of its compilers; those
// of Go programs also with the counters of coverage.
func (s *commandSuite) Warm() []sandbox.Command {
	cmds := s.prepareCommands(s.cfg.Prepare)
	if counted, ok := goCovered(s.cfg.Prepare); ok {
		cmds = append(cmds, s.prepareCommands(counted)...)
	}
	return cmds
}

func (s *commandSuite) prepareCommands(prepare [][]string) []sandbox.Command {
	var cmds []sandbox.Command
	for _, words := range prepare {
		cmds = append(cmds, sandbox.Command{
			Argv: slices.Clone(words), Dir: s.dir(), User: sandbox.Builder,
			Timeout: s.cfg.Build, MaxOutput: maxBuildOutput, Env: offline(nil),
		})
	}
	return cmds
}

// offline adds the settings with which the Go tool chain stays off the network.
func offline(env map[string]string) map[string]string {
	out := map[string]string{"GOPROXY": "off", "GOTOOLCHAIN": "local"}
	maps.Copy(out, env)
	return out
}

// dir is the folder, in a box, in which commands run.
func (s *commandSuite) dir() string { return path.Join(Source, s.cfg.Root) }

// tree is what is laid in: code without harness files, the trusted ones in
// their place, and none that stay outside.
func (s *commandSuite) tree(code, trusted model.Tree) model.Tree {
	return mergeTrees(code, trusted, s.Harness).Without(s.unlaid)
}

// named lists the repository files that commands name literally, as a file or,
// after -m, as a Python module. They are part of what is measured with, where
// the command is the grader's.
func (s *commandSuite) named() map[string]bool {
	out := map[string]bool{}
	for _, words := range append([][]string{s.cfg.Command}, s.cfg.Prepare...) {
		for i, w := range words {
			if i > 0 && words[i-1] == "-m" {
				module := path.Join(s.cfg.Root, strings.ReplaceAll(w, ".", "/"))
				out[module+".py"], out[path.Join(module, "__main__.py")] = true, true
			}
			out[path.Join(s.cfg.Root, w)] = true
		}
	}
	return out
}

// mergeTrees returns code without its harness files, and the trusted harness
// files in their place. A code file that stands where the harness needs a folder
// gives way to it.
func mergeTrees(code, trusted model.Tree, harness func(string) bool) model.Tree {
	folders := map[string]bool{}
	var theirs []model.File
	for _, f := range trusted.Files {
		if !harness(f.Path) {
			continue
		}
		theirs = append(theirs, f)
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	merged := code.Without(func(p string) bool { return harness(p) || folders[p] })
	files := append(slices.Clone(merged.Files), theirs...)
	slices.SortFunc(files, func(a, b model.File) int { return strings.Compare(a.Path, b.Path) })
	return model.Tree{Files: files}
}

// commandBox is a tree in a box, with the commands of Prepare run.
//
// Without Prepare the tree is Runner's, as in the other kinds. With it, tree and
// outcome are Builder's: what is run can make files beside them, and change none.
type commandBox struct {
	suite    *commandSuite
	target   Target
	tree     model.Tree   // as it is laid in
	extra    []model.File // laid in over it, below Source
	prepare  [][]string
	box      sandbox.Box
	used     bool          // something ran since the tree was laid in
	unpaid   time.Duration // of sandbox time, that no Run has reported yet
	log      string        // of the first Prepare command that failed
	failed   bool
	reopened int
}

func (s *commandSuite) newBox(t Target, code model.Tree) *commandBox {
	return &commandBox{suite: s, target: t, tree: s.tree(code, t.Trusted), prepare: s.cfg.Prepare}
}

func (b *commandBox) owner() sandbox.User {
	if len(b.prepare) > 0 {
		return sandbox.Shared
	}
	return sandbox.Runner
}

// open starts a box, lays the tree in and prepares it.
func (b *commandBox) open(ctx context.Context) error {
	defer b.clock()()
	box, err := b.target.Boxes.Open(ctx, b.target.Spec)
	if err != nil {
		return err
	}
	b.box, b.used = box, false
	return b.build(ctx, b.files())
}

// clock adds the time until the returned function is called to unpaid.
func (b *commandBox) clock() func() {
	start := time.Now()
	return func() { b.unpaid += time.Since(start) }
}

// paid returns the sandbox time since the last call.
func (b *commandBox) paid() time.Duration {
	d := b.unpaid
	b.unpaid = 0
	return d
}

func (b *commandBox) files() []model.File {
	return append(slices.Clone(b.tree.Files), b.extra...)
}

// reopen replaces a box that the code under test has broken.
func (b *commandBox) reopen(ctx context.Context) error {
	if err := b.Close(ctx); err != nil {
		return err
	}
	return b.open(ctx)
}

// Close removes the box; it is safe twice.
func (b *commandBox) Close(ctx context.Context) error {
	if b.box == nil {
		return nil
	}
	err := b.box.Close(ctx)
	b.box = nil
	return err
}
