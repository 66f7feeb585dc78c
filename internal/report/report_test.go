package report

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestCostOfGenerationsAndOfKeptChanges(t *testing.T) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	row := model.Campaign{Name: "c", Created: created, Cost: model.Cost{Wall: time.Minute, Sandbox: 20 * time.Second}}
	turn := func(n int, o model.GenerationOutcome, tokens int64, money float64) model.Generation {
		return model.Generation{N: n, Outcome: o, Cost: model.Cost{Tokens: tokens, Money: money, Calls: 3, Wall: time.Minute, Sandbox: 30 * time.Second, Orchestration: time.Second}}
	}
	gens := []model.Generation{turn(1, model.OutcomeKept, 100, 0.5), turn(2, model.OutcomeRejected, 200, 1), turn(3, model.OutcomeKept, 300, 1.5)}
	spent := model.Cost{Tokens: 700, Money: 4, Calls: 10} // a generation is under way
	r := From(row, gens, spent, created.Add(10*time.Minute))
	require.Equal(t, TurnCost{Tokens: 200, Money: 1, Calls: 3, WallSeconds: 60, SandboxSeconds: 30}, r.Generations[1].Cost)
	require.Equal(t, Cost{
		Tokens: 700, Money: 4, Calls: 10, WallSeconds: 600, SandboxSeconds: 110, OrchestrationSeconds: 600 - 3*59 - 60,
		PerKept: &PerKept{Tokens: 350, Money: 2, SandboxSeconds: 55},
	}, r.Cost)

	none, err := json.Marshal(From(row, gens[1:2], model.Cost{}, created))
	require.NoError(t, err)
	require.NotContains(t, string(none), "per_kept", "nothing is divided by nothing")
}
