package model

import "time"

// Campaign is the stored state of one campaign.
type Campaign struct {
	Name   string `json:"name"`
	Spec   []byte `json:"spec"`   // the campaign file, as canonical JSON
	Source string `json:"source"` // the repository as given, made absolute
	Repo   string `json:"repo"`   // absolute path of the campaign's bare repository
	Branch string `json:"branch"` // full ref name of the story
	Base   string `json:"base"`   // commit the campaign started from; the trusted commit
	Best   string `json:"best"`   // commit that is the best so far
	Image  string `json:"image"`  // sandbox image, once prepared

	Baseline *Score `json:"baseline,omitempty"` // nil until it is measured
	Current  *Score `json:"current,omitempty"`  // score of Best, from the evidence that kept it
	// Rates is the artifact of what is known of each problem on Best; Settled is
	// the last change whose evidence it includes.
	Rates   string `json:"rates"`
	Settled string `json:"settled"`
	Push    bool   `json:"push"`   // publish Best to Source when it ends
	Pushed  string `json:"pushed"` // commit that was last published to Source
	Brief   string `json:"brief"`  // artifact of the latest diagnosis

	Budget *Budget `json:"budget,omitempty"` // nil: as in Spec, nobody has changed it
	// Parent is the campaign that this one was forked from, and ForkedAt the commit
	// there that it began with; both empty for one that was not.
	Parent   string `json:"parent,omitempty"`
	ForkedAt string `json:"forked_at,omitempty"`

	Phase   string     `json:"phase"`             // for people
	Stopped StopReason `json:"stopped,omitempty"` // empty while it runs
	Detail  string     `json:"detail,omitempty"`  // why it stopped, for people
	Cost    Cost       `json:"cost"`
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// StopReason says why a campaign ended.
type StopReason string

const (
	StopScore       StopReason = "score"
	StopBudget      StopReason = "budget"
	StopStale       StopReason = "stale"
	StopGenerations StopReason = "generations"
	StopUser        StopReason = "user"
	StopError       StopReason = "error"
)

// Score sums up one or more runs of all problems.
type Score struct {
	Score    float64  `json:"score"` // mean over all problems, search and held-out
	Search   float64  `json:"search_score"`
	Heldout  float64  `json:"heldout_score"`
	Problems int      `json:"problems"`
	Passed   int      `json:"passed"` // problems that passed in every round
	Flaky    []string `json:"flaky"`  // problems whose outcome differed between rounds
	Failing  []string `json:"failing"`
}

// Cost is what something used up.
type Cost struct {
	Tokens        int64         `json:"tokens"` // of model calls, prompts and answers
	Money         float64       `json:"money"`  // of model calls, in the currency of the endpoints' prices
	Calls         int64         `json:"calls"`  // to models, failed ones too
	Wall          time.Duration `json:"wall"`
	Sandbox       time.Duration `json:"sandbox"`       // summed over sandboxes, so it may exceed Wall
	Orchestration time.Duration `json:"orchestration"` // wall time in which no sandbox, proposer or model call ran
}

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{
		Tokens: c.Tokens + d.Tokens, Money: c.Money + d.Money, Calls: c.Calls + d.Calls, Wall: c.Wall + d.Wall,
		Sandbox: c.Sandbox + d.Sandbox, Orchestration: c.Orchestration + d.Orchestration,
	}
}

// GenerationOutcome says how one turn of the loop ended.
type GenerationOutcome string

const (
	OutcomeKept     GenerationOutcome = "kept"
	OutcomeReverted GenerationOutcome = "reverted" // landed, measured, undone
	OutcomeRejected GenerationOutcome = "rejected" // candidates, but none passed the screen
	OutcomeNone     GenerationOutcome = "none"     // no candidate at all
	// OutcomePending is a generation whose change waits for a person; it is never final.
	OutcomePending GenerationOutcome = "pending"
)

// Generation is the stored record of one turn of the loop.
type Generation struct {
	Campaign     string            `json:"campaign"`
	N            int               `json:"n"` // from 1
	Outcome      GenerationOutcome `json:"outcome"`
	Hypothesis   string            `json:"hypothesis"`
	ExpectedGain float64           `json:"expected_gain"`
	RealisedGain float64           `json:"realised_gain"`
	Proposer     string            `json:"proposer"`
	Change       string            `json:"change"`
	Commit       string            `json:"commit"`
	RevertCommit string            `json:"revert_commit"`
	ParentCommit string            `json:"parent_commit"`
	ParentScore  float64           `json:"parent_score"`
	Score        float64           `json:"score"`
	Fixed        []string          `json:"fixed"`
	Broken       []string          `json:"broken"`
	Reason       string            `json:"reason"`
	EValue       float64           `json:"e_value"`
	Level        float64           `json:"level"`
	Rounds       int               `json:"rounds"`
	Candidates   int               `json:"candidates"`
	Screened     int               `json:"screened"`
	Cost         Cost              `json:"cost"`
	Started      time.Time         `json:"started"`
	Ended        time.Time         `json:"ended"`
}

// Candidate is a patch with its hypothesis.
type Candidate struct {
	// Key identifies the patch: a hash over its edits, the same on every run.
	Key          string   `json:"key"`
	Proposer     string   `json:"proposer"`
	Hypothesis   string   `json:"hypothesis"`    // one sentence a person can check
	ExpectedGain float64  `json:"expected_gain"` // in score over all problems, 0..1
	Targets      []string `json:"targets"`       // problems it should improve
	Edits        []Edit   `json:"edits"`
}

// AttemptStatus is where a candidate got to.
type AttemptStatus string

const (
	AttemptProposed AttemptStatus = "proposed"
	AttemptRefused  AttemptStatus = "refused" // by a patch gate, before any sandbox time
	AttemptFailed   AttemptStatus = "failed"  // screened, no gain
	AttemptTampered AttemptStatus = "tampered"
	AttemptPassed   AttemptStatus = "passed" // screened well; queued unless it is landed
	AttemptLanded   AttemptStatus = "landed"
	// AttemptSuperseded was queued and has been taken up again in a later generation.
	AttemptSuperseded AttemptStatus = "superseded"
)

// Attempt is the stored record of one candidate in one generation, without its
// edits: those are the artifact named by Patch.
type Attempt struct {
	Campaign     string        `json:"campaign"`
	Generation   int           `json:"generation"`
	Key          string        `json:"key"` // Candidate.Key
	Order        int           `json:"order"`
	ParentTree   string        `json:"parent_tree"`
	Proposer     string        `json:"proposer"`
	Hypothesis   string        `json:"hypothesis"`
	ExpectedGain float64       `json:"expected_gain"`
	Targets      []string      `json:"targets"`
	Patch        string        `json:"patch"` // artifact: JSON []Edit
	Status       AttemptStatus `json:"status"`
	Stage        string        `json:"stage"` // last screen stage that it reached
	Reason       string        `json:"reason"`
	Score        float64       `json:"score"` // over the search problems, when the last stage ran
	Fixed        []string      `json:"fixed"`
	Broken       []string      `json:"broken"`
	Sandbox      time.Duration `json:"sandbox"`
}

// Proposal is what was proposed for one generation.
type Proposal struct {
	Attempts []Attempt `json:"attempts"`
	Notes    []string  `json:"notes"` // for people: which proposer could not work, and why
	// Exhausted says that the budget had no room for another model call.
	Exhausted bool `json:"exhausted"`
}

// Judgement is what the results of one screen stage say of a candidate.
type Judgement struct {
	Pass   bool     `json:"pass"`
	Reason string   `json:"reason"` // for people, when not Pass
	Fixed  []string `json:"fixed"`  // did not pass on the parent, passes now
	Broken []string `json:"broken"` // passed on the parent, does not now
	// Again are the Broken for which one failure is too little to go by: they are run
	// once more, and judged anew with what they give then.
	Again []string `json:"again,omitempty"`
}
