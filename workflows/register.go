package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/protocol"
)

// Register adds every workflow to a worker.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Campaign, workflow.RegisterOptions{Name: protocol.CampaignWorkflow})
	r.RegisterWorkflowWithOptions(Generation, workflow.RegisterOptions{Name: protocol.GenerationWorkflow})
	r.RegisterWorkflowWithOptions(Change, workflow.RegisterOptions{Name: protocol.ChangeWorkflow})
}
