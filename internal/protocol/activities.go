package protocol

import (
	"time"

	"ratchet/internal/model"
)

// Activity types: VerbNoun, each with one Input and one Result.
const (
	OpenCampaign      = "OpenCampaign"
	PrepareTarget     = "PrepareTarget"
	MeasureBaseline   = "MeasureBaseline"
	DiagnoseWeakness  = "DiagnoseWeakness"
	ProposeCandidates = "ProposeCandidates"
	ScreenCandidates  = "ScreenCandidates"
	SelectCandidate   = "SelectCandidate"
	LandChange        = "LandChange"
	ConfirmChange     = "ConfirmChange"
	RequestApproval   = "RequestApproval"
	KeepChange        = "KeepChange"
	RevertChange      = "RevertChange"
	ReflectGeneration = "ReflectGeneration"
	RecordGeneration  = "RecordGeneration"
	FinishCampaign    = "FinishCampaign"
	SteerCampaign     = "SteerCampaign"
)

// OpenCampaignInput names the campaign; its row exists.
type OpenCampaignInput struct {
	Campaign string `json:"campaign"`
}

// OpenCampaignResult is the state that a campaign's workflow drives on.
type OpenCampaignResult struct {
	Repo        string           `json:"repo"` // as given by the user, for people
	Base        string           `json:"base"`
	Generations int              `json:"generations"` // at most
	Candidates  int              `json:"candidates"`
	Parallel    int              `json:"parallel"`
	Proposers   []string         `json:"proposers"`
	StopScore   float64          `json:"stop_score"`
	StopStale   int              `json:"stop_stale"`
	BudgetWall  time.Duration    `json:"budget_wall"`
	BudgetSand  time.Duration    `json:"budget_sandbox"`
	BudgetToken int64            `json:"budget_tokens,omitempty"`
	BudgetMoney float64          `json:"budget_money,omitempty"`
	Model       bool             `json:"model,omitempty"`  // a proposer calls a model
	Paused      bool             `json:"paused,omitempty"` // a person has paused it
	Approval    Approval         `json:"approval"`
	Next        int              `json:"next"` // number of the next generation
	Stale       int              `json:"stale"`
	Kept        int              `json:"kept"`
	Reverted    int              `json:"reverted"`
	Rejected    int              `json:"rejected"`
	Measured    bool             `json:"measured"` // the baseline is stored
	Baseline    float64          `json:"baseline"`
	Score       float64          `json:"score"`
	Failing     int              `json:"failing"`
	Flaky       int              `json:"flaky,omitempty"`   // problems that pass sometimes
	Metrics     int              `json:"metrics,omitempty"` // problems that are numbers, which can always improve
	Cost        model.Cost       `json:"cost"`
	Created     time.Time        `json:"created"`
	Waiting     *ChangeInput     `json:"waiting,omitempty"` // change that waits for a person
	Recent      []GenerationNote `json:"recent"`
	Stopped     model.StopReason `json:"stopped,omitempty"`
	Notes       []string         `json:"notes,omitempty"` // what was repaired on opening
}

// PrepareTargetInput asks for the campaign's sandbox image.
type PrepareTargetInput struct {
	Campaign string `json:"campaign"`
}

// PrepareTargetResult names the image.
type PrepareTargetResult struct {
	Image string `json:"image"`
	Spans []Span `json:"spans"`
}

// MeasureBaselineInput asks for the baseline.
type MeasureBaselineInput struct {
	Campaign string        `json:"campaign"`
	Busy     time.Duration `json:"busy"` // spent on the image before, by sandboxes
}

// MeasureBaselineResult sums up the baseline.
type MeasureBaselineResult struct {
	Score    float64       `json:"score"`
	Problems int           `json:"problems"`
	Passed   int           `json:"passed"`
	Failing  int           `json:"failing"`
	Flaky    int           `json:"flaky"`
	Heldout  int           `json:"heldout"`
	Warnings []string      `json:"warnings,omitempty"`
	Spans    []Span        `json:"spans"`
	Sandbox  time.Duration `json:"sandbox"`
}

// DiagnoseWeaknessInput asks for the brief of a generation.
type DiagnoseWeaknessInput struct {
	Campaign   string   `json:"campaign"`
	Generation int      `json:"generation"`
	Coverage   TreeNote `json:"coverage"`
}

// DiagnoseWeaknessResult names the brief.
type DiagnoseWeaknessResult struct {
	Brief   string `json:"brief"` // artifact: JSON of diagnose.Brief
	Parent  string `json:"parent"`
	Summary string `json:"summary"` // for people
	// Change is set when an earlier run of this generation has landed one, and
	// Settled when that is decided: then only what is left of the turn is done.
	Change   string        `json:"change,omitempty"`
	Settled  bool          `json:"settled,omitempty"`
	Coverage TreeNote      `json:"coverage"`
	Spans    []Span        `json:"spans"`
	Sandbox  time.Duration `json:"sandbox"`
}

// ProposeCandidatesInput asks proposers for candidates.
type ProposeCandidatesInput struct {
	Campaign   string `json:"campaign"`
	Generation int    `json:"generation"`
	Brief      string `json:"brief"`
	Candidates int    `json:"candidates"`
}

// ProposeCandidatesResult counts them; they are attempts in the store.
type ProposeCandidatesResult struct {
	Candidates int    `json:"candidates"`
	Refused    int    `json:"refused"`
	Spans      []Span `json:"spans"`
	// Exhausted says that the budget has no room for another model call.
	Exhausted bool `json:"exhausted,omitempty"`
	// Notes are remarks for people: which proposer could not work, and why.
	Notes []string `json:"notes,omitempty"`
}

// ScreenCandidatesInput asks for one shard of the generation's attempts.
type ScreenCandidatesInput struct {
	Campaign   string `json:"campaign"`
	Generation int    `json:"generation"`
	Shard      int    `json:"shard"`
	Shards     int    `json:"shards"`
}

// ScreenCandidatesResult counts what was screened.
type ScreenCandidatesResult struct {
	Screened int           `json:"screened"`
	Passed   int           `json:"passed"`
	Spans    []Span        `json:"spans"`
	Sandbox  time.Duration `json:"sandbox"`
}

// SelectCandidateInput asks for the best attempt to be made a change.
type SelectCandidateInput struct {
	Campaign   string    `json:"campaign"`
	Generation int       `json:"generation"`
	Now        time.Time `json:"now"` // the workflow's clock: it dates the commit
}

// SelectCandidateResult names the change; empty when nothing passed the screen.
type SelectCandidateResult struct {
	Change     string `json:"change,omitempty"`
	Hypothesis string `json:"hypothesis,omitempty"`
}

// LandChangeInput asks for the change's commit on the branch.
type LandChangeInput struct {
	Change string `json:"change"`
}

// LandChangeResult names the commit.
type LandChangeResult struct {
	Commit string `json:"commit"`
}

// ConfirmChangeInput asks for fresh evidence on a landed change.
type ConfirmChangeInput struct {
	Change string `json:"change"`
}

// ConfirmChangeResult is the verdict in short; Verdict names it whole.
type ConfirmChangeResult struct {
	Keep    bool   `json:"keep"`
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"` // artifact: JSON of trial.Verdict
	// Decided names who has decided on the change before, and so recorded it.
	Decided string        `json:"decided,omitempty"`
	Rounds  int           `json:"rounds"`
	EValue  float64       `json:"e_value"`
	Level   float64       `json:"level"`
	Spans   []Span        `json:"spans"`
	Sandbox time.Duration `json:"sandbox"`
}

// RequestApprovalInput moves a proven change to the state in which it waits.
type RequestApprovalInput struct {
	Change   string    `json:"change"`
	Deadline time.Time `json:"deadline"`
	Now      time.Time `json:"now"`
}

// RequestApprovalResult holds the deadline that counts: the first one recorded.
type RequestApprovalResult struct {
	Deadline time.Time `json:"deadline"`
}

// SettleChangeInput asks for a change to be kept or reverted.
type SettleChangeInput struct {
	Change  string    `json:"change"`
	Verdict string    `json:"verdict,omitempty"` // artifact; empty when there is no evidence
	By      string    `json:"by"`                // "evidence", a person, "deadline", "stop"
	Why     string    `json:"why"`
	Now     time.Time `json:"now"`
}

// SettleChangeResult names the commit that the branch ends with.
type SettleChangeResult struct {
	State model.ChangeState `json:"state"`
	Tip   string            `json:"tip"`
}

// RecordGenerationInput closes a generation's row from what the store knows of it.
type RecordGenerationInput struct {
	Campaign   string        `json:"campaign"`
	Generation int           `json:"generation"`
	Started    time.Time     `json:"started"`
	Ended      time.Time     `json:"ended"`
	Busy       time.Duration `json:"busy"` // wall time in which a sandbox or proposer was at work
	Sandbox    time.Duration `json:"sandbox"`
	Pending    bool          `json:"pending,omitempty"` // its change waits for a person
	Reason     string        `json:"reason,omitempty"`  // used when the store holds none
}

// RecordGenerationResult is the row in short.
type RecordGenerationResult struct {
	Note  GenerationNote          `json:"note"`
	State model.GenerationOutcome `json:"state"`
	Score float64                 `json:"score"`
	// Tokens and Money are what the campaign has spent on models so far.
	Tokens int64   `json:"tokens,omitempty"`
	Money  float64 `json:"money,omitempty"`
}

// ReflectGenerationInput asks for the reflection on a turn that is decided, or
// whose change waits for a person.
type ReflectGenerationInput struct {
	Campaign   string    `json:"campaign"`
	Generation int       `json:"generation"`
	Brief      string    `json:"brief"`
	Now        time.Time `json:"now"`
}

// ReflectGenerationResult says what was learnt, in one line; empty when there was
// no answer, which is never an error.
type ReflectGenerationResult struct {
	Learnt string `json:"learnt,omitempty"`
	Spans  []Span `json:"spans"`
}

// SteerCampaignInput writes what a person did into the campaign's audit trail. Key
// is the update's id: the same again changes nothing.
type SteerCampaignInput struct {
	Campaign string                  `json:"campaign"`
	Key      string                  `json:"key"`
	Kind     model.CampaignEventKind `json:"kind"`
	By       string                  `json:"by"`
	Why      string                  `json:"why,omitempty"`
	Text     string                  `json:"text,omitempty"`
	Budget   *BudgetChange           `json:"budget,omitempty"`
	Now      time.Time               `json:"now"`
}

// SteerCampaignResult holds the budget that counts now.
type SteerCampaignResult struct {
	Budget model.Budget `json:"budget"`
}

// FinishCampaignInput ends a campaign's row and writes its report.
type FinishCampaignInput struct {
	Campaign string           `json:"campaign"`
	Stopped  model.StopReason `json:"stopped"`
	Detail   string           `json:"detail"`
	Now      time.Time        `json:"now"`
}
