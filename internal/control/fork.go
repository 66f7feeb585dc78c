package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

// ForkOptions of a fork.
type ForkOptions struct {
	Options
	By, Why string // who wants it, for the audit trail
	// Limits are those that the new campaign shall have in place of what the other
	// one has now; what is nil is as there. By and Why of it are not read.
	Limits protocol.BudgetChange
}

// Forked is a campaign that began as a fork.
type Forked struct {
	Name    string // of the new campaign
	Commit  string // full hash of the commit that it began with
	Resumed bool   // it was there already, and goes on
	Limits  model.Budget
}

// Fork starts a new campaign from a commit of another one, with the file of that
// and a record and a branch of its own. It begins with the limits that the other
// one has now, as a person may have set them, and has spent nothing. The commit is one of the base of
// the campaign, what it landed since, and its reverts; it may be given as a branch,
// a tag or the beginning of a hash. as is the new campaign's name; when it is empty
// a free one is made: NAME-fork, NAME-fork-2 and so on. The same fork again goes on
// with the campaign that is there. Nothing of the other campaign changes but its
// audit trail. Its repository must be on this machine.
func (c *Controller) Fork(ctx context.Context, name, commit, as string, o ForkOptions) (Forked, error) {
	parent, err := c.steerable(ctx, name, o.By, protocol.CheckWhy(o.Why))
	if err != nil {
		return Forked{}, err
	}
	if as != "" {
		if err := campaign.CheckName(as); err != nil {
			return Forked{}, refused("fork campaign "+name, err)
		}
	}
	out := Forked{Name: as}
	if out.Commit, err = forkPoint(ctx, parent, commit); err != nil {
		return out, err
	}
	if out.Name, err = c.forkName(ctx, name, as); err != nil {
		return out, err
	}
	spec, err := forkSpec(parent, out)
	if err != nil {
		return out, err
	}
	want, err := forkBudget(parent, o.Limits)
	if err != nil {
		return out, err
	}
	if err := c.discard(ctx, out.Name); err != nil {
		return out, err
	}
	row, err := c.create(ctx, spec, model.Campaign{Parent: name, ForkedAt: out.Commit, Budget: &want})
	if err != nil {
		return out, err
	}
	if row.Parent != name || row.ForkedAt != out.Commit {
		return out, fmt.Errorf("fork campaign %s: the name %s: %w by a campaign that is no fork of it", name, out.Name, ErrNameInUse)
	}
	if out.Limits, err = limits(row); err != nil {
		return out, err
	}
	if !o.Limits.Empty() && out.Limits != want {
		return out, refused("fork campaign "+name, fmt.Errorf("%s is there already, with other limits; change them with ratchet campaign budget %s", out.Name, out.Name))
	}
	out.Resumed = row.Base != ""
	if err := c.noteFork(ctx, parent, out, o); err != nil {
		return out, err
	}
	return out, c.enlist(ctx, row, spec.Search.Generations, o.Options)
}

// forkPoint finds the commit in the campaign's own repository.
func forkPoint(ctx context.Context, parent model.Campaign, rev string) (hash string, err error) {
	what := "fork campaign " + parent.Name
	if parent.Base == "" {
		return "", refused(what, errors.New("it has not begun: there is no commit to fork from"))
	}
	if err := protocol.CheckRevision(rev); err != nil {
		return "", refused(what, err)
	}
	r, err := repo.Open(ctx, parent.Repo)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if hash, err = r.Resolve(ctx, rev); err != nil {
		return "", noForkPoint(what, parent.Name, rev, err)
	}
	ours, err := r.Descends(ctx, hash, parent.Base)
	if err == nil && !ours {
		err = refused(what, fmt.Errorf("commit %.12s does not follow its base %.12s: a fork begins with a commit of the campaign (see ratchet campaign report %s)", hash, parent.Base, parent.Name))
	}
	return hash, err
}

// noForkPoint says why rev names no commit of a campaign.
func noForkPoint(what, name, rev string, err error) error {
	switch {
	case errors.Is(err, repo.ErrNoRef):
		return fmt.Errorf("%s: it has no commit, branch or tag %q: %w (its commits are in: ratchet campaign report %s)", what, rev, repo.ErrNoRef, name)
	case errors.Is(err, repo.ErrInvalid): // such as short for several
		return refused(what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// mostName is how long the name of a campaign may be, in bytes.
const mostName = 63

// forkName is the name asked for, or the first that is free.
func (c *Controller) forkName(ctx context.Context, parent, as string) (string, error) {
	if as != "" {
		return as, nil
	}
	for n := 1; ; n++ {
		suffix := "-fork"
		if n > 1 {
			suffix += "-" + strconv.Itoa(n)
		}
		name := strings.TrimRight(parent[:min(len(parent), mostName-len(suffix))], "-") + suffix
		_, err := c.store.Campaign(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// forkSpec is the file of the parent under another name, from another commit.
func forkSpec(parent model.Campaign, f Forked) (campaign.Spec, error) {
	spec, err := campaign.FromJSON(parent.Spec)
	if err != nil {
		return spec, err
	}
	spec.Name, spec.Base = f.Name, f.Commit
	data, err := campaign.JSON(spec)
	if err != nil {
		return spec, err
	}
	return campaign.FromJSON(data)
}

// forkBudget is what a fork may use: what its parent may, but for what is asked for.
func forkBudget(parent model.Campaign, change protocol.BudgetChange) (model.Budget, error) {
	is, err := limits(parent)
	if err != nil || change.Empty() {
		return is, err
	}
	if err := change.Check(model.Budget{}); err != nil {
		return is, refused("fork campaign "+parent.Name, err)
	}
	return change.Apply(is), nil
}

// noteFork writes the fork into the audit trail of the campaign that it comes from.
func (c *Controller) noteFork(ctx context.Context, parent model.Campaign, f Forked, o ForkOptions) error {
	text := f.Name + " from " + f.Commit
	if was, err := limits(parent); err != nil {
		return err
	} else if f.Limits != was {
		text += ", " + protocol.BudgetText(was, f.Limits)
	}
	_, err := c.store.AddCampaignEvent(ctx, model.CampaignEvent{
		Campaign: parent.Name, Key: "forked/" + f.Name + "/" + f.Commit, Kind: model.EventForked,
		By: strings.TrimSpace(o.By), Why: o.Why, Text: text, At: time.Now().UTC(),
	})
	return err
}

// Forks names the campaigns that were forked from one, by name.
func Forks(ctx context.Context, s *store.Store, name string) ([]model.Campaign, error) {
	rows, err := s.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	var out []model.Campaign
	for _, r := range rows {
		if r.Parent == name {
			out = append(out, r)
		}
	}
	return out, nil
}
