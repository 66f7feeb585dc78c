package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "version", Short: "Print the version", Args: noCommand, Example: "  ratchet version",
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if a.json {
				return a.print(v)
			}
			a.say("ratchet %s", strings.Join(slices.DeleteFunc([]string{v["version"], v["commit"], v["go"]}, isEmpty), " "))
			return nil
		},
	})
}

func isEmpty(s string) bool { return s == "" }

// version reads what the build has recorded.
func version() map[string]string {
	v := map[string]string{"version": "(devel)", "commit": "", "go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v["version"] = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v["commit"] = s.Value
		}
	}
	return v
}
