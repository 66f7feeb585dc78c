package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"ratchet/internal/model"
)

var campaignTable = table[model.Campaign]{name: "campaigns", keys: 1, columns: func(c *model.Campaign) []column {
	return []column{
		{"name", name(&c.Name)}, {"spec", raw(&c.Spec)}, {"source", text(&c.Source)}, {"repo", text(&c.Repo)},
		{"branch", text(&c.Branch)}, {"base_commit", name(&c.Base)}, {"best_commit", name(&c.Best)},
		{"image", text(&c.Image)}, {"baseline", optDocument(&c.Baseline)}, {"score", optDocument(&c.Current)},
		{"rates", text(&c.Rates)}, {"settled", name(&c.Settled)}, {"push", flag(&c.Push)}, {"pushed", name(&c.Pushed)},
		{"brief", text(&c.Brief)}, {"budget", optDocument(&c.Budget)}, {"parent", name(&c.Parent)}, {"forked_at", name(&c.ForkedAt)},
		{"phase", text(&c.Phase)}, {"stopped", text(&c.Stopped)}, {"detail", text(&c.Detail)},
		{"cost", document(&c.Cost)}, {"created", moment(&c.Created)}, {"updated", moment(&c.Updated)},
	}
}}

// CreateCampaign stores a new campaign. Again with the same spec it changes
// nothing and succeeds; the name with another spec is ErrExists.
func (s *Store) CreateCampaign(ctx context.Context, c model.Campaign) error {
	const op = "create campaign"
	if c.Name == "" {
		return &Error{Op: op, Object: "campaign", Err: ErrInvalid, Hint: "it needs a name"}
	}
	return s.write(ctx, op, c.Name, Fence{}, func(tx *sql.Tx) error {
		added, err := campaignTable.insert(ctx, tx, "ON CONFLICT (name) DO NOTHING", c)
		if err != nil || added == 1 {
			return err
		}
		old, err := campaignTable.one(ctx, tx, "WHERE name = $1", c.Name)
		if err != nil {
			return err
		}
		if !bytes.Equal(old.Spec, c.Spec) {
			return &Error{Op: op, Object: c.Name, Err: ErrExists, Hint: "a campaign of that name has another campaign file: choose another name"}
		}
		return errUnchanged
	})
}

// Campaign reads one campaign, or ErrNotFound.
func (s *Store) Campaign(ctx context.Context, name string) (model.Campaign, error) {
	c, err := campaignTable.one(ctx, s.readers, "WHERE name = $1", name)
	return c, wrap("read campaign", name, err)
}

// Campaigns reads all campaigns, by name.
func (s *Store) Campaigns(ctx context.Context) ([]model.Campaign, error) {
	all, err := campaignTable.all(ctx, s.readers, "ORDER BY name")
	return all, wrap("list", "campaigns", err)
}

// UpdateCampaign reads the campaign, lets edit change it, and stores it, in one
// transaction; it returns what was stored. Updated is set to now unless edit
// sets it. An error of edit changes nothing and is returned wrapped. edit must
// be quick and must not use the store: other writers wait for it.
func (s *Store) UpdateCampaign(ctx context.Context, f Fence, name string, edit func(*model.Campaign) error) (model.Campaign, error) {
	var c model.Campaign
	err := s.write(ctx, "update campaign", name, f, func(tx *sql.Tx) (err error) {
		if c, err = campaignTable.one(ctx, tx, "WHERE name = $1"+s.dialect.lockRow, name); err != nil {
			return err
		}
		was := c.Updated
		if err := edit(&c); err != nil {
			return err
		}
		if c.Name != name {
			return fmt.Errorf("%w: a campaign cannot be renamed", ErrInvalid)
		}
		if c.Updated.Equal(was) {
			c.Updated = fromMicros(micros(s.cfg.Now()))
		}
		_, err = campaignTable.update(ctx, tx, c)
		return err
	})
	if err != nil {
		return model.Campaign{}, err
	}
	return c, nil
}

// problemRow is a problem of one campaign.
type problemRow struct {
	campaign string
	model.Problem
}

var problemTable = table[problemRow]{name: "problems", keys: 2, columns: func(p *problemRow) []column {
	return []column{
		{"campaign", name(&p.campaign)}, {"id", name(&p.ID)}, {"suite", text(&p.Suite)},
		{"package", text(&p.Package)}, {"name", text(&p.Name)}, {"split", text(&p.Split)},
		{"grp", text(&p.Group)}, {"weight", real(&p.Weight)}, {"metric", optDocument(&p.Metric)},
	}
}}

// SaveProblems replaces the campaign's problems by these, whose ids are unique.
func (s *Store) SaveProblems(ctx context.Context, f Fence, campaign string, problems []model.Problem) error {
	rows := make([]problemRow, len(problems))
	for i, p := range problems {
		rows[i] = problemRow{campaign, p}
	}
	return s.write(ctx, "save problems of", campaign, f, func(tx *sql.Tx) error {
		// Two replacements at once must not mix: the campaign's row stands for the set.
		if _, err := campaignTable.one(ctx, tx, "WHERE name = $1"+s.dialect.lockRow, campaign); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM problems WHERE campaign = $1`, campaign); err != nil {
			return err
		}
		_, err := problemTable.insert(ctx, tx, "", rows...)
		return err
	})
}

// Problems reads the campaign's problems, by id; none when they are not saved yet.
func (s *Store) Problems(ctx context.Context, campaign string) ([]model.Problem, error) {
	rows, err := problemTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY id", campaign)
	if err != nil {
		return nil, wrap("read problems of", campaign, err)
	}
	out := make([]model.Problem, len(rows))
	for i, r := range rows {
		out[i] = r.Problem
	}
	return out, nil
}

// SaveReport replaces the campaign's report, a JSON document.
func (s *Store) SaveReport(ctx context.Context, f Fence, campaign string, document []byte) error {
	const op = "save report of"
	if !json.Valid(document) {
		return &Error{Op: op, Object: campaign, Err: ErrInvalid, Hint: "a report is a JSON document"}
	}
	return s.write(ctx, op, campaign, f, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO reports (campaign, document) VALUES ($1, $2)
			ON CONFLICT (campaign) DO UPDATE SET document = excluded.document`, campaign, clean(string(document)))
		return err
	})
}

// Report reads the campaign's report, or ErrNotFound.
func (s *Store) Report(ctx context.Context, campaign string) ([]byte, error) {
	var document string
	err := s.readers.QueryRowContext(ctx, `SELECT document FROM reports WHERE campaign = $1`, campaign).Scan(&document)
	if err != nil {
		return nil, wrap("read report of", campaign, err)
	}
	return []byte(document), nil
}
