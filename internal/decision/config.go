package decision

import (
	"errors"
	"fmt"
)

// Config is the policy of a confirmation. The zero value of a field means its default.
type Config struct {
	// Alpha is the error probability of a whole campaign; see Level. Default 0.05.
	Alpha float64
	// Rounds is the candidate's budget: rounds after the full one. Default 20.
	Rounds int
	// MinRounds is the least number of rounds on which anything is kept, so that
	// one disturbance of the host cannot decide. Default 5.
	MinRounds int
	// WorseAt is the evidence, as an e-value, at which a suspect counts as
	// proven worse and the change is refused. Default 20.
	WorseAt float64
	// WorseRounds is the least number of repeats of a suspect before a change is
	// kept. Default 8.
	WorseRounds int
	// WorseHold is the evidence against a suspect that holds back a keep while
	// rounds remain. Default 3.
	WorseHold float64
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	set(&c.Alpha, 0.05)
	set(&c.Rounds, 20)
	set(&c.MinRounds, min(5, c.Rounds))
	set(&c.WorseAt, 20)
	set(&c.WorseRounds, min(8, c.Rounds))
	set(&c.WorseHold, min(3, c.WorseAt))
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// maxRounds bounds a budget; more would be a mistake in the unit.
const maxRounds = 10_000

// Validate reports every field that makes no sense. Call it on a Config with defaults.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Alpha > 0 && c.Alpha < 1, "alpha is %g, want more than 0 and less than 1", c.Alpha)
	check(c.Rounds >= 1 && c.Rounds <= maxRounds, "rounds is %d, want 1 to %d", c.Rounds, maxRounds)
	check(c.MinRounds >= 1 && c.MinRounds <= c.Rounds, "min rounds is %d, want 1 to rounds (%d)", c.MinRounds, c.Rounds)
	check(c.WorseAt > 1, "worse-at is %g, want more than 1", c.WorseAt)
	check(c.WorseRounds >= 1 && c.WorseRounds <= c.Rounds, "worse rounds is %d, want 1 to rounds (%d)", c.WorseRounds, c.Rounds)
	check(c.WorseHold > 1 && c.WorseHold <= c.WorseAt, "worse-hold is %g, want more than 1 and at most worse-at (%g)", c.WorseHold, c.WorseAt)
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("decision: config: %w", errors.Join(errs...))
}
