// Package budget keeps a conversation within its allowance of tokens.
package budget

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrExhausted is returned, wrapped, when a reservation does not fit.
var ErrExhausted = errors.New("token budget exhausted")

// charsPerToken is how much text a token stands for, on average.
const charsPerToken = 4

// Estimate guesses how many tokens text will take: one for every four
// characters, and one for a rest.
func Estimate(text string) int {
	chars := utf8.RuneCountInString(text)
	return (chars + 4) / charsPerToken
}

// Ledger counts the tokens of one conversation. Tokens are reserved before a
// call and settled after it. The zero value allows nothing.
type Ledger struct {
	limit    int
	reserved int
	spent    int
}

// NewLedger allows limit tokens.
func NewLedger(limit int) *Ledger { return &Ledger{limit: limit} }

// Remaining is what may still be reserved.
func (l *Ledger) Remaining() int { return l.limit - l.reserved - l.spent }

// Spent is what settled calls have used.
func (l *Ledger) Spent() int { return l.spent }

// Reserve sets tokens aside for one call, down to the last one of the limit.
func (l *Ledger) Reserve(tokens int) error {
	if tokens >= l.Remaining() {
		return fmt.Errorf("%w: %d wanted, %d left", ErrExhausted, tokens, l.Remaining())
	}
	l.reserved += tokens
	return nil
}

// Settle ends a call that had reserved tokens and used some of them, or more.
func (l *Ledger) Settle(reserved, used int) {
	l.spent += used
	l.reserved -= used
}

// Share returns part n of parts (from 0) when limit is divided as evenly as
// whole tokens allow: the first parts are one larger when it does not come out even.
func Share(limit, parts, n int) int {
	share := limit / parts
	if n < limit%parts {
		share++
	}
	return share
}
