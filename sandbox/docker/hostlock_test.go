package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

// Two engines stand for two processes: what they share is the host alone.
func TestOneImageIsMadeOnceOnAHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ref := "ratchet/test-once:" + uuid.NewString()[:8]
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		e := engine(t)
		wg.Go(func() {
			id, err := e.once(t.Context(), ref, func(ctx context.Context) error {
				made.Add(1)
				resp, err := e.api.ImageImport(ctx, image.ImportSource{Source: bytes.NewReader(make([]byte, 1024)), SourceName: "-"}, ref, image.ImportOptions{})
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp)
				return errors.Join(err, resp.Close())
			})
			if err != nil || id == "" {
				t.Errorf("image %q, error %v", id, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), made.Load())
	_, err := engine(t).api.ImageRemove(context.Background(), ref, image.RemoveOptions{})
	require.NoError(t, err)
}

// Whoever could not make it leaves it to the next.
func TestAFailureLeavesTheImageToTheNext(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ref, e := "ratchet/test-once:"+uuid.NewString()[:8], engine(t)
	bad := errors.New("no room")
	for range 2 {
		_, err := e.once(t.Context(), ref, func(context.Context) error { return bad })
		require.ErrorIs(t, err, bad)
	}
	_, err := e.imageID(t.Context(), ref)
	require.ErrorIs(t, err, sandbox.ErrNoImage)
}

// Where locks cannot be had, images are made all the same.
func TestWithoutAFolderForLocks(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	alone(t.Context(), "x")()
}
