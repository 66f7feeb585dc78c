package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/cover"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// commandCover counts which source the commands of a batch run, for programs of
// which it is known how. What it reads was written in the box by the code itself:
// it says where to look for a fault, and decides nothing. A program that is
// killed or panics writes none.
type commandCover struct {
	box     *commandBox
	python  bool
	golang  bool
	mods    []goModule
	sources *pySources
	hits    map[string][]model.Block // by problem id
}

func newCommandCover(b *commandBox) (*commandCover, error) {
	c := &commandCover{box: b, sources: newPySources(b.tree, b.suite.Harness), hits: map[string][]model.Block{}}
	if _, ok := pythonCovered(b.suite.cfg.Command, "", ""); ok {
		c.python = true
		return c, nil
	}
	if counted, ok := goCovered(b.suite.cfg.Prepare); ok {
		mods, err := (&goSuite{cfg: b.suite.cfg}).modules(b.tree)
		if err != nil {
			return nil, err
		}
		c.golang, c.mods, b.prepare = true, mods, counted
	}
	return c, nil
}

// open opens the box; when the program does not build with counters, without.
func (c *commandCover) open(ctx context.Context) error {
	if err := c.box.open(ctx); err != nil || !c.box.failed || !c.golang {
		return err
	}
	c.golang, c.box.prepare = false, c.box.suite.cfg.Prepare
	return c.box.reopen(ctx)
}

// coverFolder is where the i-th command of a batch writes its counters.
func coverFolder(i int) string { return path.Join(homes, strconv.Itoa(i), "cover") }

// dress makes a command count.
func (c *commandCover) dress(i int, cmd *sandbox.Command) {
	switch {
	case c.python:
		cmd.Argv, _ = pythonCovered(cmd.Argv, path.Join(coverFolder(i), "data"), cmd.Dir)
	case c.golang:
		cmd.Env["GOCOVERDIR"] = coverFolder(i)
	}
}

// gather reads what the commands of problems have counted.
func (c *commandCover) gather(ctx context.Context, ids []string) error {
	var cmds []sandbox.Command
	for i := range ids {
		cmd := sandbox.Command{Dir: sandbox.WorkDir, Timeout: c.box.suite.cfg.Build, MaxOutput: maxCommandOutput, Env: offline(nil)}
		switch {
		case c.python:
			cmd.Argv = []string{c.box.suite.cfg.Command[0], "-c", printLines, path.Join(coverFolder(i), "data")}
		case c.golang:
			cmd.Argv = []string{"go", "tool", "covdata", "textfmt", "-i=" + coverFolder(i), "-o=/dev/stdout"}
		default:
			return nil
		}
		cmds = append(cmds, cmd)
	}
	return c.box.batch(ctx, cmds, func(i int, o sandbox.Outcome) error {
		switch {
		case !o.OK() || o.Truncated: // nothing was counted
		case c.python:
			c.hits[ids[i]] = c.pythonBlocks(o.Stdout)
		default:
			c.hits[ids[i]] = c.goBlocks(o.Stdout)
		}
		return nil
	})
}

// printLines prints the lines that a data file of coverage.py names, as JSON by file.
const printLines = `import sys, json
from coverage import CoverageData
d = CoverageData(sys.argv[1])
d.read()
json.dump({f: sorted(d.lines(f) or []) for f in d.measured_files()}, sys.stdout)
`

// pythonBlocks reads what printLines printed; each statement is a block, as in
// the coverage of pytest.
func (c *commandCover) pythonBlocks(out []byte) []model.Block {
	var byFile map[string][]int
	if json.Unmarshal(out, &byFile) != nil {
		return nil
	}
	var blocks []model.Block
	for name, lines := range byFile {
		var ranges [][2]int
		for _, n := range lines {
			ranges = append(ranges, [2]int{n, n})
		}
		blocks = append(blocks, c.sources.of(strings.TrimPrefix(name, Source+"/")).at(ranges, true)...)
	}
	return blocks
}

// goBlocks reads a profile of Go's and keeps what was run.
func (c *commandCover) goBlocks(out []byte) []model.Block {
	parsed, err := cover.ParseProfilesFromReader(bytes.NewReader(out))
	if err != nil {
		return nil
	}
	var blocks []model.Block
	for _, p := range parsed {
		file, ok := sourceFile(c.mods, c.box.tree, p.FileName)
		if !ok {
			continue
		}
		for _, b := range p.Blocks {
			if b.Count > 0 {
				blocks = append(blocks, model.Block{File: file, StartLine: b.StartLine, StartCol: b.StartCol, EndLine: b.EndLine, EndCol: b.EndCol})
			}
		}
	}
	return blocks
}

var pythonProgram = regexp.MustCompile(`^(.*/)?python(3(\.\d+)?)?$`)

// pythonCovered turns a command that runs a Python script or module into one
// that writes to a data file which lines below dir it ran.
func pythonCovered(argv []string, data, dir string) ([]string, bool) {
	if !pythonProgram.MatchString(argv[0]) {
		return nil, false
	}
	i := 1
	for ; i < len(argv); i++ {
		w := argv[i]
		if !strings.HasPrefix(w, "-") || w == "-" || w == "-m" || strings.HasPrefix(w, "-c") {
			break
		}
		if w == "-X" || w == "-W" {
			i++
		}
	}
	if i >= len(argv) || argv[i] == "-" || strings.HasPrefix(argv[i], "-c") {
		return nil, false // no file that could be named
	}
	out := append(slices.Clone(argv[:i]), "-m", "coverage", "run", "--rcfile=/dev/null", "--data-file="+data, "--source="+dir)
	return append(out, argv[i:]...), true
}

// goCovered adds counters to the commands that build Go programs.
func goCovered(prepare [][]string) (out [][]string, ok bool) {
	for _, words := range prepare {
		if len(words) > 1 && path.Base(words[0]) == "go" && (words[1] == "build" || words[1] == "install") {
			words = slices.Concat(words[:2], coverFlags, words[2:])
			ok = true
		}
		out = append(out, words)
	}
	return out, ok
}
