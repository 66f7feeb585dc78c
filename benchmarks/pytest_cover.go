package benchmarks

import (
	"context"

	"ratchet/internal/model"
)

// Cover implements Suite.
func (s *pySuite) Cover(ctx context.Context, t Target, problems []model.Problem) (model.Coverage, error) {
	return model.Coverage{}, ErrNeedsBox
}
