package repo

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// LogEntry is one commit of a history.
type LogEntry struct {
	Hash     string
	Tree     string
	Parents  []string
	Subject  string
	Body     string            // without the trailers
	Trailers map[string]string // the last value of each key
	When     time.Time         // of the committer
}

// Log returns at most n commits (all when n <= 0), newest first, from a commit
// along first parents.
func (r *Repo) Log(ctx context.Context, from string, n int) ([]LogEntry, error) {
	var out []LogEntry
	err := r.history(ctx, from, func(c *object.Commit) bool {
		out = append(out, logEntry(c))
		return n <= 0 || len(out) < n
	})
	return out, err
}

// FindTrailer looks for the newest commit with the trailer key: value, from tip
// along first parents, before stop ("" goes on to the root).
func (r *Repo) FindTrailer(ctx context.Context, tip, stop, key, value string) (hash string, found bool, err error) {
	err = r.history(ctx, tip, func(c *object.Commit) bool {
		if c.Hash.String() == stop {
			return false
		}
		for _, t := range parseMessage(c.Message).trailers {
			if t.Key == key && t.Value == value {
				hash, found = c.Hash.String(), true
			}
		}
		return !found
	})
	return hash, found, err
}

// Descends says whether a commit is ancestor, or follows it along first parents.
func (r *Repo) Descends(ctx context.Context, commit, ancestor string) (found bool, err error) {
	err = r.history(ctx, commit, func(c *object.Commit) bool {
		found = c.Hash.String() == ancestor
		return !found
	})
	return found, err
}

// history visits commits along first parents until visit returns false.
func (r *Repo) history(ctx context.Context, from string, visit func(*object.Commit) bool) error {
	next := from
	err := r.read(ctx, func(s *filesystem.Storage) error {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			c, err := commitObject(s, next) // next, not from: a renewed reader goes on where it stopped
			if err != nil {
				return err
			}
			if !visit(c) || len(c.ParentHashes) == 0 {
				return nil
			}
			next = c.ParentHashes[0].String()
		}
	})
	return fail("read the history of", from, err)
}

func logEntry(c *object.Commit) LogEntry {
	m := parseMessage(c.Message)
	e := LogEntry{
		Hash: c.Hash.String(), Tree: c.TreeHash.String(), Subject: m.subject, Body: m.body,
		Trailers: make(map[string]string, len(m.trailers)), When: c.Committer.When,
	}
	for _, p := range c.ParentHashes {
		e.Parents = append(e.Parents, p.String())
	}
	for _, t := range m.trailers {
		e.Trailers[t.Key] = t.Value
	}
	return e
}
