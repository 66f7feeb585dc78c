package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/failures"
	"ratchet/internal/store"
)

func (a *app) failureCommand() *cobra.Command {
	return group("failure", "Report failures of agents in production", a.failurePublish())
}

// failureFlags describe one failure.
type failureFlags struct {
	agent, repo, task, expected, actual, severity, context, id string
}

func (a *app) failurePublish() *cobra.Command {
	var f failureFlags
	c := &cobra.Command{
		Use:   "publish",
		Short: "Publish a failure to NATS as a CloudEvent and wait until it is stored",
		Example: `  ratchet failure publish --agent shop/assistant --repo ./agent --severity high \
    --task "parse the tool call" --expected "two arguments" --actual "one argument"`,
		Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error { return a.publishFailure(c.Context(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.agent, "agent", "", "agent, as levels separated by slashes (required)")
	fl.StringVar(&f.repo, "repo", "", "repository that the agent runs from: a path or a URL")
	fl.StringVar(&f.task, "task", "", "what it was to do (required)")
	fl.StringVar(&f.expected, "expected", "", "the outcome that was expected")
	fl.StringVar(&f.actual, "actual", "", "the outcome that was seen (required)")
	fl.StringVar(&f.severity, "severity", "medium", "low, medium, high or critical")
	fl.StringVar(&f.context, "context", "", "anything else, as JSON")
	fl.StringVar(&f.id, "id", "", "id of the event: publishing it again counts once (default: a new one)")
	return a.withJSON(c)
}

func (a *app) publishFailure(ctx context.Context, f failureFlags) error {
	event, err := a.event(f)
	if err != nil {
		return err
	}
	return a.drive(ctx, func(s *session) error {
		p, err := failures.Connect(ctx, failures.Config{URL: s.info.NATSURL, Name: "ratchet failure publish", Logger: a.logger()})
		if err != nil {
			return err
		}
		defer p.Close()
		if event, err = p.Publish(ctx, event); err != nil {
			return err
		}
		return a.stored(ctx, s.store, event)
	})
}

// event makes and checks the event.
func (a *app) event(f failureFlags) (failures.Event, error) {
	repo := f.repo
	if repo != "" && isPath(repo) {
		repo = a.absolute(repo)
	}
	e := failures.Event{
		ID: f.id, Agent: f.agent, Repo: repo, Task: f.task, Expected: f.expected, Actual: f.actual,
		Severity: failures.Severity(f.severity),
	}
	if f.context != "" {
		if !json.Valid([]byte(f.context)) {
			return e, usage("--context is not valid JSON: %s", f.context)
		}
		e.Context = json.RawMessage(f.context)
	}
	e = e.WithDefaults()
	return e, e.Validate()
}

// isPath says that a repository is given as a path, not as a URL.
func isPath(repo string) bool {
	return !strings.Contains(repo, "://") && !strings.Contains(repo, "@")
}

// storeWait bounds how long publish waits for the ingest.
const storeWait = 15 * time.Second

// stored waits until the event is a row, so that a stack that was started for
// this call may stop.
func (a *app) stored(ctx context.Context, s *store.Store, e failures.Event) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		row, err := s.Failure(ctx, e.Source, e.ID)
		switch {
		case err == nil && a.json:
			return a.print(row)
		case err == nil:
			a.say("failure %s is stored as number %d", row.ID, row.Seq)
			return nil
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("failure %s is published, but not stored after %s: %w (it will be, once the ingest runs)", e.ID, storeWait, ctx.Err())
		case <-t.C:
		}
	}
}
