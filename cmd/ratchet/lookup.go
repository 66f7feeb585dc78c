package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/workers"
)

// campaignRow reads a campaign of the data folder.
func (a *app) campaignRow(ctx context.Context, s *store.Store, name string) (model.Campaign, error) {
	c, err := s.Campaign(ctx, name)
	return c, a.absent(err, "campaign", name, "campaign list")
}

// changeRow reads a change of the data folder.
func (a *app) changeRow(ctx context.Context, s *store.Store, id string) (model.Change, error) {
	c, err := s.Change(ctx, id)
	return c, a.absent(err, "change", id, "change list")
}

// absent says of a row that is not there where to look for those that are;
// other errors stay what they are.
func (a *app) absent(err error, what, id, list string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	where := a.data
	if a.bare {
		where += ", which holds no data"
	}
	return usage("there is no %s %q in the data folder %s (see: %s; --data names another folder)", what, id, where, a.command(list))
}

// hasStore says whether there is a store: in the data folder, or shared.
func (a *app) hasStore() (bool, error) {
	if a.getenv(envStore) != "" {
		return true, nil
	}
	_, err := os.Stat(workers.StorePath(a.data))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, environment(fmt.Errorf("look into the data folder %s: %w (choose another with --data)", a.data, err))
	}
	return true, nil
}

// running refuses to steer a campaign that is unknown or has ended, before a
// stack is started for it.
func (a *app) running(ctx context.Context, verb, name string) error {
	return a.read(ctx, func(s *store.Store) error {
		c, err := a.campaignRow(ctx, s, name)
		if err == nil && c.Stopped != "" {
			return usage("%s campaign %s: it has ended (%s): %s%s", verb, name, c.Stopped, c.Detail, a.afterEnd(c))
		}
		return err
	})
}

// afterEnd says how a campaign that has ended is gone on with, where it can be.
func (a *app) afterEnd(c model.Campaign) string {
	switch c.Stopped {
	case model.StopError:
		return "; when that is mended, go on with: " + a.command("campaign recover "+c.Name)
	case model.StopBudget:
		return "; give it more with ratchet campaign budget, then: " + a.command("campaign resume "+c.Name)
	}
	return ""
}

// command is a command line for the same data folder, to be printed in a hint.
func (a *app) command(words string) string {
	if !a.chosen {
		return "ratchet " + words
	}
	return "ratchet " + words + " --data " + shellWord(a.data)
}

// goOn says which command goes on with a campaign that was cut off: that of this
// call, unless it would begin another one.
func (a *app) goOn() string {
	if a.again != "" {
		return "this command: " + a.again
	}
	return "the same command: " + a.commandLine()
}

// commandLine is the command line of this call, to be copied into a shell.
func (a *app) commandLine() string {
	words := make([]string, len(a.args))
	for i, w := range a.args {
		words[i] = shellWord(w)
	}
	return strings.Join(append([]string{"ratchet"}, words...), " ")
}

// shellWord quotes a word where a shell would not take it as it is.
func shellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// pollEvery is how often the store is read for progress.
const pollEvery = 250 * time.Millisecond

// poll calls look at once and then again and again, until it is done or fails,
// or ctx ends.
func poll(ctx context.Context, look func() (done bool, err error)) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// listed joins names for people.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
