package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// surroundings is what a command knows of the process around it, so that tests
// can run commands in their own.
type surroundings struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string
	cwd            string
	terminal       bool // standard output is one
}

// app is one invocation.
type app struct {
	surroundings
	args    []string
	data    string // absolute
	chosen  bool   // data was given by --data
	verbose bool
	json    bool
	bare    bool   // there is no data to read
	again   string // command line that goes on with what this call began, when it is another one
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, s surroundings, args []string) int {
	s.stdout, s.stderr = escaper{s.stdout}, escaper{s.stderr}
	a := &app{surroundings: s, args: args}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	if message := describe(ctx, err); message != "" {
		fmt.Fprintf(s.stderr, "ratchet: %s\n", message)
	}
	return code
}

func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:   "ratchet",
		Short: "Improve a git repository by itself, and only forward",
		Long: `ratchet benchmarks a repository, works out what is weakest, tries patches in a
Docker sandbox, and keeps a commit only on fresh evidence that it measures better.`,
		Example: `  ratchet demo                     see it work, nothing to prepare
  ratchet run campaign.yaml --dev  improve a repository of yours
  ratchet campaign report NAME     what was kept, and why`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.chosen = a.data != ""
			a.data = a.dataDir()
			if i := strings.IndexAny(a.data, "#?%"); i >= 0 { // they mean something else in a database's address
				return usage("--data: the path %s contains %q, which a data folder's path cannot (choose another)", a.data, a.data[i])
			}
			return nil
		},
	}
	c.PersistentFlags().StringVar(&a.data, "data", "", "data folder (default: ratchet in the XDG state folder)")
	c.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say more on standard error")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s (see %s --help)", flagProblem(err), c.CommandPath())
	})
	c.AddCommand(
		a.demoCommand(), a.devCommand(), a.runCommand(), a.iterateCommand(), a.validateCommand(), a.schemaCommand(), a.doctorCommand(),
		a.aaCommand(), a.campaignCommand(), a.changeCommand(), a.receiptCommand(), a.benchmarkCommand(),
		a.failureCommand(), a.workerCommand(), a.versionCommand(),
	)
	return c
}

// flagProblem says what is wrong with a flag: of a number that cannot be read, what
// was expected and not what the parser of numbers makes of it.
func flagProblem(err error) string {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) || !errors.Is(err, strconv.ErrSyntax) && !errors.Is(err, strconv.ErrRange) {
		return err.Error()
	}
	want := "a number"
	switch f := bad.GetFlag(); f.Value.Type() {
	case "int", "int64", "uint64":
		want = "a whole number"
		if errors.Is(err, strconv.ErrRange) {
			want += ", and a smaller one"
		}
	case "bool":
		want = "true or false, or nothing"
	}
	return fmt.Sprintf("invalid argument %q for \"--%s\" flag: give it %s", bad.GetValue(), bad.GetFlag().Name, want)
}

// noCommand refuses words after ratchet that are no command.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return usage("%s takes no argument, got %q (see %s --help)", c.CommandPath(), args[0], c.CommandPath())
	}
	hint := "see " + c.CommandPath() + " --help"
	c.SuggestionsMinimumDistance = 2
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		hint = "did you mean " + s[0] + "?"
	}
	return usage("unknown command %q for %q (%s)", args[0], c.CommandPath(), hint)
}

// group makes a command that only holds others.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Example: example, Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

// exactly wants n arguments and says which.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s: %s is missing (see %s --help)", c.CommandPath(), names[len(args)], c.CommandPath())
		case len(args) > len(names):
			return usage("%s takes %s and nothing more, got %q too (see %s --help)",
				c.CommandPath(), strings.Join(names, " "), args[len(names)], c.CommandPath())
		}
		return nil
	}
}

// atMost allows the arguments to be left out, from the last.
func atMost(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= len(names) {
			return nil
		}
		return exactly(names...)(c, args)
	}
}

// withJSON adds the flag by which a command prints one JSON document.
func (a *app) withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON document on standard output and nothing else")
	return c
}

// dataDir is the data folder, absolute.
func (a *app) dataDir() string {
	switch state, home := a.getenv("XDG_STATE_HOME"), a.getenv("HOME"); {
	case a.data != "":
		return a.absolute(a.data)
	case filepath.IsAbs(state):
		return filepath.Join(state, "ratchet")
	default:
		return filepath.Join(home, ".local", "state", "ratchet")
	}
}

func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.cwd, path)
}

func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// say prints a line for people; with --json it goes to standard error.
func (a *app) say(format string, args ...any) {
	w := a.stdout
	if a.json {
		w = a.stderr
	}
	fmt.Fprintf(w, format+"\n", args...)
}
