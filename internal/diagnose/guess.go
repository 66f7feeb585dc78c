package diagnose

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// Scores of functions that are suspect only because nothing better is known.
const (
	similarScore = 0.25 // times the share of the function's words that the problem names
	anyScore     = 0.05
	// leastSimilar is the share of a function's words below which it is a chance.
	leastSimilar = 0.5
	// inNamedFile is what it counts when only the file is named alike.
	inNamedFile = 0.6
	// maxGuesses bounds how many functions one suite's guesses name.
	maxGuesses = 300
)

// guessed says that a problem is of a suite that reports no coverage at all, so
// that nothing but its output and its name says where to look.
func (d *diagnosis) guessed(t test) bool {
	_, known := d.in.Roots[t.Suite]
	return known && d.blind[t.Suite]
}

// blindSuites are those of which no problem ran any block.
func blindSuites(tests []test) map[string]bool {
	blind := map[string]bool{}
	for _, t := range tests {
		if _, seen := blind[t.Suite]; !seen {
			blind[t.Suite] = true
		}
		if len(t.hits) > 0 {
			blind[t.Suite] = false
		}
	}
	return blind
}

// guesses makes suspects for the weak problems of suites without coverage: what
// they name and what they call, then what is named alike, then, so that there is
// something to try, every function below the suite's folder.
func (d *diagnosis) guesses(found map[key]*Suspect) {
	weak := map[string][]test{}
	for _, i := range d.failing {
		if t := d.tests[i]; d.guessed(t) {
			weak[t.Suite] = append(weak[t.Suite], t)
		}
	}
	suites := make([]string, 0, len(weak))
	for s := range weak {
		suites = append(suites, s)
	}
	slices.Sort(suites)
	for _, s := range suites {
		all := d.functionsBelow(d.in.Roots[s])
		named := map[key]bool{}
		for _, t := range weak[s] {
			d.addCalled(found, t)
			d.addSimilar(found, named, all, t)
		}
		rest := d.addAny(found, named, all, weak[s])
		d.note("suite %s reports no coverage: its %d weak problems are localised by stack traces, by the names they mention, and by guessing: %d of %d functions are suspect for no other reason than being there",
			s, len(weak[s]), rest, len(all))
	}
}

// functionsBelow lists the functions of files that a candidate may change, by place.
func (d *diagnosis) functionsBelow(root string) []function {
	inside := func(name string) bool {
		return (root == "." || root == "" || strings.HasPrefix(name, path.Clean(root)+"/")) && d.in.Allowed(name)
	}
	var out []function
	for _, f := range d.in.Tree.Files {
		switch {
		case !isSourceFile(f.Path) || d.in.Harness(f.Path) || !inside(f.Path):
		case isPython(f.Path):
			out = append(out, d.source.pythonFile(f.Path).funcs...)
		case strings.HasSuffix(f.Path, ".go"):
			out = append(out, d.source.file(f.Path).funcs...)
		}
	}
	return out
}

// addSimilar makes suspects of functions whose name, or whose file's, shares words
// with a problem's name, or that its output names.
func (d *diagnosis) addSimilar(found map[key]*Suspect, named map[key]bool, all []function, t test) {
	about := words(t.ID)
	output := map[string]bool{}
	for _, w := range wordPattern.FindAllString(t.message, -1) {
		output[w] = true
	}
	for _, f := range all {
		share, why := similarity(words(f.name), about), "a problem without coverage is named alike"
		file := strings.TrimSuffix(path.Base(f.file), path.Ext(f.file))
		if s := inNamedFile * similarity(words(file), about); s > share {
			share, why = s, "a problem without coverage is named like its file"
		}
		if len(f.name) >= minNameLength && output[f.name] {
			share, why = 1, "the output of a problem without coverage names it"
		}
		if share >= leastSimilar {
			s := f.suspect(similarScore*share*t.weight(), t, why)
			named[keyOf(s)] = true
			keepHigher(found, s)
		}
	}
}

// addAny makes suspects of functions that nothing points to, up to the cap, and counts them.
func (d *diagnosis) addAny(found map[key]*Suspect, named map[key]bool, all []function, weak []test) int {
	n := 0
	for _, f := range all {
		s := f.suspect(anyScore*weak[0].weight(), weak[0], "nothing says where the fault is; this is one of the places")
		if _, known := found[keyOf(s)]; known || named[keyOf(s)] {
			continue
		}
		if n++; n > maxGuesses {
			return maxGuesses
		}
		for _, t := range weak {
			s.Problems = addProblems(s.Problems, []string{t.ID})
			s.Score = max(s.Score, anyScore*t.weight())
		}
		keepHigher(found, s)
	}
	return n
}

// similarity is the share of a name's words that are in another's.
func similarity(name, other []string) float64 {
	if len(name) == 0 {
		return 0
	}
	common := 0
	for _, w := range name {
		if contains(other, w) {
			common++
		}
	}
	return float64(common) / float64(len(name))
}

// common are words that say nothing of what a function does.
var common = map[string]bool{"test": true, "tests": true, "the": true, "and": true, "for": true, "with": true, "main": true, "init": true, "case": true, "cases": true}

// words are the distinct telling words of a name in any style, in lower case.
func words(name string) []string {
	var out []string
	add := func(w string) {
		w = strings.ToLower(w)
		if len(w) > 2 && !common[w] && !contains(out, w) {
			out = append(out, w)
		}
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		start, runes := 0, []rune(part)
		for i := 1; i < len(runes); i++ {
			if unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
				add(string(runes[start:i]))
				start = i
			}
		}
		add(string(runes[start:]))
	}
	return out
}
