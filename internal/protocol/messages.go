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
}

// ChangeInput starts the life of a change.
type ChangeInput struct {
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
