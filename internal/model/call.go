package model

import "time"

// CallStatus is where a model call got to.
type CallStatus string

const (
	// CallReserved is in flight: what it may cost counts as spent.
	CallReserved CallStatus = "reserved"
	// CallAnswered has an answer, which is used again when the same call is asked for.
	CallAnswered CallStatus = "answered"
	CallFailed   CallStatus = "failed"
	// CallLost was in flight when its process ended. What it may have cost counts
	// as spent, until somebody who knows better settles it.
	CallLost CallStatus = "lost"
)

// Call is one attempt to have a model answer: one request to one endpoint.
type Call struct {
	ID         string     `json:"id"`
	Campaign   string     `json:"campaign"`
	Generation int        `json:"generation"`
	Proposer   string     `json:"proposer"`
	Key        string     `json:"key"` // what was asked for: equal keys mean the same question
	Endpoint   string     `json:"endpoint"`
	Model      string     `json:"model"`
	Status     CallStatus `json:"status"`
	// Tokens and Money are what it cost; while it is reserved or lost, what it is likely to.
	Input  int64   `json:"input_tokens"`
	Cached int64   `json:"cached_tokens"` // of the input
	Output int64   `json:"output_tokens"`
	Money  float64 `json:"money"` // in the currency of the endpoint's price
	// MostTokens and MostMoney bound what it can cost.
	MostTokens int64     `json:"most_tokens"`
	MostMoney  float64   `json:"most_money"`
	Answer     string    `json:"answer,omitempty"` // artifact: the text
	Cut        bool      `json:"cut,omitempty"`    // the answer ended at its length limit
	Error      string    `json:"error,omitempty"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended"` // zero while it is in flight
}

// Tokens is the sum of prompt and answer.
func (c Call) Tokens() int64 { return c.Input + c.Output }

// Budget is what a campaign may use; 0 is no limit.
type Budget struct {
	Wall    time.Duration `json:"wall,omitempty"`
	Sandbox time.Duration `json:"sandbox,omitempty"`
	Tokens  int64         `json:"tokens,omitempty"`
	Money   float64       `json:"money,omitempty"`
}

// Reflection is what was learnt from one generation. Its texts come from a model
// that has read untrusted text, so they are untrusted too.
type Reflection struct {
	Campaign   string    `json:"campaign"`
	Generation int       `json:"generation"`
	Proposer   string    `json:"proposer"`
	Task       string    `json:"task"`    // what was tried, in short
	Outcome    string    `json:"outcome"` // of the generation
	Worked     string    `json:"worked"`
	Failed     string    `json:"failed"`
	Surprised  string    `json:"surprised"`
	Learn      string    `json:"learn"` // what is still to learn
	At         time.Time `json:"at"`
}

// CampaignEventKind says what a person did to a campaign.
type CampaignEventKind string

const (
	EventPaused  CampaignEventKind = "paused"
	EventResumed CampaignEventKind = "resumed"
	EventStopped CampaignEventKind = "stopped"
	EventHint    CampaignEventKind = "hint"
	EventBudget  CampaignEventKind = "budget"
	EventForked  CampaignEventKind = "forked"
)

// CampaignEvent is one entry of a campaign's audit trail.
type CampaignEvent struct {
	Campaign string            `json:"campaign"`
	Seq      int               `json:"seq"` // from 1 in each campaign
	Key      string            `json:"-"`   // unique in the campaign: the same request again is the same event
	Kind     CampaignEventKind `json:"kind"`
	By       string            `json:"by"`   // name of the person
	Why      string            `json:"why"`  // the person's words
	Text     string            `json:"text"` // of a hint; what a budget was and is
	At       time.Time         `json:"at"`
}

// ProposerRecord is what one proposer has achieved in a campaign, and at what cost.
type ProposerRecord struct {
	Proposer   string        `json:"proposer"`
	Candidates int           `json:"candidates"` // attempts, with those that the gates refused
	Passed     int           `json:"passed"`     // that passed the screen, whatever became of them
	Kept       int           `json:"kept"`
	Gain       float64       `json:"gain"`    // sum of the realised gains of what was kept, in score
	Sandbox    time.Duration `json:"sandbox"` // spent on screening its candidates
	Tokens     int64         `json:"tokens"`
	Money      float64       `json:"money"`
}
