package benchmarks

import (
	"context"
	"errors"
	"fmt"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// errUnprepared ends the commands of Prepare at the first that fails.
var errUnprepared = errors.New("a prepare command failed")

// build lays files in and runs the commands of Prepare. That one fails is no error.
func (b *commandBox) build(ctx context.Context, files []model.File) error {
	b.log, b.failed = "", false
	if err := b.box.Put(ctx, Source, b.owner(), files); err != nil {
		return err
	}
	cmds := b.suite.prepareCommands(b.prepare)
	if len(cmds) == 0 {
		return nil
	}
	err := b.box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Builder}, func(i int, o sandbox.Outcome) error {
		if o.OK() {
			return nil
		}
		b.failed, b.log = true, unprepared(cmds[i], o)
		return errUnprepared
	})
	if errors.Is(err, errUnprepared) {
		return nil
	}
	return err
}

// unprepared says which command failed and how, first of all what it printed.
func unprepared(c sandbox.Command, o sandbox.Outcome) string {
	why := fmt.Sprintf("%q ended with exit status %d", c.Argv, o.ExitCode)
	switch {
	case o.TimedOut:
		why = fmt.Sprintf("%q took longer than %s", c.Argv, c.Timeout)
	case o.OutOfMemory:
		why = fmt.Sprintf("%q ran out of memory", c.Argv)
	case o.Signal != "":
		why = fmt.Sprintf("%q was ended by the signal %s", c.Argv, o.Signal)
	}
	return tailOf(o.Stdout, []byte("\n"), o.Stderr, []byte("\n"+why))
}

// failure says whether the tree could not be prepared, and what its commands printed.
func (b *commandBox) failure() (log string, failed bool) { return b.log, b.failed }

// refresh removes what earlier commands left and lays the tree in again.
func (b *commandBox) refresh(ctx context.Context) error {
	if !b.used {
		return nil
	}
	if err := b.box.Reset(ctx); err != nil {
		return err
	}
	b.used = false
	if b.owner() == sandbox.Shared {
		return nil // nothing that is laid in can have been changed
	}
	return b.box.Put(ctx, Source, sandbox.Runner, b.files())
}

// change puts another version of the code in place of the one before; the two
// differ in the content of files only. What happens in a box that others have
// used is good enough for a screen, and no evidence.
//
// With Prepare the box is a new one. What was built of the code before would lie
// beside this one, and tools that go by times, compileall by whole seconds, would
// take it for theirs.
func (b *commandBox) change(ctx context.Context, code model.Tree) error {
	b.tree = b.suite.tree(code, b.target.Trusted)
	if b.box == nil || b.owner() == sandbox.Shared {
		return b.reopen(ctx)
	}
	err := b.replace(ctx)
	if errors.Is(err, sandbox.ErrDead) && ctx.Err() == nil {
		return b.reopen(ctx) // broken by the code before
	}
	return err
}

// replace removes what is in the box and lays the tree in.
func (b *commandBox) replace(ctx context.Context) error {
	defer b.clock()()
	if err := b.box.Reset(ctx); err != nil {
		return err
	}
	b.used = false
	return b.build(ctx, b.files())
}

// batch runs commands as the code under test, in order, one at a time.
func (b *commandBox) batch(ctx context.Context, cmds []sandbox.Command, emit func(int, sandbox.Outcome) error) error {
	b.used = true
	return b.box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Runner}, emit)
}

// recover opens another box when the code under test broke this one, at most
// limit times. Other errors are the sandbox's own, and nothing was measured.
func (b *commandBox) recover(ctx context.Context, err error, limit int) error {
	if ctx.Err() != nil || !errors.Is(err, sandbox.ErrDead) {
		return err
	}
	if b.reopened++; b.reopened > limit {
		return err
	}
	return b.reopen(ctx)
}

// usable reports an error when the box was closed.
func (b *commandBox) usable() error {
	if b.box == nil {
		return &sandbox.Error{Op: "run", Object: b.suite.cfg.Name, Err: sandbox.ErrDead, Hint: "the bench was closed"}
	}
	return nil
}

// unbuilt is the run of problems whose code could not be prepared.
func (b *commandBox) unbuilt(problems []model.Problem) model.Run {
	run := model.Run{BuildLog: b.log, Sandbox: b.paid()}
	for _, p := range distinct(problems) {
		run.Results = append(run.Results, model.Result{Problem: p.ID, Outcome: model.BuildFailed, Message: b.log})
	}
	return run
}

// distinct drops problems that are asked for twice.
func distinct(problems []model.Problem) []model.Problem {
	seen := map[string]bool{}
	var out []model.Problem
	for _, p := range problems {
		if !seen[p.ID] {
			seen[p.ID] = true
			out = append(out, p)
		}
	}
	return out
}

// abnormal is the outcome of a command that did not end by itself; ok is false
// when it did.
func abnormal(o sandbox.Outcome) (out model.Outcome, ok bool) {
	switch {
	case o.OutOfMemory:
		return model.OutOfMemory, true
	case o.TimedOut:
		return model.Timeout, true
	case o.Signal != "":
		return model.Crashed, true
	}
	return "", false
}
