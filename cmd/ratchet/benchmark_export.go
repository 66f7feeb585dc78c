package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ratchet/internal/report"
	"ratchet/internal/store"
)

func (a *app) benchmarkExport() *cobra.Command {
	var format, output string
	c := &cobra.Command{
		Use: "export ID", Short: "Write a stored benchmark as JUnit XML or JSON", Args: exactly("ID"),
		Example: "  ratchet benchmark export d8d1k0g8a1 --format junit --output report.xml\n  ratchet benchmark export d8d1k0g8a1 --format json > benchmark.json",
		RunE: func(c *cobra.Command, args []string) error {
			if format != "junit" && format != "json" {
				return usage("--format is %q: give junit or json", format)
			}
			return a.read(c.Context(), func(s *store.Store) error { return a.export(c.Context(), s, args[0], format, output) })
		},
	}
	c.Flags().StringVar(&format, "format", "json", "junit or json")
	c.Flags().StringVar(&output, "output", "-", "file to write, - for standard output")
	return c
}

func (a *app) export(ctx context.Context, s *store.Store, id, format, output string) error {
	b, err := a.storedBenchmark(ctx, s, id)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	e := report.Exported(b)
	write := e.JSON
	if format == "junit" {
		write = e.JUnit
	}
	if err := write(&out); err != nil {
		return err
	}
	if output == "-" {
		_, err := a.stdout.Write(out.Bytes())
		return err
	}
	if err := os.WriteFile(a.absolute(output), out.Bytes(), 0o644); err != nil {
		return environment(fmt.Errorf("export benchmark %s: %w (choose another file with --output)", b.ID, err))
	}
	a.say("benchmark %s is written to %s", b.ID, output)
	return nil
}
