package trial

import (
	"context"
	"fmt"

	"ratchet/internal/model"
)

// minBaseline is the least number of baseline rounds: one cannot show that a
// problem is flaky.
const minBaseline = 2

// Baseline measures all problems in the given number of rounds, at least 2,
// and returns all runs. It goes on after the rounds in have, which an earlier
// attempt measured; emit is called with the number of each new round, counted
// from 1 over all of them, once it is measured, so that the caller can store it.
// A run that cannot be believed is an error, as are those of the bench and of emit.
func Baseline(ctx context.Context, b Bench, problems []model.Problem, rounds int, have []model.Run, emit func(n int, run model.Run) error) ([]model.Run, error) {
	if len(problems) == 0 {
		return nil, &Error{Op: "baseline", Object: "problems", Err: fmt.Errorf("%w: there is none", ErrInput)}
	}
	rounds = max(rounds, minBaseline)
	runs := append([]model.Run(nil), have...)
	for n := 1; n <= rounds; n++ {
		fresh := n > len(runs)
		if fresh {
			run, err := b.Run(ctx, problems, false)
			if err != nil {
				return nil, &Error{Op: "baseline", Object: fmt.Sprintf("round %d", n), Err: err}
			}
			runs = append(runs, run)
		}
		if err := checkBaseline(runs[n-1], n, problems); err != nil {
			return nil, err
		}
		if fresh && emit != nil {
			if err := emit(n, runs[n-1]); err != nil {
				return nil, &Error{Op: "baseline", Object: fmt.Sprintf("store round %d", n), Err: err}
			}
		}
	}
	return runs, nil
}

func checkBaseline(run model.Run, n int, problems []model.Problem) error {
	object := fmt.Sprintf("round %d", n)
	if run.Tampered != "" {
		return &Error{
			Op: "baseline", Object: object, Err: fmt.Errorf("%w: %s", ErrTampered, run.Tampered),
			Hint: "the trusted commit itself defeats its own tests; nothing measured on it would mean anything",
		}
	}
	if err := complete(run, problems); err != nil {
		return &Error{Op: "baseline", Object: object, Err: err}
	}
	return nil
}
