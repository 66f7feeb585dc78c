// Package agent is the loop of an agent that works with tools: it asks a model
// what to do, runs the tool that the model names, and hands the result back,
// until the model answers in plain text.
package agent

import (
	"context"
	"errors"
	"fmt"

	"agent/budget"
	"agent/toolcall"
	"agent/tools"
	"agent/transcript"
)

// ErrTooManySteps is returned when the model has not answered in time.
var ErrTooManySteps = errors.New("too many steps")

// Model answers a conversation.
type Model interface {
	Answer(ctx context.Context, messages []transcript.Message) (string, error)
}

// Agent answers questions. Its fields are read only.
type Agent struct {
	Model  Model
	Tools  *tools.Set
	Window int // tokens that the model reads at once
	Steps  int // most answers of the model for one question
	System string
}

// Ask answers one question, within what the ledger allows.
func (a *Agent) Ask(ctx context.Context, question string, ledger *budget.Ledger) (string, error) {
	messages := []transcript.Message{message(transcript.System, a.System), message(transcript.User, question)}
	for range a.Steps {
		answer, err := a.answer(ctx, messages, ledger)
		if err != nil {
			return "", err
		}
		call, err := toolcall.Parse(answer)
		if err != nil {
			return answer, nil
		}
		messages = append(messages,
			message(transcript.Assistant, answer),
			message(transcript.Tool, a.run(ctx, call)))
	}
	return "", fmt.Errorf("%w: %d", ErrTooManySteps, a.Steps)
}

// answer asks the model once and settles what that cost.
func (a *Agent) answer(ctx context.Context, messages []transcript.Message, ledger *budget.Ledger) (string, error) {
	visible := transcript.Fit(messages, a.Window)
	cost := transcript.Tokens(visible)
	if err := ledger.Reserve(cost); err != nil {
		return "", err
	}
	answer, err := a.Model.Answer(ctx, visible)
	ledger.Settle(cost, cost)
	if err != nil {
		return "", fmt.Errorf("ask the model: %w", err)
	}
	return answer, nil
}

// run runs a tool; that it failed is something for the model to know.
func (a *Agent) run(ctx context.Context, call toolcall.Call) string {
	result, err := a.Tools.Run(ctx, call.Name, call.Args)
	if err != nil {
		return "error: " + err.Error()
	}
	return result
}

func message(role transcript.Role, text string) transcript.Message {
	return transcript.Message{Role: role, Text: text, Tokens: budget.Estimate(text)}
}
