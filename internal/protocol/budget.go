package protocol

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ratchet/internal/model"
)

// Empty says that it sets no limit.
func (b BudgetChange) Empty() bool {
	return b.Wall == nil && b.Sandbox == nil && b.Tokens == nil && b.Money == nil
}

// Check says what is wrong with a change of the budget of a campaign that has
// spent this much; nil when nothing is. A limit of 0 takes one away.
func (b BudgetChange) Check(spent model.Budget) error {
	if b.Empty() {
		return errors.New("a budget needs at least one limit: wall, sandbox, tokens or cost")
	}
	if err := b.checkSigns(); err != nil {
		return err
	}
	below := func(what string, limit, used any) error {
		return fmt.Errorf("the budget of %s cannot be %v: %v are spent already (give more, or 0 for no limit)", what, limit, used)
	}
	switch {
	case b.Wall != nil && *b.Wall > 0 && *b.Wall < spent.Wall:
		return below("wall time", duration(*b.Wall), duration(spent.Wall.Round(time.Second)))
	case b.Sandbox != nil && *b.Sandbox > 0 && *b.Sandbox < spent.Sandbox:
		return below("sandbox time", duration(*b.Sandbox), duration(spent.Sandbox.Round(time.Second)))
	case b.Tokens != nil && *b.Tokens > 0 && *b.Tokens < spent.Tokens:
		return below("tokens", *b.Tokens, spent.Tokens)
	case b.Money != nil && *b.Money > 0 && *b.Money < spent.Money:
		return below("cost", amount(*b.Money), amount(spent.Money))
	}
	return nil
}

func (b BudgetChange) checkSigns() error {
	switch {
	case b.Wall != nil && *b.Wall < 0:
		return fmt.Errorf("the budget of wall time is %v: it cannot be negative", *b.Wall)
	case b.Sandbox != nil && *b.Sandbox < 0:
		return fmt.Errorf("the budget of sandbox time is %v: it cannot be negative", *b.Sandbox)
	case b.Tokens != nil && *b.Tokens < 0:
		return fmt.Errorf("the budget of tokens is %d: it cannot be negative", *b.Tokens)
	case b.Money != nil && (*b.Money < 0 || math.IsNaN(*b.Money) || math.IsInf(*b.Money, 0)):
		return fmt.Errorf("the budget of cost is %v: it is a number from 0", *b.Money)
	}
	return nil
}

// Apply returns the budget with the change made.
func (b BudgetChange) Apply(to model.Budget) model.Budget {
	if b.Wall != nil {
		to.Wall = *b.Wall
	}
	if b.Sandbox != nil {
		to.Sandbox = *b.Sandbox
	}
	if b.Tokens != nil {
		to.Tokens = *b.Tokens
	}
	if b.Money != nil {
		to.Money = *b.Money
	}
	return to
}

// Reached names the first limit that is reached and says how; empty when none is.
func Reached(limit model.Budget, spent model.Budget) string {
	switch {
	case limit.Wall > 0 && spent.Wall >= limit.Wall:
		return fmt.Sprintf("the wall time budget of %s is used up", duration(limit.Wall))
	case limit.Sandbox > 0 && spent.Sandbox >= limit.Sandbox:
		return fmt.Sprintf("the sandbox time budget of %s is used up", duration(limit.Sandbox))
	case limit.Tokens > 0 && spent.Tokens >= limit.Tokens:
		return fmt.Sprintf("the budget of %d tokens is used up: %d are spent", limit.Tokens, spent.Tokens)
	case limit.Money > 0 && spent.Money >= limit.Money:
		return fmt.Sprintf("the cost budget of %s is used up: %s are spent", amount(limit.Money), amount(spent.Money))
	}
	return ""
}

// NoRoom says of a campaign whose budget has no room for another model call which
// limits there are.
func NoRoom(limit model.Budget, spent model.Budget) string {
	tokens := fmt.Sprintf("%d of %d tokens", spent.Tokens, limit.Tokens)
	money := fmt.Sprintf("%s of the cost of %s", amount(spent.Money), amount(limit.Money))
	const rest = ", and what is left has no room for another model call"
	switch {
	case limit.Tokens > 0 && limit.Money > 0:
		return "spent are " + tokens + " and " + money + rest
	case limit.Money > 0:
		return "spent are " + money + rest
	}
	return "spent are " + tokens + rest
}

// duration writes a time without the units that are zero at its end.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// amount writes money with as many digits as it needs.
func amount(x float64) string { return fmt.Sprintf("%.4g", x) }

// RaiseHint says how a campaign that ended for its budget goes on.
func RaiseHint(campaign string) string {
	return fmt.Sprintf("; raise it with ratchet campaign budget %s, then go on with ratchet campaign resume %s", campaign, campaign)
}

// BudgetText says for the audit trail which limits changed, and from what to what.
func BudgetText(was, is model.Budget) string {
	before, after := limitTexts(was), limitTexts(is)
	var changed []string
	for i, name := range []string{"wall", "sandbox", "tokens", "cost"} {
		if before[i] != after[i] {
			changed = append(changed, name+" "+before[i]+" → "+after[i])
		}
	}
	if len(changed) == 0 {
		return "as it was"
	}
	return strings.Join(changed, ", ")
}

// limitTexts are the limits as people read them, in the order of the fields.
func limitTexts(b model.Budget) [4]string {
	texts := [4]string{duration(b.Wall), duration(b.Sandbox), fmt.Sprint(b.Tokens), amount(b.Money)}
	for i, none := range [4]bool{b.Wall == 0, b.Sandbox == 0, b.Tokens == 0, b.Money == 0} {
		if none {
			texts[i] = "no limit"
		}
	}
	return texts
}
