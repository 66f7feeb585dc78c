// Package imports says which package of ratchet may import which, and finds the
// imports that break that. Its tests are the linter: they check this module and
// that docs/architecture.md prints the same table.
package imports

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path of the module that the rules are for.
const Module = "ratchet"

// All in a rule's list stands for every package of the module.
const All = "*"

// Rule says what the packages of one folder may import from the module. A
// package belongs to the rule with the longest matching folder; packages of one
// rule may always import each other.
type Rule struct {
	From string   // folder, with everything below it
	To   []string // folders of other rules, or All
	Not  []string // exceptions from All
}

// everyone is what each package may import.
var everyone = []string{"internal/model"}

// Rules returns the allowed edges within the module. Test files are not bound
// by them: tests use the real parts.
func Rules() []Rule {
	return []Rule{
		{From: "cmd", To: []string{All}},
		{From: "e2e", To: []string{All}},
		{From: "workers", To: []string{All}, Not: []string{"cmd"}},
		{From: "activities", To: []string{All}, Not: []string{"cmd", "workers", "workflows"}},
		{From: "workflows", To: []string{"internal/protocol", "internal/decision", "internal/campaign"}},
		{From: "guard", To: []string{"failures"}},
		{From: "failures", To: []string{"internal/natsx"}},
		{From: "benchmarks", To: []string{"sandbox", "internal/pysrc"}},
		{From: "benchmarks/suites", To: []string{"benchmarks", "sandbox"}},
		{From: "sandbox"},
		{From: "sandbox/docker", To: []string{"sandbox"}},
		{From: "sandbox/sandboxtest", To: []string{"sandbox"}},
		{From: "deploy"},
		{From: "examples"},
		{From: "internal/model"},
		{From: "internal/campaign"},
		{From: "internal/decision"},
		{From: "internal/trial", To: []string{"internal/decision"}},
		{From: "internal/aa", To: []string{"internal/trial", "internal/decision"}},
		{From: "internal/protocol"},
		{From: "internal/control", To: []string{"internal/campaign", "internal/protocol", "internal/repo", "internal/store"}},
		{From: "internal/report", To: []string{"internal/store"}},
		{From: "internal/repo"},
		{From: "internal/pysrc"},
		{From: "internal/patch", To: []string{"internal/pysrc"}},
		{From: "internal/propose", To: []string{"internal/llm", "internal/patch", "internal/diagnose", "internal/pysrc"}},
		{From: "internal/diagnose", To: []string{"benchmarks", "internal/pysrc"}},
		{From: "internal/llm"},
		{From: "internal/store"},
		{From: "internal/artifact", To: []string{"internal/natsx"}},
		{From: "internal/natsx"},
		{From: "internal/devstack", To: []string{"internal/natsx"}},
		{From: "internal/doctor"},
		{From: "internal/estimate", To: []string{"internal/campaign", "internal/llm"}},
		{From: "internal/lint"},
	}
}

// Restriction says which folders alone may import some outside packages.
type Restriction struct {
	Packages []string // import paths, each with everything below it
	Only     []string // folders
	Tests    bool     // test files are bound as well
	Why      string
}

// Restrictions returns the limits on imports from outside the module.
func Restrictions() []Restriction {
	return []Restriction{
		{
			Packages: []string{"go.temporal.io/server", "github.com/temporalio/ui-server"}, Only: []string{"internal/devstack"}, Tests: true,
			Why: "the Temporal server is slow to compile",
		},
		{
			Packages: []string{"go.temporal.io/sdk", "go.temporal.io/api"},
			Only:     []string{"cmd", "workers", "activities", "workflows", "internal/protocol", "internal/control", "internal/devstack"},
			Why:      "leaves know nothing of Temporal",
		},
		{
			Packages: []string{"github.com/docker", "github.com/moby"}, Only: []string{"sandbox/docker"},
			Why: "one place to change when the client does",
		},
		{
			Packages: []string{"github.com/nats-io"}, Only: []string{"internal/natsx", "internal/devstack"},
			Why: "one client, one embedded server",
		},
		{
			Packages: []string{"github.com/go-git"}, Only: []string{"internal/repo", "internal/patch"},
			Why: "git objects are read and written in one place",
		},
		{
			Packages: []string{"database/sql", "modernc.org/sqlite", "github.com/jackc"}, Only: []string{"internal/store", "internal/devstack"},
			Why: "one place for SQL",
		},
		{
			Packages: []string{"github.com/openai", "github.com/anthropics"}, Only: []string{"internal/llm"}, Tests: true,
			Why: "keys and prompts go out in one place",
		},
		{
			Packages: []string{"os", "net", "io/fs", "syscall", "path/filepath"},
			Only: []string{
				"cmd", "e2e", "workers", "activities", "benchmarks", "benchmarks/suites", "sandbox", "sandbox/docker", "sandbox/sandboxtest", "examples", "failures", "guard",
				"internal/aa", "internal/artifact", "internal/campaign", "internal/control", "internal/devstack", "internal/diagnose", "internal/lint", "internal/llm",
				"internal/natsx", "internal/patch", "internal/propose", "internal/repo", "internal/report", "internal/store",
			},
			Why: "workflows, and what they and decisions rest on, do no input or output",
		},
	}
}

// Markdown prints the rules as docs/architecture.md does.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| package | may import, besides " + code(everyone) + " |\n|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.From, r.targets())
	}
	b.WriteString("\n| from outside the module | only by | why |\n|---|---|---|\n")
	for _, r := range Restrictions() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(r.Packages), r.who(), r.Why)
	}
	return b.String()
}

func (r Rule) targets() string {
	switch {
	case slices.Contains(r.To, All) && len(r.Not) == 0:
		return "everything"
	case slices.Contains(r.To, All):
		return "everything but " + code(r.Not)
	case len(r.To) == 0:
		return "nothing"
	}
	return code(r.To)
}

// who lists the folders that may, or those that may not when these are fewer.
func (r Restriction) who() string {
	var others []string
	for _, rule := range Rules() {
		if !slices.Contains(r.Only, rule.From) {
			others = append(others, rule.From)
		}
	}
	if len(others) < len(r.Only) {
		return "all but " + code(others)
	}
	return code(r.Only)
}

func code(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }
