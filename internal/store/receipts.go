package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ratchet/internal/model"
)

// receiptRow is a receipt and its place in its campaign, from 1.
type receiptRow struct {
	seq int64
	model.Receipt
}

var receiptTable = table[receiptRow]{name: "receipts", keys: 1, columns: func(r *receiptRow) []column {
	return []column{
		{"change_id", name(&r.Change)}, {"seq", whole(&r.seq)}, {"campaign", name(&r.Campaign)},
		{"generation", whole(&r.Generation)}, {"decision", text(&r.Decision)}, {"reason", text(&r.Reason)},
		{"decided_by", text(&r.DecidedBy)}, {"parent_commit", name(&r.Parent)}, {"commit_hash", name(&r.Commit)},
		{"revert_commit", name(&r.RevertCommit)}, {"patch", text(&r.Patch)}, {"hypothesis", text(&r.Hypothesis)},
		{"e_value", real(&r.EValue)}, {"level", real(&r.Level)}, {"confirmation", whole(&r.Confirmation)},
		{"rounds", whole(&r.Rounds)}, {"claims", list(&r.Claims)}, {"suspects", list(&r.Suspects)},
		{"parent_score", document(&r.ParentScore)}, {"score", document(&r.Score)}, {"fixed", list(&r.Fixed)},
		{"broken", list(&r.Broken)}, {"cost", document(&r.Cost)}, {"decided_at", moment(&r.At)},
	}
}}

// SaveReceipt stores the receipt of a change, which must exist. A change has
// one receipt: the same again succeeds, another is ErrConflict.
func (s *Store) SaveReceipt(ctx context.Context, f Fence, r model.Receipt) error {
	const op = "save receipt of"
	return s.write(ctx, op, r.Change, f, func(tx *sql.Tx) error {
		seq, err := next(ctx, tx, receiptSequence(r.Campaign))
		if err != nil {
			return err
		}
		old, err := receiptTable.one(ctx, tx, "WHERE change_id = $1", r.Change)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = receiptTable.insert(ctx, tx, "", receiptRow{seq, r})
			return err
		}
		if err != nil {
			return err
		}
		same, err := receiptTable.same(old, receiptRow{old.seq, r})
		if err != nil {
			return err
		}
		if !same {
			return &Error{Op: op, Object: r.Change, Err: ErrConflict, Hint: "it was decided before, as " + string(old.Decision) + ", with another record"}
		}
		return errUnchanged // and give the number back
	})
}

func receiptSequence(campaign string) string { return "receipts/" + campaign }

// Receipt reads the receipt of a change, or ErrNotFound.
func (s *Store) Receipt(ctx context.Context, change string) (model.Receipt, error) {
	r, err := receiptTable.one(ctx, s.readers, "WHERE change_id = $1", change)
	return r.Receipt, wrap("read receipt of", change, err)
}

// minPrefix is the fewest digits of a commit that a person may give.
const minPrefix = 4

var commitPrefix = regexp.MustCompile(`^[0-9a-f]+$`)

// byCommit finds commits from $1 to $2, which is $1 and a "g": that comes after
// every digit, in every collation. One SELECT for each column, because an OR
// over two columns makes poor use of two indexes.
const byCommit = `WHERE change_id IN (
	SELECT change_id FROM receipts WHERE commit_hash >= $1 AND commit_hash < $2
	UNION SELECT change_id FROM receipts WHERE revert_commit >= $1 AND revert_commit < $2) LIMIT 5`

// ReceiptByCommit reads the receipt whose landed or revert commit begins with
// prefix: at least four hexadecimal digits. None is ErrNotFound, more than one
// ErrConflict with the commits in the hint.
func (s *Store) ReceiptByCommit(ctx context.Context, prefix string) (model.Receipt, error) {
	const op = "find receipt of commit"
	p := strings.ToLower(prefix)
	if len(p) < minPrefix || !commitPrefix.MatchString(p) {
		return model.Receipt{}, &Error{Op: op, Object: prefix, Err: ErrInvalid,
			Hint: fmt.Sprintf("give at least %d hexadecimal digits of it", minPrefix)}
	}
	found, err := receiptTable.all(ctx, s.readers, byCommit, p, p+"g")
	switch {
	case err != nil:
		return model.Receipt{}, wrap(op, prefix, err)
	case len(found) == 0:
		return model.Receipt{}, &Error{Op: op, Object: prefix, Err: ErrNotFound, Hint: "no campaign landed or reverted it"}
	case len(found) > 1:
		return model.Receipt{}, &Error{Op: op, Object: prefix, Err: ErrConflict, Hint: "it is short for several: " + candidates(found)}
	}
	return found[0].Receipt, nil
}

func candidates(rows []receiptRow) string {
	commits := make([]string, len(rows))
	for i, r := range rows {
		commits[i] = r.Commit
	}
	return strings.Join(commits, ", ")
}

// Receipts reads the campaign's receipts in the order they were stored.
func (s *Store) Receipts(ctx context.Context, campaign string) ([]model.Receipt, error) {
	rows, err := receiptTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY seq", campaign)
	if err != nil {
		return nil, wrap("read receipts of", campaign, err)
	}
	out := make([]model.Receipt, len(rows))
	for i, r := range rows {
		out[i] = r.Receipt
	}
	return out, nil
}

// LastReceipt reads the campaign's newest receipt, or ErrNotFound.
func (s *Store) LastReceipt(ctx context.Context, campaign string) (model.Receipt, error) {
	r, err := receiptTable.one(ctx, s.readers, lastReceipt, campaign)
	return r.Receipt, wrap("read the last receipt of", campaign, err)
}

// CountConfirmations counts the campaign's receipts. It reads one index entry,
// however many there are.
func (s *Store) CountConfirmations(ctx context.Context, campaign string) (int, error) {
	var n int
	err := s.readers.QueryRowContext(ctx, countReceipts, campaign).Scan(&n)
	return n, wrap("count receipts of", campaign, err)
}

const (
	lastReceipt   = "WHERE campaign = $1 ORDER BY seq DESC LIMIT 1"
	countReceipts = `SELECT COALESCE(MAX(seq), 0) FROM receipts WHERE campaign = $1`
)
