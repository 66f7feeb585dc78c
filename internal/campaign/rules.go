package campaign

import (
	"regexp"
	"slices"
	"strings"
)

// rule is what a key may hold. The checks and the schema both read it, so they agree.
type rule struct {
	min, max float64 // of a number, a duration (ns) or a size (bytes)
	above    bool    // min itself is excluded
	enum     []string
	later    []string // values that are planned, for the hint
	pattern  string   // of a text
	form     string   // what pattern wants, for people
	items    bool     // a list needs an element
	unique   bool     // a list holds nothing twice
	optional bool     // it may be absent: nil, empty or zero
	absent   string   // what it means that an optional number is absent; a default when empty
	secret   bool     // a value that is no such thing may be a secret, and is not shown
	hint     string   // what to do when it is something else; guessed when empty
}

const (
	second = 1e9
	hour   = 3600 * second
	year   = 8760 * hour
	mib    = 1 << 20
	tib    = 1 << 40
)

const (
	slugPattern = `^[a-z0-9][a-z0-9-]{0,62}$`
	slugForm    = "1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen"
)

// rules maps each key, without indexes, to what it may hold.
var rules = map[string]rule{
	"name":              {pattern: slugPattern, form: slugForm},
	"repo":              {pattern: `^[^\s~\x00-\x1f-][^\x00-\x1f]*$`, form: "a path or a URL; ~ is not expanded"},
	"base":              {pattern: `^[A-Za-z0-9_.][A-Za-z0-9_./@+=-]*$`, form: "a branch, a tag or a commit"},
	"paths.allow":       {items: true, unique: true},
	"paths.deny":        {unique: true},
	"suites":            {items: true},
	"suites.name":       {pattern: slugPattern, form: slugForm},
	"suites.kind":       {enum: kinds()},
	"suites.weight":     {min: 0, above: true, max: 1_000_000},
	"suites.packages":   {items: true, unique: true, optional: true},
	"suites.command":    {items: true, optional: true},
	"suites.prepare":    {items: true, optional: true},
	"suites.harness":    {items: true, unique: true, optional: true},
	"suites.metrics":    {items: true, unique: true, optional: true},
	"suites.compare":    {enum: []string{string(CompareExact), string(CompareTrimmed), string(CompareNumeric), string(CompareJSON)}, optional: true},
	"suites.better":     {enum: []string{string(BetterLower), string(BetterHigher)}, optional: true},
	"suites.tolerance":  {min: 0, above: true, max: 1, optional: true},
	"suites.min_effect": {min: 0, above: true, max: 10, optional: true},
	"suites.timeout":    {min: 0, above: true, max: 24 * hour},
	"sandbox.image":     {pattern: `^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$`, form: "host-go, host-python, or the name of an image"},
	"sandbox.cpus":      {min: 0, above: true, max: 1024},
	"sandbox.memory":    {min: 16 * mib, max: 64 * tib},
	"sandbox.pids":      {min: 64, max: 1 << 22},
	"sandbox.disk":      {min: mib, max: 64 * tib},
	"sandbox.network":   {enum: []string{string(NetworkNone)}, hint: "candidates never have a network; only the setup commands do"},
	"proposers":         {items: true},
	"proposers.kind":    {enum: []string{string(ProposerSearch), string(ProposerLLM)}, later: []string{"agent"}},
	"proposers.name":    {pattern: slugPattern, form: slugForm, optional: true},
	"endpoints.name":    {pattern: slugPattern, form: slugForm},
	"endpoints.model":   {pattern: `^[^\s\x00-\x1f][^\x00-\x1f]*$`, form: "the name of a model, as the server lists it"},
	"endpoints.key_env": {pattern: `^[A-Za-z_][A-Za-z0-9_]{0,127}$`, form: "the name of an environment variable, not the key itself", optional: true, secret: true},
	"endpoints.context": {min: 2048, max: 100_000_000, optional: true, absent: "what the server says"},
	"gate.alpha":        {min: 0, above: true, max: 0.5},
	"gate.rounds":       {min: 1, max: 10_000},
	"budget.wall":       {min: 0, above: true, max: 10 * year},
	"budget.sandbox":    {min: 0, above: true, max: 100 * year},
	"approval.keep":     {enum: []string{string(KeepAuto), string(KeepPerson)}},
	"approval.then":     {enum: []string{string(ThenRevert), string(ThenKeep)}, optional: true},
	"search.parallel":   {min: 1, max: 256},
	"search.stop.stale": {min: 1, max: 1_000_000},
	"search.stop.score": {min: 0, above: true, max: 1},
	"search.candidates": {min: 1, max: 10_000},

	"endpoints.protocol":             {enum: []string{string(ProtocolOpenAI), string(ProtocolAnthropic)}},
	"endpoints.parallel":             {min: 1, max: 1024},
	"endpoints.price.input":          {min: 0, max: 1_000_000},
	"endpoints.price.cached":         {min: 0, max: 1_000_000},
	"endpoints.price.output":         {min: 0, max: 1_000_000},
	"endpoints.deadline.first_token": {min: 0, above: true, max: 24 * hour},
	"endpoints.deadline.stall":       {min: 0, above: true, max: 24 * hour},
	"endpoints.deadline.total":       {min: 0, above: true, max: 24 * hour},
	"proposers.endpoints":            {items: true, unique: true, optional: true},
	"proposers.samples":              {min: 1, max: 1000, optional: true},
	"proposers.temperatures":         {items: true, optional: true},
	"proposers.max_tokens":           {min: 256, max: 1_000_000, optional: true},
	"proposers.prompt_tokens":        {min: minPrompt, max: 100_000_000, optional: true},
	"budget.tokens":                  {min: 1, max: 1e15, optional: true, absent: "no limit"},
	"budget.cost":                    {min: 0, above: true, max: 1e12, optional: true, absent: "no limit"},

	"search.generations":      {min: 1, max: 1_000_000},
	"approval.deadline":       {min: 0, above: true, max: year, optional: true},
	"suites.heldout.share":    {min: 0, max: 0.9},
	"suites.heldout.problems": {unique: true},
}

var index = regexp.MustCompile(`\[\d+\]`)

// ruleFor returns the rule of a key as it stands in messages, such as suites[0].kind.
func ruleFor(key string) rule { return rules[index.ReplaceAllString(key, "")] }

// without says how an optional number is left to what stands for its absence.
func (r rule) without() string {
	if r.absent == "" {
		return "remove the key to use the default"
	}
	return "remove the key for " + r.absent
}

// oneOf explains which values there are when value is none of them.
func (r rule) oneOf(value string) (problem, hint string) {
	problem = "there is no " + quote(value)
	hint = "it is " + strings.Join(r.enum, " or ")
	switch near := nearest(value, r.enum); {
	case r.hint != "":
		hint = r.hint
	case slices.Contains(r.later, value):
		problem = quote(value) + " is not supported yet"
		hint = "now " + strings.Join(r.enum, " or ") + "; later " + strings.Join(r.later, ", ")
	case near != "":
		hint = "did you mean " + near + "?"
	case len(r.later) > 0:
		hint += "; later also " + strings.Join(r.later, " and ")
	}
	return problem, hint
}
