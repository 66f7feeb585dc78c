package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/activities"
	"ratchet/internal/campaign"
)

func (a *app) validateCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:     "validate FILE",
		Short:   "Check a campaign file, its repository and its suites, without running anything",
		Example: "  ratchet validate campaign.yaml",
		Args:    exactly("FILE"),
		RunE:    func(c *cobra.Command, args []string) error { return a.validate(c.Context(), args[0]) },
	})
}

func (a *app) validate(ctx context.Context, file string) error {
	spec, err := a.spec(file)
	var found activities.Checkout
	if err == nil {
		found, err = a.preflight(ctx, spec)
	}
	v := validation{Valid: err == nil, Campaign: spec.Name, Commit: found.Commit, Problems: len(found.Problems), Unlisted: append([]string{}, found.Unlisted...), Errors: fileErrors(err)}
	switch {
	case a.json && (err == nil || isInvalid(err)):
		return errors.Join(a.print(v), err)
	case err != nil:
		return err
	}
	a.say("%s is valid: campaign %s on %s, %s at %.10s (%s)",
		file, spec.Name, spec.Repo, plural(v.Problems, "problem"), v.Commit, spec.Base)
	if len(v.Unlisted) > 0 {
		a.say("the problems of %s are found in a sandbox, when the campaign starts", strings.Join(v.Unlisted, ", "))
	}
	return nil
}

// validation is what validate found.
type validation struct {
	Valid    bool             `json:"valid"`
	Campaign string           `json:"campaign"`
	Commit   string           `json:"commit"`   // that base names
	Problems int              `json:"problems"` // found there by reading it
	Unlisted []string         `json:"unlisted"` // suites whose problems only a sandbox can list
	Errors   []campaign.Error `json:"errors"`
}

// fileErrors lists what is wrong. What is not wrong with the file itself, but with
// what it names, has no place.
func fileErrors(err error) []campaign.Error {
	var file *campaign.Errors
	switch {
	case err == nil:
		return []campaign.Error{}
	case errors.As(err, &file):
		return file.List
	}
	return []campaign.Error{{Problem: err.Error()}}
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of campaign files",
		Example: "  ratchet schema > campaign.schema.json",
		Args:    noCommand,
		RunE: func(*cobra.Command, []string) error {
			data, err := campaign.Schema()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(data, '\n'))
			return err
		},
	}
}
