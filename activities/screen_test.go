package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

func TestLimitsOfScreens(t *testing.T) {
	problems := []model.Problem{{ID: "a/fast"}, {ID: "a/slow"}}
	result := func(id string, o model.Outcome, wall time.Duration) model.Result {
		return model.Result{Problem: id, Outcome: o, Wall: wall}
	}
	for name, c := range map[string]struct {
		kind campaign.SuiteKind
		run  model.Run
		want time.Duration
	}{
		"at least a little": {campaign.SuiteGoTest, model.Run{Results: []model.Result{result("a/fast", model.Pass, time.Millisecond)}}, leastLimit},
		"the slowest": {campaign.SuiteGoTest, model.Run{Results: []model.Result{
			result("a/fast", model.Pass, time.Second), result("a/slow", model.Pass, 4*time.Second),
		}}, 40 * time.Second},
		"what failed says nothing":       {campaign.SuiteGoTest, model.Run{Results: []model.Result{result("a/slow", model.Timeout, 9*time.Second)}}, leastLimit},
		"another suite's says nothing":   {campaign.SuiteGoTest, model.Run{Results: []model.Result{result("b/slow", model.Pass, 9*time.Second)}}, leastLimit},
		"no more than the suite allows":  {campaign.SuiteGoTest, model.Run{Results: []model.Result{result("a/slow", model.Pass, 9*time.Second)}}, time.Minute},
		"a run says nothing of a test":   {campaign.SuiteGoTest, model.Run{Sandbox: 5 * time.Second}, leastLimit},
		"one command takes a whole run":  {campaign.SuiteJUnit, model.Run{Sandbox: 5 * time.Second, Results: []model.Result{result("a/fast", model.Pass, time.Millisecond)}}, 50 * time.Second},
		"and no more than it may at all": {campaign.SuiteJUnit, model.Run{Sandbox: 50 * time.Second}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			suite := campaign.Suite{Name: "a", Kind: c.kind, Timeout: campaign.Duration(time.Minute)}
			require.Equal(t, c.want, screenLimit(suite, problems, []store.StoredRun{{Run: model.Run{}}, {Run: c.run}}))
		})
	}
}
