package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent/budget"
	"agent/tools"
	"agent/transcript"
)

// script is a model that gives its answers in turn and keeps what it was shown.
type script struct {
	answers []string
	seen    [][]transcript.Message
}

func (s *script) Answer(_ context.Context, messages []transcript.Message) (string, error) {
	s.seen = append(s.seen, messages)
	if len(s.answers) < len(s.seen) {
		return "", errors.New("nothing to say")
	}
	return s.answers[len(s.seen)-1], nil
}

func newAgent(answers ...string) (*Agent, *script) {
	model := &script{answers: answers}
	set := &tools.Set{}
	set.Add("echo", func(_ context.Context, args map[string]string) (string, error) { return args["text"], nil })
	return &Agent{Model: model, Tools: set, Window: 1000, Steps: 3, System: "Be brief."}, model
}

func TestAskWithoutTools(t *testing.T) {
	a, _ := newAgent("42.")
	got, err := a.Ask(context.Background(), "What is it?", budget.NewLedger(1000))
	if err != nil || got != "42." {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAskRunsATool(t *testing.T) {
	a, model := newAgent(`echo(text="hello")`, "It said hello.")
	got, err := a.Ask(context.Background(), "What does it say?", budget.NewLedger(1000))
	if err != nil || got != "It said hello." {
		t.Fatalf("got %q, %v", got, err)
	}
	last := model.seen[1][len(model.seen[1])-1]
	if last.Role != transcript.Tool || last.Text != "hello" {
		t.Errorf("the model was shown %v", last)
	}
}

func TestAskReportsFailedTools(t *testing.T) {
	a, model := newAgent("echoes(text=x)", "Sorry.")
	if _, err := a.Ask(context.Background(), "What?", budget.NewLedger(1000)); err != nil {
		t.Fatal(err)
	}
	last := model.seen[1][len(model.seen[1])-1]
	if !strings.Contains(last.Text, `did you mean "echo"?`) {
		t.Errorf("the model was shown %q", last.Text)
	}
}

func TestAskStopsAfterItsSteps(t *testing.T) {
	a, model := newAgent("echo(text=a)", "echo(text=b)", "echo(text=c)", "done")
	_, err := a.Ask(context.Background(), "What?", budget.NewLedger(1000))
	if !errors.Is(err, ErrTooManySteps) || len(model.seen) != 3 {
		t.Errorf("got %v after %d steps", err, len(model.seen))
	}
}

func TestAskStopsAtItsBudget(t *testing.T) {
	a, model := newAgent("echo(text=a)", "done")
	_, err := a.Ask(context.Background(), "What?", budget.NewLedger(8))
	if !errors.Is(err, budget.ErrExhausted) || len(model.seen) != 1 {
		t.Errorf("got %v after %d steps", err, len(model.seen))
	}
}

func TestAskReportsTheModelsErrors(t *testing.T) {
	a, _ := newAgent()
	if _, err := a.Ask(context.Background(), "What?", budget.NewLedger(1000)); err == nil {
		t.Error("got no error")
	}
}
