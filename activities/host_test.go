package activities

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostIsSharedOrAlone(t *testing.T) {
	h := newHost()
	var sharing, alone atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if i%10 != 0 {
				_ = h.share(t.Context(), func() error {
					sharing.Add(1)
					defer sharing.Add(-1)
					if alone.Load() != 0 {
						t.Error("shared while something has the host alone")
					}
					return nil
				})
				return
			}
			_ = h.alone(t.Context(), func() error {
				if alone.Add(1) != 1 || sharing.Load() != 0 {
					t.Error("not alone")
				}
				alone.Add(-1)
				return nil
			})
		})
	}
	wg.Wait()
}

func TestHostTwoShareAtOnce(t *testing.T) {
	h, met := newHost(), make(chan struct{})
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			errs <- h.share(t.Context(), func() error {
				select {
				case met <- struct{}{}:
				case <-met:
				}
				return nil
			})
		}()
	}
	require.NoError(t, <-errs)
	require.NoError(t, <-errs)
}

func TestHostWaitEndsWithItsContext(t *testing.T) {
	h := newHost()
	ctx, cancel := context.WithCancel(t.Context())
	err := h.alone(t.Context(), func() error {
		cancel()
		return h.share(ctx, func() error { return errors.New("must not run") })
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, h.share(t.Context(), func() error { return nil }), "nothing is left held")
}
