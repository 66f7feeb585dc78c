package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

// hidingSuite keeps the source of its held-out problems from proposers, as suites do.
type hidingSuite struct{ partsSuite }

func (hidingSuite) Hide(t model.Tree, held []model.Problem) (model.Tree, error) {
	return t.Without(func(path string) bool {
		for _, p := range held {
			if path == "tests/"+p.Package+".txt" {
				return true
			}
		}
		return false
	}), nil
}

// secretWord begins the names and the source of what no model may read of.
const secretWord = "zyxguard"

func hiddenLab(t *testing.T, s *llmtest.Server) *lab {
	t.Helper()
	l := newLab(t, func(c *campaign.Spec) {
		asking(c, s.V1(), false)
		c.Repo = repoOf(t, map[string]string{
			"p/a.txt": "bad\n", "p/b.txt": "bad\n", "tests/a.txt": "p/a must be good\n", "tests/b.txt": "p/b must be good\n",
			"tests/" + secretWord + ".txt": secretWord + " expects 42\n", "README.txt": "what it is\n",
		})
	}, func(c *Config) {
		c.Suites = func(campaign.Spec) ([]benchmarks.Suite, error) { return []benchmarks.Suite{hidingSuite{}}, nil }
	})
	l.spec.Name = "hidden"
	l.create(l.spec, model.Campaign{})
	l.baseline(l.spec.Name, "a", "b")
	require.NoError(t, l.store.SaveProblems(t.Context(), store.Fence{}, l.spec.Name, withSecrets(l)))
	return l
}

func withSecrets(l *lab) []model.Problem {
	all, err := l.store.Problems(l.t.Context(), l.spec.Name)
	require.NoError(l.t, err)
	for _, name := range []string{secretWord + "[1-x]", secretWord, secretWord + "/sub (y)"} {
		all = append(all, model.Problem{ID: "unit/" + name, Suite: "unit", Package: secretWord, Name: name, Split: model.SplitHeldout})
	}
	return all
}

// landed stores that the first attempt of a generation landed, and was reverted for what is held out.
func (l *lab) landed(generation int) {
	l.t.Helper()
	ctx, at := l.t.Context(), time.Unix(1_700_000_100, 0)
	row := l.attempts(generation)[0]
	row.Status = model.AttemptLanded
	require.NoError(l.t, l.store.UpdateAttempt(ctx, store.Fence{}, row))
	c := model.Change{
		ID: changeID(l.spec.Name, generation, row.Key), Kind: model.ChangeCode, Campaign: l.spec.Name, Generation: generation, Attempt: row.Key, Hypothesis: row.Hypothesis,
		State: model.ChangeProposed, Patch: row.Patch, Created: at, Updated: at,
	}
	require.NoError(l.t, l.store.CreateChange(ctx, store.Fence{}, c, byRatchet, "best"))
	state := model.ChangeProposed
	for _, next := range []model.ChangeState{model.ChangeApproved, model.ChangeApplied, model.ChangeProbation, model.ChangeRolledBack} {
		_, err := l.store.MoveChange(ctx, store.Fence{}, c.ID, []model.ChangeState{state}, next, byRatchet, "why", at, nil)
		require.NoError(l.t, err)
		state = next
	}
	var broken []string
	for _, p := range withSecrets(l)[2:] {
		broken = append(broken, p.ID)
	}
	tip, err := l.store.Campaign(ctx, l.spec.Name)
	require.NoError(l.t, err)
	require.NoError(l.t, l.store.SaveReceipt(ctx, store.Fence{}, model.Receipt{
		Change: c.ID, Campaign: l.spec.Name, Generation: generation, Decision: model.DecisionRevert, Hypothesis: row.Hypothesis, Confirmation: 1,
		Reason: "it makes " + broken[0] + ", " + broken[1] + " and " + broken[2] + " worse: " + broken[0], Broken: broken, Fixed: []string{"unit/a"}, Level: 0.01, At: at,
		Parent: tip.Base, Commit: tip.Base, RevertCommit: tip.Base, // the tree is as it was
	}))
}

// TestNoModelReadsOfWhatIsHeldOut looks for it in all that is asked in three
// activities: the questions of two generations, and the reflection between them on
// a change that was reverted for what is held out.
func TestNoModelReadsOfWhatIsHeldOut(t *testing.T) {
	s := server(t, llmtest.First(
		llmtest.When("look back on one generation").Then(llmtest.Say(lesson)), llmtest.Otherwise(llmtest.Queue(llmtest.Say(mend("a")), llmtest.Say(mend("b")))),
	))
	l := hiddenLab(t, s)
	_, err := l.propose(1)
	require.NoError(t, err)
	l.landed(1)
	require.NotEmpty(t, l.reflect(1).Learnt)
	_, err = l.propose(2)
	require.NoError(t, err)

	asked := s.Requests()
	require.GreaterOrEqual(t, len(asked), 5)
	for _, r := range asked {
		require.NotContains(t, string(r.Body), secretWord)
	}
	last := asked[len(asked)-1]
	require.True(t, last.Contains("tests/a.txt", unseen, "reverted", "look at part b"), "what may be told is told")
	require.NotContains(t, string(mustJSON(t, l.brief(l.diagnosed(3)))), secretWord, "nor does a brief have it")
}
