package store

import (
	"context"
	"database/sql"
	"errors"

	"ratchet/internal/model"
)

var campaignEventTable = table[model.CampaignEvent]{name: "campaign_events", keys: 2, columns: func(e *model.CampaignEvent) []column {
	return []column{
		{"campaign", name(&e.Campaign)}, {"seq", whole(&e.Seq)}, {"event_key", name(&e.Key)}, {"kind", text(&e.Kind)},
		{"person", text(&e.By)}, {"why", text(&e.Why)}, {"body", text(&e.Text)}, {"at_time", moment(&e.At)},
	}
}}

// AddCampaignEvent adds an entry to a campaign's audit trail and returns it with
// its number. An event whose key is there already is not added again: the stored
// one is returned.
func (s *Store) AddCampaignEvent(ctx context.Context, e model.CampaignEvent) (model.CampaignEvent, error) {
	stored, _, err := s.SteerCampaign(ctx, e, nil)
	return stored, err
}

// SteerCampaign is AddCampaignEvent that also lets edit (nil: nothing) change the
// campaign and word the event, in the same transaction and only for an event that
// is new. It returns both as they are stored. edit must be quick and must not use the store.
func (s *Store) SteerCampaign(ctx context.Context, e model.CampaignEvent, edit func(*model.Campaign, *model.CampaignEvent) error) (model.CampaignEvent, model.Campaign, error) {
	const op = "steer campaign"
	if e.Key == "" || e.Kind == "" {
		return e, model.Campaign{}, &Error{Op: op, Object: e.Campaign, Err: ErrInvalid, Hint: "an event has a key and a kind"}
	}
	var row model.Campaign
	err := s.write(ctx, op, e.Campaign, Fence{}, func(tx *sql.Tx) (err error) {
		if row, err = campaignTable.one(ctx, tx, "WHERE name = $1"+s.dialect.lockRow, e.Campaign); err != nil {
			return err
		}
		old, err := campaignEventTable.one(ctx, tx, "WHERE campaign = $1 AND event_key = $2", e.Campaign, e.Key)
		if err == nil {
			e = old
			return errUnchanged
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := editRow(ctx, tx, &row, &e, edit); err != nil {
			return err
		}
		return appendEvent(ctx, tx, &e)
	})
	if err != nil {
		return model.CampaignEvent{}, model.Campaign{}, err
	}
	return e, row, nil
}

func editRow(ctx context.Context, tx *sql.Tx, row *model.Campaign, e *model.CampaignEvent, edit func(*model.Campaign, *model.CampaignEvent) error) error {
	if edit == nil {
		return nil
	}
	was := row.Name
	if err := edit(row, e); err != nil {
		return err
	}
	row.Name = was
	_, err := campaignTable.update(ctx, tx, *row)
	return err
}

// appendEvent numbers the event; the campaign's row is locked, so no two get one number.
func appendEvent(ctx context.Context, tx *sql.Tx, e *model.CampaignEvent) error {
	err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM campaign_events WHERE campaign = $1`, e.Campaign).Scan(&e.Seq)
	if err == nil {
		_, err = campaignEventTable.insert(ctx, tx, "", *e)
	}
	return err
}

// CampaignEvents reads a campaign's audit trail, first event first.
func (s *Store) CampaignEvents(ctx context.Context, campaign string) ([]model.CampaignEvent, error) {
	all, err := campaignEventTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY seq", campaign)
	return all, wrap("read the audit trail of", campaign, err)
}

var reflectionTable = table[model.Reflection]{name: "reflections", keys: 2, columns: func(r *model.Reflection) []column {
	return []column{
		{"campaign", name(&r.Campaign)}, {"generation", whole(&r.Generation)}, {"proposer", text(&r.Proposer)},
		{"task", text(&r.Task)}, {"outcome", text(&r.Outcome)}, {"worked", text(&r.Worked)}, {"failed", text(&r.Failed)},
		{"surprised", text(&r.Surprised)}, {"learn", text(&r.Learn)}, {"at_time", moment(&r.At)},
	}
}}

// SaveReflection stores what was learnt from a generation and returns what is
// stored. The first of a generation stays: a second is ignored, for a model that
// is asked again may find other words.
func (s *Store) SaveReflection(ctx context.Context, f Fence, r model.Reflection) (model.Reflection, error) {
	object := generationName(r.Campaign, r.Generation)
	err := s.write(ctx, "save reflection on", object, f, func(tx *sql.Tx) error {
		_, err := reflectionTable.insert(ctx, tx, "ON CONFLICT (campaign, generation) DO NOTHING", r)
		if err == nil {
			r, err = reflectionTable.one(ctx, tx, ofGeneration, r.Campaign, r.Generation)
		}
		return err
	})
	if err != nil {
		return model.Reflection{}, err
	}
	return r, nil
}

const ofGeneration = "WHERE campaign = $1 AND generation = $2"

// Reflection reads what was learnt from one generation, or ErrNotFound.
func (s *Store) Reflection(ctx context.Context, campaign string, generation int) (model.Reflection, error) {
	r, err := reflectionTable.one(ctx, s.readers, ofGeneration, campaign, generation)
	return r, wrap("read reflection on", generationName(campaign, generation), err)
}

// Reflections reads at most limit of a campaign's reflections, the latest first.
func (s *Store) Reflections(ctx context.Context, campaign string, limit int) ([]model.Reflection, error) {
	all, err := reflectionTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY generation DESC LIMIT $2", campaign, limit)
	return all, wrap("read reflections of", campaign, err)
}
