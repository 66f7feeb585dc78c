package patch

import (
	"fmt"
	"sort"
	"strings"

	"ratchet/internal/model"
)

// Rules of the gate, in the order in which they are checked.
const (
	RuleEmpty       = "empty"       // no edits
	RulePath        = "path"        // not a path that can be edited, or a link on the way
	RuleMode        = "mode"        // neither an ordinary nor an executable file
	RuleHarness     = "harness"     // the file belongs to the grader
	RuleDenied      = "denied"      // the policy does not allow the path
	RuleConflict    = "conflict"    // does not fit this base
	RuleIdentical   = "identical"   // changes nothing
	RuleLarge       = "large"       // over a limit of the policy
	RuleBinary      = "binary"      // not text
	RuleBoilerplate = "boilerplate" // a model's words in place of the file
	RuleParse       = "parse"       // a Go or Python file that does not parse
	RuleWhitespace  = "whitespace"  // only white space changes
	RuleComments    = "comments"    // only comments change
	RuleReach       = "reach"       // adds code that only serves to reach into the grader
	RuleHidden      = "hidden"      // adds characters that make a reviewer see other code than runs
)

// Refusal says why a candidate is not worth, or not allowed, any sandbox time.
// It is a result, not an error.
type Refusal struct {
	Rule string `json:"rule"` // one of the Rule constants
	Path string `json:"path"` // empty when it concerns the whole candidate
	Why  string `json:"why"`  // for people
}

func (r *Refusal) String() string {
	if r.Path == "" {
		return r.Rule + ": " + r.Why
	}
	return fmt.Sprintf("%s: %s: %s", r.Rule, r.Path, r.Why)
}

// Gate checks a candidate against the base that it was made for; nil means that
// it passes. It is pure: equal arguments give equal results.
func Gate(base model.Tree, c model.Candidate, p Policy) *Refusal {
	if len(c.Edits) == 0 {
		return &Refusal{Rule: RuleEmpty, Why: "there are no edits"}
	}
	for _, check := range []func(model.Tree, []model.Edit, Policy) *Refusal{gatePaths, gateFit, gateNames} {
		if r := check(base, c.Edits, p); r != nil {
			return r
		}
	}
	all := changes(base, c.Edits)
	if len(all) == 0 {
		return &Refusal{Rule: RuleIdentical, Why: "the edits give the files that are there already"}
	}
	if r := gateSize(all, p); r != nil {
		return r
	}
	for _, ch := range all {
		for _, check := range []func(model.Tree, change) *Refusal{gateBinary, gateBoilerplate, gateParse, gateReach, gateReachPython, gateShadow, gateHidden} {
			if r := check(base, ch); r != nil {
				r.Path = ch.path
				return r
			}
		}
	}
	return gateSubstance(all)
}

// gatePaths checks each edit by itself: its path, its mode, and whether the
// candidate may touch it at all.
func gatePaths(base model.Tree, edits []model.Edit, p Policy) *Refusal {
	for _, e := range edits {
		if why := BadPath(e.Path); why != "" {
			return &Refusal{RulePath, e.Path, why}
		}
		if why := linkOnTheWay(base, e.Path); why != "" {
			return &Refusal{RulePath, e.Path, why}
		}
		if e.Mode != 0 && e.Mode != model.ModeFile && e.Mode != model.ModeExec {
			return &Refusal{RuleMode, e.Path, fmt.Sprintf("mode %o is not that of a file", e.Mode)}
		}
		if p.Harness != nil && p.Harness(e.Path) {
			return &Refusal{RuleHarness, e.Path, "it belongs to the benchmark"}
		}
		if why := p.denied(e.Path); why != "" {
			return &Refusal{RuleDenied, e.Path, why}
		}
	}
	return nil
}

// linkOnTheWay refuses paths that are, or lead through, a symbolic link.
func linkOnTheWay(base model.Tree, path string) string {
	for at := path; at != "."; at = parent(at) {
		if f, ok := base.Find(at); ok && f.Mode == model.ModeSymlink {
			return at + " is a symbolic link"
		}
	}
	return ""
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

// gateFit checks that the edits make sense on exactly this base.
func gateFit(base model.Tree, edits []model.Edit, _ Policy) *Refusal {
	seen := map[string]bool{}
	for _, e := range edits {
		_, exists := base.Find(e.Path)
		switch {
		case seen[e.Path]:
			return &Refusal{RuleConflict, e.Path, "there are two edits of it"}
		case e.Delete && !exists:
			return &Refusal{RuleConflict, e.Path, "the file to delete is not there"}
		}
		seen[e.Path] = true
	}
	return gateFolders(base, edits)
}

// gateFolders refuses edits after which one path is both a file and a folder.
func gateFolders(base model.Tree, edits []model.Edit) *Refusal {
	after := base.With(edits...)
	for _, e := range edits {
		if e.Delete {
			continue
		}
		for dir := parent(e.Path); dir != "."; dir = parent(dir) {
			if _, file := after.Find(dir); file {
				return &Refusal{RuleConflict, e.Path, dir + " is a file"}
			}
		}
		below := sort.Search(len(after.Files), func(i int) bool { return after.Files[i].Path >= e.Path+"/" })
		if below < len(after.Files) && strings.HasPrefix(after.Files[below].Path, e.Path+"/") {
			return &Refusal{RuleConflict, e.Path, "it is a folder"}
		}
	}
	return nil
}

func gateSize(all []change, p Policy) *Refusal {
	if n := len(all); n > p.maxFiles() {
		return &Refusal{Rule: RuleLarge, Why: fmt.Sprintf("it changes %d files, at most %d are allowed", n, p.maxFiles())}
	}
	total := 0
	for _, c := range all {
		if total += len(c.newData()); total > p.maxBytes() {
			return &Refusal{RuleLarge, c.path, fmt.Sprintf("the new content is larger than %d bytes", p.maxBytes())}
		}
	}
	return nil
}

func gateBinary(_ model.Tree, c change) *Refusal {
	if isBinary(c.newData()) {
		return &Refusal{Rule: RuleBinary, Why: "the new content is not UTF-8 text"}
	}
	return nil
}

// gateSubstance refuses a candidate of which no file changes in substance. One
// that also tidies comments beside a real change passes.
func gateSubstance(all []change) *Refusal {
	comments := ""
	for _, c := range all {
		switch substance(c) {
		case changesCode:
			return nil
		case changesComments:
			comments = c.path
		}
	}
	if comments != "" {
		return &Refusal{RuleComments, comments, "nothing but comments changes"}
	}
	return &Refusal{RuleWhitespace, all[0].path, "nothing but white space changes"}
}
