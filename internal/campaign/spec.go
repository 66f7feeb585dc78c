// Package campaign is the campaign file: its form, defaults and checks. It does
// no input or output: it turns bytes into a Spec, so that workflows may use it.
package campaign

import "time"

// Spec is one campaign as its file describes it, with every default filled in.
// A value is plain data and may be copied; its slices are shared.
type Spec struct {
	Name      string     `json:"name" jsonschema:"required" jsonschema_description:"Name of the campaign, unique in the store: lower-case letters, digits and hyphens, at most 63."`
	Repo      string     `json:"repo" jsonschema:"required" jsonschema_description:"Git repository to improve: a path, relative to this file, or a URL without a password. It is never written to, unless with --push."`
	Base      string     `json:"base" jsonschema_description:"Branch, tag or commit to start from. Its harness files are the trusted ones."`
	Paths     Paths      `json:"paths" jsonschema_description:"Which files a candidate may touch."`
	Suites    []Suite    `json:"suites" jsonschema_description:"Benchmarks to improve on. The score is the mean over the suites, by their weights, of the mean over the problems of each."`
	Sandbox   Sandbox    `json:"sandbox" jsonschema_description:"Where untrusted code runs, and its limits."`
	Endpoints []Endpoint `json:"endpoints,omitempty" jsonschema_description:"Model servers, the preferred one first; the last is the fallback."`
	Proposers []Proposer `json:"proposers" jsonschema_description:"What writes the candidates. Several share them by what each gained for what it cost."`
	Search    Search     `json:"search" jsonschema_description:"How long and how widely to search."`
	Gate      Gate       `json:"gate" jsonschema_description:"How strict the decision to keep a change is."`
	Budget    Budget     `json:"budget" jsonschema_description:"What the whole campaign may use; it stops at the first limit it reaches."`
	Approval  Approval   `json:"approval" jsonschema_description:"Who has the last word on a change that measured better."`
	Seed      int64      `json:"seed" jsonschema_description:"Seed of every choice made by chance: equal seeds give equal campaigns."`
}

// Paths says which files a candidate may touch: those that some pattern of
// Allow and no pattern of Deny matches. Patterns are slash-separated and
// relative to the repository; ** matches any number of folders.
type Paths struct {
	Allow []string `json:"allow" jsonschema_description:"Patterns of files that may be changed; ** stands for any number of folders."`
	Deny  []string `json:"deny" jsonschema_description:"Patterns of files that may not be changed, whatever allow says."`
}

// Heldout says which problems are held out: a share of all, chosen by a stable
// hash, or those listed. Share is 0 when Problems are listed.
type Heldout struct {
	Share    float64  `json:"share" jsonschema_description:"Share of the problems to hold out, chosen by a stable hash of their ids."`
	Problems []string `json:"problems,omitempty" jsonschema_description:"Names of the problems to hold out, instead of a share."`
}

// Sandbox describes the boxes in which untrusted code runs.
type Sandbox struct {
	Image   string   `json:"image" jsonschema_description:"Image of the boxes: host-go is built from the Go tool chain of this machine, host-python from Debian's Python packages; others are local images, or are pulled. host-python is the default when a suite is of kind pytest or runs python3."`
	CPUs    float64  `json:"cpus" jsonschema_description:"Processors a box may use."`
	Memory  Size     `json:"memory" jsonschema_description:"Memory of a box, swap included."`
	Pids    int64    `json:"pids" jsonschema_description:"Processes and threads in a box."`
	Disk    Size     `json:"disk" jsonschema_description:"Work area of a box."`
	Network Network  `json:"network" jsonschema_description:"What candidates may reach from a box."`
	Setup   []string `json:"setup" jsonschema_description:"Commands run once on the trusted commit, with network, before the image is frozen, such as pip install -r requirements.txt."`
}

// Network says what a candidate may reach.
type Network string

// NetworkNone is no network at all.
const NetworkNone Network = "none"

// Proposer is one source of candidates.
type Proposer struct {
	Kind ProposerKind `json:"kind" jsonschema:"required" jsonschema_description:"What writes the candidates: search mutates suspicious code, without a model; llm asks a model for edits."`
	Name string       `json:"name,omitempty" jsonschema_description:"Name of the proposer in reports; its kind when left out."`

	Endpoints    []string  `json:"endpoints,omitempty" jsonschema_description:"llm: names of the endpoints that it calls, the preferred one first; all of the file when left out."`
	Samples      int       `json:"samples,omitempty" jsonschema_description:"llm: most answers to ask for in one generation (8 when left out)."`
	Temperatures []float64 `json:"temperatures,omitempty" jsonschema_description:"llm: sampling temperatures, which the answers use in turn ([0.2, 0.7, 1] when left out)."`
	MaxTokens    int       `json:"max_tokens,omitempty" jsonschema_description:"llm: most tokens of one answer (4096 when left out)."`
	PromptTokens int       `json:"prompt_tokens,omitempty" jsonschema_description:"llm: most tokens of one prompt (16384 when left out); fewer where the model's context is smaller."`
}

// ProposerKind names what writes candidates.
type ProposerKind string

const (
	ProposerSearch ProposerKind = "search" // program repair without a model
	ProposerLLM    ProposerKind = "llm"    // edits from a model
)

// Search bounds the search.
type Search struct {
	Generations int  `json:"generations" jsonschema_description:"Most generations to run."`
	Candidates  int  `json:"candidates" jsonschema_description:"Most candidates to screen in one generation."`
	Parallel    int  `json:"parallel" jsonschema_description:"Boxes in use at once while screening."`
	Stop        Stop `json:"stop" jsonschema_description:"When to stop before the last generation."`
}

// Stop says when a campaign ends early.
type Stop struct {
	Score float64 `json:"score" jsonschema_description:"Stop when the score over all problems reaches this."`
	Stale int     `json:"stale" jsonschema_description:"Stop after this many generations in a row that kept nothing."`
}

// Gate is the strictness of the decision.
type Gate struct {
	Alpha  float64 `json:"alpha" jsonschema_description:"Chance that the whole campaign keeps anything that is no gain."`
	Rounds int     `json:"rounds" jsonschema_description:"Most paired runs of each claimed problem in one confirmation."`
}

// Budget bounds the whole campaign.
type Budget struct {
	Wall    Duration `json:"wall" jsonschema_description:"Wall time of the campaign."`
	Sandbox Duration `json:"sandbox" jsonschema_description:"Time in sandboxes, summed over all of them."`
	Tokens  int64    `json:"tokens,omitempty" jsonschema_description:"Tokens of prompts and answers; no limit when left out."`
	Cost    float64  `json:"cost,omitempty" jsonschema_description:"Cost of model calls, in the currency of the endpoints' prices; no limit when left out."`
}

// Approval says who has the last word on a change that measured better.
// Deadline and Then are set when a person has.
type Approval struct {
	Keep     Keeper   `json:"keep" jsonschema_description:"auto keeps on the evidence alone; person waits for somebody to approve or reject."`
	Deadline Duration `json:"deadline,omitempty" jsonschema_description:"How long to wait for the person."`
	Then     Verdict  `json:"then,omitempty" jsonschema_description:"What happens when nobody has answered by the deadline."`
}

// Keeper is who decides that a change with good evidence is kept.
type Keeper string

const (
	KeepAuto   Keeper = "auto"
	KeepPerson Keeper = "person"
)

// Verdict is what follows an unanswered request for approval.
type Verdict string

const (
	ThenRevert Verdict = "revert"
	ThenKeep   Verdict = "keep"
)

// Default returns every default there is, and nothing for the keys that have
// none (name and repo). It is the one place where defaults are defined; the
// parser, the schema and the documentation take them from here.
func Default() Spec {
	return Spec{
		Base:   "main",
		Paths:  Paths{Allow: []string{"**/*.go", "**/*.py"}, Deny: []string{"vendor/**"}},
		Suites: []Suite{defaultSuite()},
		Sandbox: Sandbox{
			Image: ImageGo, CPUs: 1, Memory: 1 << 30, Pids: 256, Disk: 512 << 20,
			Network: NetworkNone, Setup: []string{},
		},
		Proposers: []Proposer{{Kind: ProposerSearch}},
		Search:    Search{Generations: 20, Candidates: 24, Parallel: 2, Stop: Stop{Score: 1, Stale: 5}},
		Gate:      Gate{Alpha: 0.05, Rounds: 20},
		Budget:    Budget{Wall: Duration(8 * time.Hour), Sandbox: Duration(4 * time.Hour)},
		Approval:  Approval{Keep: KeepAuto},
		Seed:      1,
	}
}
