package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

var changeTable = table[model.Change]{name: "changes", keys: 1, columns: func(c *model.Change) []column {
	return []column{
		{"id", name(&c.ID)}, {"kind", text(&c.Kind)}, {"campaign", name(&c.Campaign)}, {"generation", whole(&c.Generation)},
		{"patch_key", name(&c.Attempt)}, {"hypothesis", text(&c.Hypothesis)}, {"state", text(&c.State)},
		{"parent_commit", name(&c.Parent)}, {"commit_hash", name(&c.Commit)}, {"revert_commit", name(&c.Revert)},
		{"patch", text(&c.Patch)}, {"deadline", optMoment(&c.Deadline)},
		{"created", moment(&c.Created)}, {"updated", moment(&c.Updated)},
	}
}}

var eventTable = table[model.ChangeEvent]{name: "change_events", keys: 2, columns: func(e *model.ChangeEvent) []column {
	return []column{
		{"change_id", name(&e.Change)}, {"seq", whole(&e.Seq)}, {"state", text(&e.State)},
		{"decided_by", text(&e.By)}, {"why", text(&e.Why)}, {"at_time", moment(&e.At)},
	}
}}

// CreateChange stores a proposed change and the first event of its audit trail.
// The same id again changes nothing: it succeeds for the same proposal, whatever
// became of it since, and is ErrConflict for another.
func (s *Store) CreateChange(ctx context.Context, f Fence, c model.Change, by, why string) error {
	const op = "create change"
	if c.State == "" {
		c.State = model.ChangeProposed
	}
	if c.ID == "" || c.State != model.ChangeProposed {
		return &Error{Op: op, Object: c.ID, Err: ErrInvalid, Hint: "a change has an id and begins as proposed"}
	}
	return s.write(ctx, op, c.ID, f, func(tx *sql.Tx) error {
		added, err := changeTable.insert(ctx, tx, "ON CONFLICT (id) DO NOTHING", c)
		if err != nil {
			return err
		}
		if added == 1 {
			return addEvent(ctx, tx, model.ChangeEvent{Change: c.ID, State: c.State, By: by, Why: why, At: c.Created})
		}
		old, err := changeTable.one(ctx, tx, "WHERE id = $1", c.ID)
		if err != nil {
			return err
		}
		if proposalOf(old) != proposalOf(c) {
			return &Error{Op: op, Object: c.ID, Err: ErrConflict, Hint: "the id belongs to another change"}
		}
		return errUnchanged
	})
}

// proposalOf is what of a change is fixed when it is created.
func proposalOf(c model.Change) model.Change {
	return model.Change{ID: c.ID, Kind: c.Kind, Campaign: c.Campaign, Generation: c.Generation, Attempt: c.Attempt, Parent: c.Parent}
}

func addEvent(ctx context.Context, tx *sql.Tx, e model.ChangeEvent) error {
	err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM change_events WHERE change_id = $1`, e.Change).Scan(&e.Seq)
	if err == nil {
		_, err = eventTable.insert(ctx, tx, "", e)
	}
	return err
}

// MoveChange moves a change from one of the states in from (any, when empty) to
// another, lets edit (nil: nothing) change the rest of it, and adds an event to
// its audit trail. A change that is in to already is returned as it is, without
// a second event. A move that is not in the life cycle, or from another state,
// is ErrConflict. edit cannot change the id or the state.
func (s *Store) MoveChange(ctx context.Context, f Fence, id string, from []model.ChangeState, to model.ChangeState,
	by, why string, at time.Time, edit func(*model.Change)) (model.Change, error) {
	var c model.Change
	err := s.write(ctx, "move change", id, f, func(tx *sql.Tx) (err error) {
		if c, err = changeTable.one(ctx, tx, "WHERE id = $1"+s.dialect.lockRow, id); err != nil {
			return err
		}
		if c.State == to {
			return errUnchanged
		}
		if err := checkMove(ctx, tx, c, from, to); err != nil {
			return err
		}
		if edit != nil {
			edit(&c)
		}
		c.ID, c.State, c.Updated = id, to, fromMicros(micros(at))
		if _, err := changeTable.update(ctx, tx, c); err != nil {
			return err
		}
		return addEvent(ctx, tx, model.ChangeEvent{Change: id, State: to, By: by, Why: why, At: at})
	})
	if err != nil {
		return model.Change{}, err
	}
	return c, nil
}

// EditChange lets edit change what of a change is no part of its life cycle, and
// returns what was stored. edit cannot change the id or the state.
func (s *Store) EditChange(ctx context.Context, f Fence, id string, edit func(*model.Change)) (model.Change, error) {
	var c model.Change
	err := s.write(ctx, "edit change", id, f, func(tx *sql.Tx) (err error) {
		if c, err = changeTable.one(ctx, tx, "WHERE id = $1"+s.dialect.lockRow, id); err != nil {
			return err
		}
		state := c.State
		edit(&c)
		c.ID, c.State = id, state
		_, err = changeTable.update(ctx, tx, c)
		return err
	})
	if err != nil {
		return model.Change{}, err
	}
	return c, nil
}

func checkMove(ctx context.Context, tx *sql.Tx, c model.Change, from []model.ChangeState, to model.ChangeState) error {
	if len(from) > 0 && !slices.Contains(from, c.State) {
		return conflict(c, to, fmt.Sprintf("it is %s, expected %v", c.State, from))
	}
	before, err := stateBefore(ctx, tx, c)
	if err != nil {
		return err
	}
	if !slices.Contains(nextStates(c.State, before), to) {
		return conflict(c, to, fmt.Sprintf("a change that is %s cannot become %s", c.State, to))
	}
	return nil
}

func conflict(c model.Change, to model.ChangeState, hint string) error {
	return &Error{Op: "move change", Object: c.ID + " to " + string(to), Err: ErrConflict, Hint: hint}
}

// nextStates is the life cycle of model.ChangeState. What may follow the wait
// for a person depends on what the wait came before: applying or keeping.
func nextStates(state, before model.ChangeState) []model.ChangeState {
	switch state {
	case model.ChangeProposed:
		return []model.ChangeState{model.ChangeApproved, model.ChangeAwaiting, model.ChangeRejected}
	case model.ChangeApproved:
		return []model.ChangeState{model.ChangeApplied, model.ChangeRejected}
	case model.ChangeApplied:
		return []model.ChangeState{model.ChangeProbation, model.ChangeRolledBack}
	case model.ChangeProbation:
		return []model.ChangeState{model.ChangeAwaiting, model.ChangeKept, model.ChangeRolledBack}
	case model.ChangeAwaiting:
		if before == model.ChangeProbation {
			return []model.ChangeState{model.ChangeKept, model.ChangeRolledBack}
		}
		return []model.ChangeState{model.ChangeApproved, model.ChangeRejected}
	}
	return nil
}

// stateBefore is the state that came before the present one.
func stateBefore(ctx context.Context, tx *sql.Tx, c model.Change) (model.ChangeState, error) {
	if c.State == model.ChangeProposed {
		return "", nil
	}
	events, err := eventTable.all(ctx, tx, "WHERE change_id = $1 ORDER BY seq DESC LIMIT 2", c.ID)
	if err != nil {
		return "", err
	}
	if len(events) < 2 || events[0].State != c.State {
		return "", fmt.Errorf("%w: the audit trail of change %s does not lead to %s", ErrCorrupt, c.ID, c.State)
	}
	return events[1].State, nil
}

// Change reads one change, or ErrNotFound.
func (s *Store) Change(ctx context.Context, id string) (model.Change, error) {
	c, err := changeTable.one(ctx, s.readers, "WHERE id = $1", id)
	return c, wrap("read change", id, err)
}

// ChangeFilter selects changes; a zero field selects all.
type ChangeFilter struct {
	Campaign string
	States   []model.ChangeState
}

// Changes reads the changes that f selects, oldest first.
func (s *Store) Changes(ctx context.Context, f ChangeFilter) ([]model.Change, error) {
	var where conditions
	if f.Campaign != "" {
		where.add("campaign = ?", f.Campaign)
	}
	if len(f.States) > 0 {
		states := make([]any, len(f.States))
		for i, state := range f.States {
			states[i] = string(state)
		}
		where.add("state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	}
	all, err := changeTable.all(ctx, s.readers, where.sql()+" ORDER BY created, generation, id", where.args...)
	return all, wrap("list", "changes", err)
}

// ChangeEvents reads the audit trail of a change, first event first; none for an unknown id.
func (s *Store) ChangeEvents(ctx context.Context, id string) ([]model.ChangeEvent, error) {
	all, err := eventTable.all(ctx, s.readers, "WHERE change_id = $1 ORDER BY seq", id)
	return all, wrap("read the audit trail of", id, err)
}
