package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
)

// spend asks until the budget is spent. Questions may fail before that.
func spend(ctx context.Context, book *ledger, name string) error {
	for n := range 300 {
		key := fmt.Sprintf("%s%d", name, n)
		if _, err := book.Call(ctx, key, question(key)); errors.Is(err, llm.ErrBudget) || ctx.Err() != nil {
			return err
		}
	}
	return errors.New("the budget has no end")
}

// Calls that stall are hedged up to the cap, which is overrun by what one call was
// misjudged at most, and every row is settled.
func TestHedgesKeepToTheBudget(t *testing.T) {
	const limit, bound = 8000, 100 // tokens of the campaign, and of an answer
	answer := llmtest.Say(strings.Repeat("word ", 2*bound))
	quick := server(t, answer)
	stalling := server(t, llmtest.Queue(append(llmtest.Repeat(6, answer), llmtest.Every(5, llmtest.Stall("word word", 1), answer))...))
	l := modelLab(t, stalling, func(c *campaign.Spec) {
		c.Budget.Tokens = limit
		c.Endpoints[0].Deadline.FirstToken, c.Endpoints[0].Deadline.Stall = campaign.Duration(6*time.Second), campaign.Duration(6*time.Second)
		other := c.Endpoints[0]
		other.Name, other.URL, other.Price.Output = "other", quick.V1(), 9e5
		c.Endpoints = append(c.Endpoints, other)
	})
	book := l.ledger(1)
	book.tell = func(string, ...any) {}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if err := spend(ctx, book, name); !errors.Is(err, llm.ErrBudget) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, book.failed())
	var missed int64
	hedged := 0
	for _, c := range l.calls() {
		require.NotEqual(t, model.CallReserved, c.Status, "%+v", c)
		missed = max(missed, c.Tokens()-bound) // all of an answer is likely
		if strings.Contains(c.Error, "answered first") {
			hedged++
		}
	}
	require.Positive(t, hedged)
	spent, err := l.store.Spent(ctx, l.spec.Name)
	require.NoError(t, err)
	require.LessOrEqual(t, spent.Tokens, limit+missed)
	require.Greater(t, spent.Tokens, int64(limit-2*bound), "the budget is used")
}
