package store

import (
	"context"
	"database/sql"
	"errors"
)

// discarded are the rows of a campaign without a baseline, the dependent first.
var discarded = []string{
	`DELETE FROM run_results WHERE run IN (SELECT id FROM runs WHERE campaign = $1)`,
	`DELETE FROM runs WHERE campaign = $1`,
	`DELETE FROM problems WHERE campaign = $1`,
	`DELETE FROM reports WHERE campaign = $1`,
	`DELETE FROM reflections WHERE campaign = $1`,
	`DELETE FROM campaign_events WHERE campaign = $1`,
	`DELETE FROM calls WHERE campaign = $1`,
	`DELETE FROM campaigns WHERE name = $1`,
}

// DiscardCampaign deletes a campaign that has ended before its baseline was
// measured, so that its name is free again. One that still runs, or that has a
// baseline, is ErrConflict and nothing is deleted; one that is not there is success.
func (s *Store) DiscardCampaign(ctx context.Context, name string) error {
	const op = "discard campaign"
	return s.write(ctx, op, name, Fence{}, func(tx *sql.Tx) error {
		c, err := campaignTable.one(ctx, tx, "WHERE name = $1"+s.dialect.lockRow, name)
		if errors.Is(err, sql.ErrNoRows) {
			return errUnchanged
		}
		if err != nil {
			return err
		}
		if c.Stopped == "" || c.Baseline != nil {
			return &Error{Op: op, Object: name, Err: ErrConflict, Hint: "only one that has ended without a baseline holds nothing"}
		}
		for _, q := range discarded {
			if _, err := tx.ExecContext(ctx, q, name); err != nil {
				return err
			}
		}
		return nil
	})
}
