package campaign

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"ratchet/internal/model"
)

// Allowed says whether a candidate may touch the file at path, which is
// slash-separated and relative to the repository.
func (p Paths) Allowed(path string) bool {
	match := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, path) }
	return slices.ContainsFunc(p.Allow, match) && !slices.ContainsFunc(p.Deny, match)
}

// Validate checks a Spec that did not come from Parse. It returns *Errors, with
// keys but without places, or nil.
func (s Spec) Validate() error {
	errs := &Errors{}
	s.validate(func(key, problem, hint string) {
		errs.add(Error{Key: key, Problem: problem, Hint: hint})
	})
	return errs.result()
}

// check validates what was read and adds the place in the file to each problem.
func (r *reader) check(s Spec) {
	s.validate(func(key, problem, hint string) {
		at, found := place{}, false
		for k := key; ; k = parentOf(k) {
			if r.failed[k] {
				return
			}
			if p, ok := r.places[k]; ok && !found {
				at, found = p, true
			}
			if k == "" {
				break
			}
		}
		r.errs.add(Error{Line: at.line, Col: at.col, Key: key, Problem: problem, Hint: hint})
	})
}

// parentOf cuts the last part off a key: a.b[0].c, a.b[0], a.b, a, "".
func parentOf(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }

// reporter receives one problem.
type reporter func(key, problem, hint string)

func (s Spec) validate(report reporter) {
	walk("", reflect.ValueOf(s), report)
	s.Paths.validate(report)
	s.Approval.validate(report)
	if model.AddressHoldsSecret(s.Repo) {
		report("repo", "it holds a password or a token, and campaigns are stored and shown", model.SecretHint)
	}
	if strings.Contains(s.Base, "..") {
		report("base", "a range is not a commit", "name one branch, tag or commit")
	}
	for i, x := range s.Suites {
		x.validate(fmt.Sprintf("suites[%d]", i), report)
		if first := slices.IndexFunc(s.Suites, func(y Suite) bool { return y.Name == x.Name }); first < i {
			report(fmt.Sprintf("suites[%d].name", i), fmt.Sprintf("suites[%d] has the name %s already", first, quote(x.Name)), "give each suite a name of its own")
		}
	}
	s.validateEndpoints(report)
	s.validateProposers(report)
	for i, command := range s.Sandbox.Setup {
		if strings.TrimSpace(command) == "" {
			report(fmt.Sprintf("sandbox.setup[%d]", i), "the command is empty", "remove it")
		}
	}
}

// CheckName says what is wrong with the name of a campaign.
func CheckName(name string) error {
	if r := rules["name"]; !regexp.MustCompile(r.pattern).MatchString(name) {
		return fmt.Errorf("%s is no name of a campaign: it is %s", quote(name), r.form)
	}
	return nil
}

// walk applies the rule of each key to its value.
func walk(key string, v reflect.Value, report reporter) {
	r := ruleFor(key)
	switch v.Kind() {
	case reflect.Struct:
		for i, k := range keysOf(v.Type()) {
			walk(join(key, k), v.Field(i), report)
		}
	case reflect.Slice:
		r.list(key, v, report)
		for i := range v.Len() {
			walk(fmt.Sprintf("%s[%d]", key, i), v.Index(i), report)
		}
	case reflect.String:
		r.text(key, v.String(), report)
	case reflect.Int, reflect.Int64, reflect.Float64:
		r.number(key, v, report)
	}
}

func (r rule) list(key string, v reflect.Value, report reporter) {
	if r.items && v.Len() == 0 && !(r.optional && v.IsNil()) {
		report(key, "the list is empty", "give it at least one element, or remove the key to use the default")
	}
	for i := range v.Len() {
		for j := range i {
			if r.unique && v.Index(i).Equal(v.Index(j)) {
				report(fmt.Sprintf("%s[%d]", key, i), quote(v.Index(i).String())+" is given twice", "remove one")
				break
			}
		}
	}
}

func (r rule) text(key, value string, report reporter) {
	switch {
	case value == "" && r.optional: // who needs it checks it
	case value == "" && (r.enum != nil || r.pattern != ""):
		report(key, "a value is required", requiredHint(key, r))
	case r.enum != nil && !slices.Contains(r.enum, value):
		problem, hint := r.oneOf(value)
		report(key, problem, hint)
	case r.secret && !regexp.MustCompile(r.pattern).MatchString(value):
		report(key, "the value does not fit", "it is "+r.form)
	case r.pattern != "" && !regexp.MustCompile(r.pattern).MatchString(value):
		report(key, quote(value)+" does not fit", "it is "+r.form)
	}
}

func requiredHint(key string, r rule) string {
	switch {
	case key == "name":
		return "add a line like name: my-campaign"
	case key == "repo":
		return "add a line like repo: ./my-repository"
	case r.enum != nil:
		return "it is " + strings.Join(r.enum, " or ")
	}
	return "it is " + r.form
}

func (r rule) number(key string, v reflect.Value, report reporter) {
	if r.max == 0 || r.optional && v.IsZero() {
		return // any number will do, or who needs it checks it
	}
	x := 0.0
	if v.CanFloat() {
		x = v.Float()
	} else {
		x = float64(v.Int())
	}
	if ok := x <= r.max && (x > r.min || x == r.min && !r.above); !ok {
		report(key, fmt.Sprintf("%v is out of range", v.Interface()), "it is "+r.span(v.Type()))
	}
}

// span prints the range of a number in the form of its type.
func (r rule) span(t reflect.Type) string {
	show := func(x float64) string {
		v := reflect.ValueOf(x).Convert(t)
		return fmt.Sprint(v.Interface())
	}
	if r.above {
		return "more than " + show(r.min) + " and at most " + show(r.max)
	}
	return "from " + show(r.min) + " to " + show(r.max)
}

func (p Paths) validate(report reporter) {
	for key, patterns := range map[string][]string{"paths.allow": p.Allow, "paths.deny": p.Deny} {
		for i, pattern := range patterns {
			if problem, hint := badPattern(pattern); problem != "" {
				report(fmt.Sprintf("%s[%d]", key, i), problem, hint)
			}
		}
	}
}

// badPattern says what is wrong with a path pattern, or "".
func badPattern(p string) (problem, hint string) {
	switch {
	case p == "":
		return "the pattern is empty", "remove it, or write **"
	case !doublestar.ValidatePattern(p):
		return quote(p) + " is not a valid pattern", `close every [ and {; * stays in a folder, ** crosses them`
	case strings.HasPrefix(p, "/"), slices.Contains(strings.Split(p, "/"), ".."):
		return quote(p) + " leaves the repository", "patterns are relative to the repository, such as internal/**"
	case path.Clean(p) != p:
		return quote(p) + " can match nothing", "write " + quote(path.Clean(p)) + ", or " + quote(path.Clean(p)+"/**") + " for a whole folder"
	}
	return "", ""
}

func (a Approval) validate(report reporter) {
	switch {
	case a.Keep == KeepPerson:
		if a.Deadline == 0 {
			report("approval.deadline", "a value is required when a person decides", "say how long to wait, such as deadline: 24h")
		}
		if a.Then == "" {
			report("approval.then", "a value is required when a person decides", "say what happens after the deadline: then: revert, or then: keep")
		}
	case a.Keep == KeepAuto && (a.Deadline != 0 || a.Then != ""):
		report("approval", "deadline and then are for keep: person only", "remove them, or write keep: person")
	}
}
