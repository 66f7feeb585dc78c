package trial

import (
	"context"
	"fmt"
	"testing"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// steady is a bench without noise or work: what is left is the cost of deciding.
type steady struct {
	score, value float64
}

func (s steady) Run(_ context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	run := model.Run{Results: make([]model.Result, len(problems))}
	for i, p := range problems {
		run.Results[i] = model.Result{Problem: p.ID, Outcome: model.Pass, Score: s.score, Value: s.value}
	}
	return run, nil
}

// What a confirmation costs without its runs, of a test that is mended and of a
// metric that is halved, in turns: ratio is that of metrics to tests.
func BenchmarkConfirm(b *testing.B) {
	confirm := func(ps []model.Problem) {
		in := ConfirmInput{Problems: ps, Claims: []decision.Claim{{Problem: ps[0].ID, Bet: fixBet}}, Level: 0.001}
		v, err := Confirm(context.Background(), steady{0, 100}, steady{1, 50}, in, nil)
		if err != nil || !v.Keep || v.Rounds != 11 {
			b.Fatal(v.Status, v.Rounds, err)
		}
	}
	var tests, metrics []model.Problem
	for i := range 20 {
		tests = append(tests, model.Problem{ID: fmt.Sprint("t", i)})
		metrics = append(metrics, metric(fmt.Sprint("m", i), model.BetterLower))
	}
	var of [2]float64
	for b.Loop() {
		for i, ps := range [][]model.Problem{tests, metrics} {
			before := b.Elapsed()
			confirm(ps)
			of[i] += float64(b.Elapsed() - before)
		}
	}
	b.ReportMetric(of[1]/of[0], "ratio")
}
