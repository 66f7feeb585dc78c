package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ratchet/examples"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

// demoName is the name of the first demo campaign in a data folder; later ones
// are numbered.
const demoName = "demo"

func (a *app) demoCommand() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "demo",
		Short: "See a whole campaign on an example repository, nothing to prepare but Docker",
		Long: `demo makes a git repository from an example, the core of a small tool-using agent
with 19 known defects, and runs a campaign on it. No network is used. On a terminal
the Temporal UI stays up until Ctrl-C. A demo that was cut off is gone on with.`,
		Example: "  ratchet demo\n  ratchet demo --json --data /tmp/demo",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), port) },
	}
	withUIPort(c, &port)
	return a.withJSON(c)
}

func (a *app) demo(ctx context.Context, port int) error {
	s, err := a.start(ctx, stackFlags{ui: true, uiPort: uiPort(port)})
	if err != nil {
		return err
	}
	return errors.Join(a.demoOn(ctx, s), s.close())
}

func (a *app) demoOn(ctx context.Context, s *session) error {
	spec, err := a.demoSpec(ctx, s.store)
	if err != nil {
		return err
	}
	if err := a.campaign(ctx, s, spec, runOptions{}); err != nil {
		return err
	}
	if a.json || !a.terminal {
		return nil
	}
	a.say("\nTemporal UI: %s (Ctrl-C ends the demo)", s.info.UIURL)
	<-ctx.Done()
	return nil
}

// demoSpec makes the example repository, once, and names the campaign: the one
// that was cut off, or the next number.
func (a *app) demoSpec(ctx context.Context, s *store.Store) (campaign.Spec, error) {
	path := filepath.Join(a.data, "demo", "agent.git")
	tree, err := examples.Target("agent")
	if err != nil {
		return campaign.Spec{}, err
	}
	if err := makeRepository(ctx, path, tree.Files); err != nil {
		return campaign.Spec{}, fmt.Errorf("make the example repository %s: %w", path, err)
	}
	file, err := examples.Campaign("agent")
	if err != nil {
		return campaign.Spec{}, err
	}
	spec, err := campaign.Parse(file, campaign.ParseOptions{File: "agent.yaml", Dir: a.data})
	if err != nil {
		return campaign.Spec{}, err
	}
	spec.Repo = path
	spec.Name, err = demoCampaign(ctx, s)
	return spec, err
}

func demoCampaign(ctx context.Context, s *store.Store) (string, error) {
	for n := 1; ; n++ {
		name := demoName
		if n > 1 {
			name = fmt.Sprintf("%s-%d", demoName, n)
		}
		row, err := s.Campaign(ctx, name)
		if errors.Is(err, store.ErrNotFound) || err == nil && (row.Stopped == "" || row.Stopped == model.StopError) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// demoTime dates the example's first commit, the same in every data folder.
var demoTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// makeRepository makes a bare repository with one commit on main. One that is
// there is left alone; one that was cut off is completed.
func makeRepository(ctx context.Context, path string, files []model.File) error {
	if err := repo.Init(ctx, path); err != nil {
		return err
	}
	r, err := repo.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(firstCommit(ctx, r, files), r.Close())
}

// firstCommit puts files on main, unless there is a commit.
func firstCommit(ctx context.Context, r *repo.Repo, files []model.File) error {
	const main = "refs/heads/main"
	if _, err := r.Ref(ctx, main); !errors.Is(err, repo.ErrNoRef) {
		return err
	}
	edits := make([]model.Edit, len(files))
	for i, f := range files {
		edits[i] = model.Edit{Path: f.Path, Mode: f.Mode, Data: f.Data}
	}
	commit, err := r.Commit(ctx, repo.CommitSpec{
		Edits: edits, Subject: "The core of a small tool-using agent", When: demoTime,
	})
	if err != nil {
		return err
	}
	return r.SetRef(ctx, main, "", commit.Hash)
}
