package campaign

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Suite is one benchmark. Which of the keys after Heldout there are depends on Kind.
type Suite struct {
	Name    string    `json:"name" jsonschema_description:"Name of the suite, unique in the campaign; the first part of its problems' ids."`
	Kind    SuiteKind `json:"kind" jsonschema_description:"What runs the problems: gotest and pytest run tests, junit reads the report of any command, exec compares what a command prints, metric measures numbers that a command prints."`
	Weight  float64   `json:"weight" jsonschema_description:"How much the suite counts in the score, relative to the others."`
	Root    string    `json:"root" jsonschema_description:"Folder of the repository in which the suite is run, such as the folder of a Go module."`
	Timeout Duration  `json:"timeout" jsonschema_description:"Time limit of one problem, or of one run of a junit or metric command."`
	Heldout Heldout   `json:"heldout" jsonschema_description:"Problems that no proposer sees: they guard the decision. Not for kinds junit and metric."`

	Packages  []string   `json:"packages,omitempty" jsonschema_description:"gotest: package patterns whose tests are the problems, relative to root; ./... when not given."`
	Args      []string   `json:"args,omitempty" jsonschema_description:"pytest: what to collect, such as tests/unit, or -m and an expression."`
	Command   []string   `json:"command,omitempty" jsonschema_description:"junit, exec, metric: the command to run, as a list of words; no shell is involved."`
	Prepare   [][]string `json:"prepare,omitempty" jsonschema_description:"junit, exec, metric: commands to run before it, such as a build, each a list of words. They run as another user than command."`
	Harness   []string   `json:"harness,omitempty" jsonschema_description:"junit, exec, metric: patterns of the files that belong to the benchmark. They come from the base commit, and no candidate may touch them."`
	Report    string     `json:"report,omitempty" jsonschema_description:"junit: the JUnit XML file that command writes, or a pattern of files, relative to root."`
	Cases     string     `json:"cases,omitempty" jsonschema_description:"exec: a folder of cases (name.in, name.out and, if need be, name.args) or a JSON Lines file (id, input, args, expected), relative to root."`
	Compare   Compare    `json:"compare,omitempty" jsonschema_description:"exec: how output is compared with what is expected; trimmed when not given."`
	Tolerance float64    `json:"tolerance,omitempty" jsonschema_description:"exec: by how much numbers may differ, relatively or absolutely, when compare is numeric or json; 1e-9 when not given."`
	Better    Better     `json:"better,omitempty" jsonschema_description:"metric: which way the numbers improve; not needed for Go benchmarks."`
	MinEffect float64    `json:"min_effect,omitempty" jsonschema_description:"metric: the least relative change that counts, 0.05 when not given."`
	Metrics   []string   `json:"metrics,omitempty" jsonschema_description:"metric: names of the numbers that count, all when not given; wall is the time of the command by the host's clock."`
}

// SuiteKind names what runs a suite's problems.
type SuiteKind string

const (
	SuiteGoTest SuiteKind = "gotest" // the top-level tests of Go packages
	SuitePyTest SuiteKind = "pytest" // the tests that pytest collects
	SuiteJUnit  SuiteKind = "junit"  // the cases of a JUnit XML report
	SuiteExec   SuiteKind = "exec"   // what a command prints for given inputs
	SuiteMetric SuiteKind = "metric" // numbers that a command prints
)

// Compare says how the output of an exec suite's command is compared.
type Compare string

const (
	CompareExact   Compare = "exact"
	CompareTrimmed Compare = "trimmed"
	CompareNumeric Compare = "numeric"
	CompareJSON    Compare = "json"
)

// Better says which way a metric improves.
type Better string

const (
	BetterLower  Better = "lower"
	BetterHigher Better = "higher"
)

// Images that ratchet makes itself.
const (
	ImageGo     = "host-go"
	ImagePython = "host-python"
)

// kindRule says which keys a kind of suite has besides those that all have.
type kindRule struct {
	keys     []string
	required []string
	noHiding bool // problems cannot be held out
}

var commandKeys = []string{"command", "prepare", "harness"}

var kindRules = map[SuiteKind]kindRule{
	SuiteGoTest: {keys: []string{"packages"}},
	SuitePyTest: {keys: []string{"args"}},
	SuiteJUnit:  {keys: append([]string{"report"}, commandKeys...), required: []string{"command", "report"}, noHiding: true},
	SuiteExec:   {keys: append([]string{"cases", "compare", "tolerance"}, commandKeys...), required: []string{"command", "cases"}},
	SuiteMetric: {keys: append([]string{"better", "min_effect", "metrics"}, commandKeys...), required: []string{"command"}, noHiding: true},
}

// kinds lists the kinds in the order in which people read about them.
func kinds() []string {
	return []string{string(SuiteGoTest), string(SuitePyTest), string(SuiteJUnit), string(SuiteExec), string(SuiteMetric)}
}

// example is how a required key is written.
var example = map[string]string{
	"command": "command: [python3, run.py]", "report": "report: report.xml", "cases": "cases: testdata/cases",
}

const defaultShare = 0.25

// blankSuite holds the defaults that do not depend on the kind.
func blankSuite() Suite {
	return Suite{Name: "unit", Kind: SuiteGoTest, Weight: 1, Root: ".", Timeout: Duration(time.Minute), Heldout: Heldout{Share: defaultShare}}
}

// defaultSuite is the suite of a file that names none.
func defaultSuite() Suite { return blankSuite().filled() }

// filled adds the defaults of the suite's kind to what was not given.
func (s Suite) filled() Suite {
	switch s.Kind {
	case SuiteGoTest:
		if s.Packages == nil {
			s.Packages = []string{"./..."}
		}
	case SuiteExec:
		if s.Compare == "" {
			s.Compare = CompareTrimmed
		}
		if s.Tolerance == 0 {
			s.Tolerance = 1e-9
		}
	case SuiteMetric:
		if s.MinEffect == 0 {
			s.MinEffect = 0.05
		}
	}
	return s
}

// python says whether the suite needs a Python interpreter.
func (s Suite) python() bool {
	return s.Kind == SuitePyTest || len(s.Command) > 0 && strings.HasPrefix(path.Base(s.Command[0]), "python")
}

// fields are the values of the keys that only some kinds have.
func (s Suite) fields() map[string]bool {
	return map[string]bool{
		"packages": s.Packages != nil, "args": s.Args != nil, "command": s.Command != nil, "prepare": s.Prepare != nil,
		"harness": s.Harness != nil, "report": s.Report != "", "cases": s.Cases != "", "compare": s.Compare != "",
		"tolerance": s.Tolerance != 0, "better": s.Better != "", "min_effect": s.MinEffect != 0, "metrics": s.Metrics != nil,
	}
}

func (s Suite) validate(key string, report reporter) {
	s.validateKind(key, report)
	s.validateHeldout(key, report)
	s.validatePaths(key, report)
	for i, p := range s.Packages {
		if p != "." && !strings.HasPrefix(p, "./") || slices.Contains(strings.Split(p, "/"), "..") || strings.ContainsAny(p, " \t\\") {
			report(fmt.Sprintf("%s.packages[%d]", key, i), quote(p)+" is not a package pattern", "packages are relative to the suite's root, such as ./... or ./internal/parse")
		}
	}
	validateCommand(key+".command", s.Command, report)
	for i, c := range s.Prepare {
		validateCommand(fmt.Sprintf("%s.prepare[%d]", key, i), c, report)
	}
}

// validateKind checks that the keys are those of the kind.
func (s Suite) validateKind(key string, report reporter) {
	rule, known := kindRules[s.Kind]
	if !known {
		return // the rule of the key says so
	}
	given := s.fields()
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case given[name] && !slices.Contains(rule.keys, name):
			report(key+"."+name, "a suite of kind "+string(s.Kind)+" has no such key", "remove it, or use another kind; the keys of this one are "+strings.Join(rule.keys, ", "))
		case !given[name] && slices.Contains(rule.required, name):
			report(key+"."+name, "a suite of kind "+string(s.Kind)+" needs it", "add a line like "+example[name])
		}
	}
}

func (s Suite) validateHeldout(key string, report reporter) {
	if s.Heldout.Share != 0 && len(s.Heldout.Problems) > 0 {
		report(key+".heldout", "share and problems exclude each other", "keep one of them")
	}
	if kindRules[s.Kind].noHiding && (s.Heldout.Share != 0 || len(s.Heldout.Problems) > 0) {
		report(key+".heldout", "problems of kind "+string(s.Kind)+" cannot be held out", "what belongs to one of them is not known, so it cannot be hidden; put what is to be held out into a suite of kind gotest, pytest or exec")
	}
	for i, p := range s.Heldout.Problems {
		if strings.TrimSpace(p) != p || p == "" {
			report(fmt.Sprintf("%s.heldout.problems[%d]", key, i), quote(p)+" is not the name of a problem", "write it like TestParse")
		}
	}
}

// validatePaths checks what names files of the repository.
func (s Suite) validatePaths(key string, report reporter) {
	for name, p := range map[string]string{"root": s.Root, "report": s.Report, "cases": s.Cases} {
		if p == "" {
			continue
		}
		if path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), "..") || strings.ContainsAny(p, "\\\x00") {
			report(key+"."+name, quote(p)+" leaves the repository", "write a path below it, such as "+quote(strings.TrimLeft(path.Clean("/"+p), "/")))
		}
	}
	for i, p := range s.Harness {
		if problem, hint := badPattern(p); problem != "" {
			report(fmt.Sprintf("%s.harness[%d]", key, i), problem, hint)
		}
	}
}

func validateCommand(key string, words []string, report reporter) {
	if words == nil {
		return
	}
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		report(key, "the command has no program", "write it as a list of words, such as [python3, run.py]")
		return
	}
	if len(words) == 1 && strings.ContainsAny(words[0], " \t") {
		report(key, quote(words[0])+" is one word", "there is no shell: write ["+strings.Join(strings.Fields(words[0]), ", ")+"]")
	}
}
