package model

import "time"

// ChangeKind says what a change changes.
type ChangeKind string

const (
	ChangeCode   ChangeKind = "code"
	ChangeRule   ChangeKind = "rule"
	ChangeConfig ChangeKind = "config"
)

// ChangeState is a state in the one life cycle that all changes have:
//
//	proposed → approved | awaiting_approval → applied → on_probation → kept | rolled_back
//	awaiting_approval → approved | rejected;  on_probation → awaiting_approval → kept | rolled_back
//	before it is applied it may also be rejected, and after that rolled back, when its campaign is stopped
type ChangeState string

const (
	ChangeProposed   ChangeState = "proposed"
	ChangeAwaiting   ChangeState = "awaiting_approval"
	ChangeApproved   ChangeState = "approved"
	ChangeRejected   ChangeState = "rejected"
	ChangeApplied    ChangeState = "applied"
	ChangeProbation  ChangeState = "on_probation"
	ChangeKept       ChangeState = "kept"
	ChangeRolledBack ChangeState = "rolled_back"
)

// Final says that a change in this state never changes again.
func (s ChangeState) Final() bool {
	return s == ChangeRejected || s == ChangeKept || s == ChangeRolledBack
}

// Change is a landed candidate, or a rule or config change of a live agent.
type Change struct {
	ID         string      `json:"id"`
	Kind       ChangeKind  `json:"kind"`
	Campaign   string      `json:"campaign"`
	Generation int         `json:"generation"`
	Attempt    string      `json:"attempt"` // Attempt.Key
	Hypothesis string      `json:"hypothesis"`
	State      ChangeState `json:"state"`
	Parent     string      `json:"parent"` // commit it was made on
	Commit     string      `json:"commit"`
	Revert     string      `json:"revert_commit"`
	Patch      string      `json:"patch"` // artifact
	Deadline   *time.Time  `json:"deadline,omitempty"`
	Created    time.Time   `json:"created"`
	Updated    time.Time   `json:"updated"`
}

// ChangeEvent is one entry of a change's audit trail.
type ChangeEvent struct {
	Change string      `json:"change"`
	Seq    int         `json:"seq"` // from 1 in each change
	State  ChangeState `json:"state"`
	By     string      `json:"by"` // "ratchet", or the name of a person
	Why    string      `json:"why"`
	At     time.Time   `json:"at"`
}

// Decision is the verdict on a change.
type Decision string

const (
	DecisionKeep   Decision = "keep"
	DecisionRevert Decision = "revert"
)

// Receipt is the record of one decision: what was measured, what followed, and who decided.
type Receipt struct {
	Change       string      `json:"change"` // its id; one receipt a change
	Campaign     string      `json:"campaign"`
	Generation   int         `json:"generation"`
	Decision     Decision    `json:"decision"`
	Reason       string      `json:"reason"`
	DecidedBy    string      `json:"decided_by"` // "evidence", or the name of a person, or "deadline"
	Parent       string      `json:"parent"`
	Commit       string      `json:"commit"`
	RevertCommit string      `json:"revert_commit"`
	Patch        string      `json:"patch"` // unified diff
	Hypothesis   string      `json:"hypothesis"`
	EValue       float64     `json:"e_value"`
	Level        float64     `json:"level"`
	Confirmation int         `json:"confirmation"` // j, the count of confirmations in the campaign
	Rounds       int         `json:"rounds"`
	Claims       []ClaimData `json:"claims"`
	Suspects     []ClaimData `json:"suspects"` // problems that looked worse, repeated
	ParentScore  Score       `json:"parent_score"`
	Score        Score       `json:"score"`
	Fixed        []string    `json:"fixed"`
	Broken       []string    `json:"broken"`
	Cost         Cost        `json:"cost"`
	At           time.Time   `json:"at"`
}

// ClaimData is the evidence on one problem: its paired scores, round by round.
type ClaimData struct {
	Problem   string    `json:"problem"`
	Bet       float64   `json:"bet"`
	EValue    float64   `json:"e_value"`
	Parent    []float64 `json:"parent"`
	Candidate []float64 `json:"candidate"`
}

// Failure is an event from an agent in production, as stored.
type Failure struct {
	Seq      int64     `json:"seq"` // cursor: ascending in the order of arrival in the store
	ID       string    `json:"id"`  // CloudEvents id; unique with Source
	Source   string    `json:"source"`
	Agent    string    `json:"agent"` // hierarchy, slash-separated
	Repo     string    `json:"repo"`  // repository that the agent runs from; may be empty
	Task     string    `json:"task"`
	Expected string    `json:"expected_outcome"`
	Actual   string    `json:"actual_outcome"`
	Severity string    `json:"severity"` // low, medium, high, critical
	Context  []byte    `json:"context"`  // free JSON
	At       time.Time `json:"at"`
	Stored   time.Time `json:"stored"`
}
