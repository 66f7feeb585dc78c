package main

import (
	"context"

	"github.com/spf13/cobra"

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
	if err != nil {
		return err
	}
	if err := a.preflight(ctx, spec); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]any{"valid": true, "campaign": spec.Name})
	}
	a.say("%s is valid: campaign %s on %s", file, spec.Name, spec.Repo)
	return nil
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
