package benchmarks

import "context"

// Screen implements Suite.
func (s *pySuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) error {
	return ErrNeedsBox
}
