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
	"ratchet/internal/model"
	"ratchet/internal/store"
)

func (a *app) failureCommand() *cobra.Command {
	return group("failure", "Report failures of agents in production",
		"  ratchet failure publish --agent shop/assistant --task \"parse the call\" --actual \"one argument\"",
		a.failurePublish())
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
		e.Context = json.RawMessage(f.context)
	}
	e = e.WithDefaults()
	return e, flagErrors(e.Validate())
}

// flagErrors lists what is wrong with an event under the names of the flags.
func flagErrors(err error) error {
	if err == nil {
		return nil
	}
	flags := strings.NewReplacer("\nagent_id: ", "\n  --agent ", "\ntask: ", "\n  --task ", "\nactual_outcome: ", "\n  --actual ",
		"\nexpected_outcome: ", "\n  --expected ", "\nrepo: ", "\n  --repo ", "\nseverity: ", "\n  --severity ",
		"\ncontext: ", "\n  --context ", "\nid: ", "\n  --id ", "\nsource: ", "\n  --agent ")
	list := flags.Replace("\n" + strings.TrimPrefix(err.Error(), failures.ErrInvalid.Error()+": "))
	return usage("publish a failure: (see ratchet failure publish --help)%s", list)
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
	wait, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	var row model.Failure
	err := poll(wait, func() (bool, error) {
		var err error
		row, err = s.Failure(wait, e.Source, e.ID)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case err != nil && ctx.Err() == nil && wait.Err() != nil:
		return fmt.Errorf("failure %s is published, but not stored after %s: %w (it will be, once the ingest runs)", e.ID, storeWait, err)
	case err != nil:
		return err
	case a.json:
		return a.print(row)
	}
	a.say("failure %s is stored as number %d", row.ID, row.Seq)
	return nil
}
