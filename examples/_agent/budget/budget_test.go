package budget

import (
	"errors"
	"strings"
	"testing"
)

func reserve(t *testing.T, l *Ledger, tokens int) {
	t.Helper()
	if err := l.Reserve(tokens); err != nil {
		t.Fatalf("Reserve(%d): %v", tokens, err)
	}
}

func TestEstimateRoundsUp(t *testing.T) {
	for text, want := range map[string]int{"a": 1, "abcde": 2, strings.Repeat("x", 402): 101} {
		if got := Estimate(text); got != want {
			t.Errorf("%d characters: got %d, want %d", len(text), got, want)
		}
	}
}

func TestEstimateOfNothing(t *testing.T) {
	if got := Estimate(""); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestEstimateOfWholeTokens(t *testing.T) {
	for text, want := range map[string]int{"abcd": 1, "abcdefgh": 2} {
		if got := Estimate(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestEstimateCountsCharactersNotBytes(t *testing.T) {
	if got := Estimate("äöü"); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestReserveTakesFromTheRest(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 30)
	reserve(t, l, 20)
	if got := l.Remaining(); got != 50 {
		t.Errorf("got %d, want 50", got)
	}
}

func TestReserveRefusesTooMuch(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 60)
	if err := l.Reserve(41); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v, want %v", err, ErrExhausted)
	}
	if got := l.Remaining(); got != 40 {
		t.Errorf("a refused reservation took tokens: %d left, want 40", got)
	}
}

func TestReserveTheLastToken(t *testing.T) {
	l := NewLedger(10)
	reserve(t, l, 9)
	reserve(t, l, 1)
	if got := l.Remaining(); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestSettleAtTheReservation(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 40)
	l.Settle(40, 40)
	if l.Remaining() != 60 || l.Spent() != 40 {
		t.Errorf("got %d left, %d spent", l.Remaining(), l.Spent())
	}
}

func TestSettleFreesWhatWasNotUsed(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 40)
	l.Settle(40, 25)
	if l.Remaining() != 75 || l.Spent() != 25 {
		t.Errorf("got %d left, %d spent; want 75 and 25", l.Remaining(), l.Spent())
	}
}

func TestSettleAboveTheReservation(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 40)
	l.Settle(40, 55)
	if l.Remaining() != 45 || l.Spent() != 55 {
		t.Errorf("got %d left, %d spent; want 45 and 55", l.Remaining(), l.Spent())
	}
}

func TestLedgerCanBeUsedUp(t *testing.T) {
	l := NewLedger(100)
	reserve(t, l, 50)
	l.Settle(50, 10)
	reserve(t, l, 90)
	l.Settle(90, 90)
	if l.Remaining() != 0 || l.Spent() != 100 {
		t.Errorf("got %d left, %d spent; want 0 and 100", l.Remaining(), l.Spent())
	}
}

func TestZeroLedgerAllowsNothing(t *testing.T) {
	var l Ledger
	if err := l.Reserve(1); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v, want %v", err, ErrExhausted)
	}
}

func TestShareIsEven(t *testing.T) {
	if got := Share(90, 3, 1); got != 30 {
		t.Errorf("got %d, want 30", got)
	}
}

func TestSharesAddUp(t *testing.T) {
	sum := 0
	for n := range 4 {
		sum += Share(10, 4, n)
	}
	if sum != 10 {
		t.Errorf("got %d, want 10", sum)
	}
}
