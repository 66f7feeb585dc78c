package benchmarks

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Cover runs each problem in a process of its own, which has imported nothing of
// the tree, and counts lines with the coverage package of the image. Blocks are
// the statements outside the harness that any problem ran. What a module runs while
// it is imported counts for the problems that run something else of it; when no
// problem does, as with a module of constants, for all that import it. Statements
// that only import, define or document count for none.
//
// A problem that takes too long has the lines that it ran in most of its time. One
// that ends its process, but for os._exit, has a result and no hits. Threads are
// measured, other processes are not.
func (s *pySuite) Cover(ctx context.Context, t Target, problems []model.Problem) (out model.Coverage, err error) {
	start := time.Now()
	c := &pyCover{suite: s, lines: map[string]pyLines{}}
	t.Boxes = coverProvider{t.Boxes, c}
	b := &pyBench{suite: s, target: t, tree: s.merge(t.Code, t.Trusted), limit: t.limit(s.cfg)}
	defer func() { _ = b.Close(ctx) }()
	if err := b.open(ctx); err != nil {
		return out, err
	}
	run, err := b.Run(ctx, problems, true)
	if err != nil {
		return out, fmt.Errorf("suite %q: measure coverage: %w", s.cfg.Name, err)
	}
	out = c.coverage(b.tree, problems)
	out.Results = run.Results
	out.Sandbox = time.Since(start)
	return out, nil
}

// pyCover is one measurement of coverage.
type pyCover struct {
	suite *pySuite
	lines map[string]pyLines // by node id
}

// pyLines are the lines that a problem ran, by file of the tree, as pairs of
// first and last.
type pyLines struct {
	Import map[string][][2]int `json:"import"`
	Run    map[string][][2]int `json:"run"`
}

// coverProvider opens boxes in which the driver measures.
type coverProvider struct {
	boxes sandbox.Provider
	cover *pyCover
}

func (p coverProvider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	b, err := p.boxes.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return coverBox{b, p.cover}, nil
}

// coverBox runs the driver's cover.py in place of its main.py and takes in what
// it reports besides.
type coverBox struct {
	sandbox.Box
	cover *pyCover
}

func (b coverBox) Batch(ctx context.Context, batch sandbox.Batch, emit func(int, sandbox.Outcome) error) error {
	batch.Commands = slices.Clone(batch.Commands)
	for i, cmd := range batch.Commands {
		argv := slices.Clone(cmd.Argv)
		for j, a := range argv {
			if a == path.Join(pyDriverDir, "main.py") {
				argv[j] = path.Join(pyDriverDir, "cover.py")
			}
		}
		batch.Commands[i].Argv = argv
	}
	return b.Box.Batch(ctx, batch, func(i int, o sandbox.Outcome) error {
		b.cover.take(batch.Commands[i], o)
		return emit(i, o)
	})
}

// take reads what a run of the driver says of lines.
func (c *pyCover) take(cmd sandbox.Command, o sandbox.Outcome) {
	for _, f := range cmd.Files {
		var request pyRequest
		if json.Unmarshal(f.Data, &request) != nil {
			continue
		}
		key, err := hex.DecodeString(request.Key)
		if err != nil {
			continue
		}
		frames, _ := parsePyFrames(o.Stdout, key)
		for _, frame := range frames {
			c.frame(frame)
		}
	}
}

// frame takes in the lines of a problem, or of one more case of it.
func (c *pyCover) frame(f pyFrame) {
	var lines pyLines
	if f.Kind != "cover" || json.Unmarshal([]byte(f.Message), &lines) != nil {
		return
	}
	known, again := c.lines[f.ID]
	if !again {
		c.lines[f.ID] = lines
		return
	}
	for file, ranges := range lines.Run {
		if known.Run == nil {
			known.Run = map[string][][2]int{}
		}
		known.Run[file] = append(known.Run[file], ranges...)
	}
	c.lines[f.ID] = known
}

// coverage maps lines to statements.
func (c *pyCover) coverage(t model.Tree, problems []model.Problem) model.Coverage {
	sources, called := newPySources(t, c.suite.Harness), c.called()
	hits := map[string][]model.Block{}
	for _, p := range problems {
		if blocks := c.lines[c.suite.node(p)].blocks(sources, called); len(blocks) > 0 {
			hits[p.ID] = blocks
		}
	}
	return indexBlocks(hits)
}

// called are the files of which some problem runs more than the import.
func (c *pyCover) called() map[string]bool {
	out := map[string]bool{}
	for _, l := range c.lines {
		for file := range l.Run {
			out[file] = true
		}
	}
	return out
}

// blocks lists the statements that a problem ran, some more than once.
func (l pyLines) blocks(sources *pySources, called map[string]bool) []model.Block {
	var out []model.Block
	for file, ranges := range l.Run {
		out = append(out, sources.of(file).at(ranges, false)...)
	}
	for file, ranges := range l.Import {
		if len(l.Run[file]) > 0 || !called[file] {
			out = append(out, sources.of(file).at(ranges, true)...)
		}
	}
	return out
}
