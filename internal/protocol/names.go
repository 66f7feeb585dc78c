// Package protocol is what workflows, activities and clients agree on: names,
// queues, messages, search attributes and error types. Messages carry ids and
// counters only; what is large lies in the store or among the artifacts.
package protocol

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
)

// Task queues.
const (
	QueueMain    = "ratchet"         // workflows and short activities
	QueueSandbox = "ratchet-sandbox" // activities that use a sandbox
	QueueLLM     = "ratchet-llm"     // activities that call a model
)

// Workflow types.
const (
	CampaignWorkflow   = "Campaign"
	GenerationWorkflow = "Generation"
	ChangeWorkflow     = "Change"
)

// Signals are past tense, updates imperative, queries nouns.
const (
	SignalFailuresArrived = "FailuresArrived"
	SignalChangeAwaits    = "ChangeAwaitsApproval"
	SignalChangeSettled   = "ChangeSettled"

	UpdatePauseCampaign  = "PauseCampaign"
	UpdateResumeCampaign = "ResumeCampaign"
	UpdateStopCampaign   = "StopCampaign"
	UpdateHintCampaign   = "HintCampaign"
	UpdateChangeBudget   = "ChangeBudget"
	UpdateApproveChange  = "ApproveChange"
	UpdateRejectChange   = "RejectChange"

	QueryScoreboard = "Scoreboard"
)

// CampaignID is the workflow id of a campaign.
func CampaignID(name string) string { return "campaign/" + name }

// GenerationID is the workflow id of one generation.
func GenerationID(campaign string, n int) string {
	return fmt.Sprintf("campaign/%s/gen/%d", campaign, n)
}

// ChangeID is the workflow id of a change.
func ChangeID(id string) string { return "change/" + id }

// BranchRef is the ref that tells a campaign's story.
func BranchRef(campaign string) string { return "refs/heads/ratchet/" + campaign }

// BestRef is the ref of the best commit so far.
func BestRef(campaign string) string { return "refs/ratchet/" + campaign + "/best" }

// TrialRef holds a landed change until it is kept or reverted.
func TrialRef(campaign, change string) string {
	return "refs/ratchet/" + campaign + "/trial/" + change
}

// BranchName is BranchRef as people write it.
func BranchName(campaign string) string {
	return strings.TrimPrefix(BranchRef(campaign), "refs/heads/")
}

// Trailers of ratchet's commits.
const (
	TrailerChange     = "Ratchet-Change"
	TrailerCampaign   = "Ratchet-Campaign"
	TrailerGeneration = "Ratchet-Generation"
	TrailerReverts    = "Ratchet-Reverts"
)

// Search attributes of campaigns and generations.
var (
	AttrCampaign   = temporal.NewSearchAttributeKeyKeyword("RatchetCampaign")
	AttrRepo       = temporal.NewSearchAttributeKeyKeyword("RatchetRepo")
	AttrPhase      = temporal.NewSearchAttributeKeyKeyword("RatchetPhase")
	AttrGeneration = temporal.NewSearchAttributeKeyInt64("RatchetGeneration")
	AttrScore      = temporal.NewSearchAttributeKeyFloat64("RatchetScore")
	AttrBaseline   = temporal.NewSearchAttributeKeyFloat64("RatchetBaseline")
	AttrKept       = temporal.NewSearchAttributeKeyInt64("RatchetKept")
)
