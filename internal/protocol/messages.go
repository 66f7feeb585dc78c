package protocol

import (
	"time"

	"ratchet/internal/model"
)

// Span is a stretch of wall time in which a sandbox or a proposer was at work.
type Span struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// CampaignInput starts a campaign, or its next run after continue-as-new.
type CampaignInput struct {
	Name  string `json:"name"`
	Turns int    `json:"turns,omitempty"` // end after this many generations; 0 for no such limit
	Carry *Carry `json:"carry,omitempty"`
}

// Carry is what a campaign takes along when it continues as new. All else is
// read again from the store, which holds the truth.
type Carry struct {
	Paused        bool     `json:"paused,omitempty"`
	FailureCursor int64    `json:"failure_cursor,omitempty"`
	Coverage      TreeNote `json:"coverage"`
	Turns         int      `json:"turns,omitempty"` // generations done since the campaign was started
	// Fresh is the generation that was next when failures, a hint or a larger budget
	// came last: generations that kept nothing count from there.
	Fresh int    `json:"fresh,omitempty"`
	Hint  string `json:"hint,omitempty"` // the last one, in short, for the scoreboard
}

// TreeNote is an artifact that was made for the tree of one commit.
type TreeNote struct {
	Tree   string `json:"tree,omitempty"`
	Commit string `json:"commit,omitempty"`
	Ref    string `json:"ref,omitempty"`
}

// CampaignResult is how a campaign ended.
type CampaignResult struct {
	Stopped model.StopReason `json:"stopped"`
	Detail  string           `json:"detail"`
	Kept    int              `json:"kept"`
	Score   float64          `json:"score"`
}

// Scoreboard answers QueryScoreboard.
type Scoreboard struct {
	Campaign   string           `json:"campaign"`
	Phase      string           `json:"phase"`
	Generation int              `json:"generation"`
	Baseline   float64          `json:"baseline"`
	Score      float64          `json:"score"`
	Kept       int              `json:"kept"`
	Reverted   int              `json:"reverted"`
	Rejected   int              `json:"rejected"`
	Paused     bool             `json:"paused"`
	Waiting    string           `json:"waiting,omitempty"` // change that waits for a person
	Model      bool             `json:"model,omitempty"`   // a proposer calls a model
	Budget     model.Budget     `json:"budget"`
	Spent      model.Budget     `json:"spent"`          // of the same, without wall time
	Hint       string           `json:"hint,omitempty"` // the last one, in short
	Recent     []GenerationNote `json:"recent"`
}

// GenerationNote is one line of a scoreboard.
type GenerationNote struct {
	N          int                     `json:"n"`
	Outcome    model.GenerationOutcome `json:"outcome"`
	Hypothesis string                  `json:"hypothesis"`
	Before     float64                 `json:"before"`
	After      float64                 `json:"after"`
	Reason     string                  `json:"reason"`
	Proposer   string                  `json:"proposer,omitempty"` // that wrote what was tried; empty in older notes
}

// GenerationInput starts one turn of the loop.
type GenerationInput struct {
	Campaign   string   `json:"campaign"`
	N          int      `json:"n"`
	Candidates int      `json:"candidates"`
	Parallel   int      `json:"parallel"`
	Proposers  []string `json:"proposers"`
	Coverage   TreeNote `json:"coverage"`
	Approval   Approval `json:"approval"`
	// Model says that a proposer calls a model: the slow activities of models run
	// on their own queue, and each turn ends with a reflection.
	Model bool `json:"model,omitempty"`
}

// Approval says who decides on a proven change, and what happens without an answer.
type Approval struct {
	Person   bool           `json:"person,omitempty"`
	Deadline time.Duration  `json:"deadline,omitempty"`
	Then     model.Decision `json:"then,omitempty"`
}

// GenerationResult is what a campaign needs to know of a turn.
type GenerationResult struct {
	Outcome  model.GenerationOutcome `json:"outcome"`
	Change   string                  `json:"change,omitempty"`
	Note     GenerationNote          `json:"note"`
	Score    float64                 `json:"score"`
	Coverage TreeNote                `json:"coverage"`
	Sandbox  time.Duration           `json:"sandbox"`
	// Tokens and Money are what the campaign has spent on models so far, and
	// Exhausted says that its budget has no room for another call.
	Tokens    int64   `json:"tokens,omitempty"`
	Money     float64 `json:"money,omitempty"`
	Exhausted bool    `json:"exhausted,omitempty"`
}

// ChangeInput starts the life of a change. Proposers may never decide on it.
type ChangeInput struct {
	Proposers  []string `json:"proposers,omitempty"`
	ID         string   `json:"id"`
	Campaign   string   `json:"campaign"`
	Generation int      `json:"generation"`
	Approval   Approval `json:"approval"`
}

// ChangeResult is how a change ended, and what it cost.
type ChangeResult struct {
	State   model.ChangeState `json:"state"`
	Spans   []Span            `json:"spans"`
	Sandbox time.Duration     `json:"sandbox"`
}

// ChangeAwaits tells a generation that its change now waits for a person.
type ChangeAwaits struct {
	ID      string        `json:"id"`
	Spans   []Span        `json:"spans"`
	Sandbox time.Duration `json:"sandbox"`
}

// ChangeSettled tells a campaign that a change which waited is decided.
type ChangeSettled struct {
	ID    string            `json:"id"`
	State model.ChangeState `json:"state"`
}

// FailuresArrived tells a campaign that matching failures are stored up to Cursor.
type FailuresArrived struct {
	Cursor int64 `json:"cursor"`
}

// Verdict is a person's answer to a change.
type Verdict struct {
	By  string `json:"by"`
	Why string `json:"why"`
}

// Hint is a person's advice to the proposers of a campaign.
type Hint struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

// BudgetChange sets new limits; nil leaves one as it is, 0 takes one away.
type BudgetChange struct {
	By      string         `json:"by"`
	Why     string         `json:"why"`
	Wall    *time.Duration `json:"wall,omitempty"`
	Sandbox *time.Duration `json:"sandbox,omitempty"`
	Tokens  *int64         `json:"tokens,omitempty"`
	Money   *float64       `json:"money,omitempty"`
}
