package benchmarks

import (
	"fmt"
	"slices"
	"strings"
)

// pyArgs are a suite's arguments for pytest, taken apart.
type pyArgs struct {
	selects []string // what to collect: paths, node ids, and options that choose among tests
	options []string // everything else
}

// pySelecting are options that choose among tests, each with a value. They are
// used when problems are listed; afterwards problems are chosen by node id.
var pySelecting = []string{"-m", "-k", "--deselect", "--ignore", "--ignore-glob"}

// pyValued are other options whose value may be a word of its own.
var pyValued = []string{"-W", "--pythonwarnings", "--import-mode", "--basetemp", "--log-level", "--doctest-glob"}

// pyIdle are options that only change what pytest prints.
var pyIdle = []string{"-q", "-qq", "-v", "-vv", "-vvv", "--quiet", "--verbose", "--no-header", "--no-summary", "--strict"}

// pyRefused are options that change what is run, judged or reported, behind the suite's back.
var pyRefused = []string{
	"-p", "-x", "-n", "-o", "-c", "-s", "-f", "-r", "-h", "-V", "--exitfirst", "--maxfail", "--override-ini", "--config-file",
	"--junitxml", "--junit-xml", "--junit-prefix", "--junitprefix", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw", "--stepwise",
	"--stepwise-skip", "--sw-skip", "--lfnf", "--last-failed-no-failures", "--cache-show", "--cache-clear",
	"--co", "--collect-only", "--setup-only", "--setup-plan", "--setuponly", "--setupplan", "--setup-show", "--setupshow", "--fixtures", "--funcargs", "--fixtures-per-test", "--markers", "--help", "--version",
	"--rootdir", "--confcutdir", "--noconftest", "--capture", "--assert", "--runxfail", "--pdb", "--pdbcls", "--trace", "--pastebin",
	"--pyargs", "--tb", "--color", "--show-capture", "--report-log", "--resultlog", "--result-log", "--debug", "--trace-config",
	"--dist", "--numprocesses", "--tx", "--boxed", "--forked", "--reruns", "--cov", "--no-cov", "--timeout", "--timeout-method", "--continue-on-collection-errors",
	"--keep-duplicates", "--collect-in-virtualenv", "--log-file", "--doctest-modules",
}

// parsePyArgs takes apart a suite's arguments.
func parsePyArgs(args []string) (pyArgs, error) {
	var out pyArgs
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, glued := strings.Cut(arg, "=")
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && len(arg) > 2 && !slices.Contains(pyIdle, arg) {
			name, glued = arg[:2], true
		}
		switch {
		case arg == "" || strings.ContainsRune(arg, 0) || arg == "--" || strings.HasPrefix(arg, "@"):
			return pyArgs{}, fmt.Errorf("argument %q of pytest is not understood", arg)
		case !strings.HasPrefix(arg, "-"):
			if strings.HasPrefix(arg, "/") || slices.Contains(strings.Split(nodeFile(arg), "/"), "..") {
				return pyArgs{}, fmt.Errorf("argument %q of pytest leaves the suite's root", arg)
			}
			out.selects = append(out.selects, arg)
		case refusedPyOption(name):
			return pyArgs{}, fmt.Errorf("option %s of pytest cannot be used: it changes what is run or reported", name)
		case slices.Contains(pyIdle, name):
		default:
			words := []string{arg}
			if !glued && (slices.Contains(pySelecting, name) || slices.Contains(pyValued, name)) {
				if i++; i == len(args) {
					return pyArgs{}, fmt.Errorf("option %s of pytest needs a value", name)
				}
				words = append(words, args[i])
			}
			if slices.Contains(pySelecting, name) {
				out.selects = append(out.selects, words...)
			} else {
				out.options = append(out.options, words...)
			}
		}
	}
	return out, nil
}

// refusedPyOption reports whether an option is one of those refused, or the
// beginning of one, since pytest takes a long option for any that it begins.
func refusedPyOption(name string) bool {
	if !strings.HasPrefix(name, "--") {
		return slices.Contains(pyRefused, name)
	}
	if slices.Contains(pySelecting, name) || slices.Contains(pyValued, name) || slices.Contains(pyIdle, name) {
		return false
	}
	return slices.ContainsFunc(pyRefused, func(r string) bool { return strings.HasPrefix(r, name) })
}
