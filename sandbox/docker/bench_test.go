package docker

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

// BenchmarkAgainstDockerRun compares a hardened box from Open to Close with
// what `docker run --rm` does for the same command and image: "ratio" is that
// of the medians, measured in turns.
func BenchmarkAgainstDockerRun(b *testing.B) {
	e := engine(b)
	img := hostGo(b, e)
	argv := []string{"/usr/local/go/bin/gofmt", "-h"} // ends at once: what is left is the cost of the box
	var hard, plain []time.Duration
	for b.Loop() {
		hard = append(hard, timed(func() { hardened(b, e, img, argv) }))
		plain = append(plain, timed(func() { dockerRun(b, e, img, argv) }))
	}
	slices.Sort(hard)
	slices.Sort(plain)
	h, p := hard[len(hard)/2], plain[len(plain)/2]
	b.ReportMetric(h.Seconds()*1000, "hardened-ms")
	b.ReportMetric(p.Seconds()*1000, "plain-ms")
	b.ReportMetric(h.Seconds()/p.Seconds(), "ratio")
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func hardened(b *testing.B, e *Engine, img Image, argv []string) {
	ctx := b.Context()
	x, err := e.Open(ctx, sandbox.Spec{Image: img.ID, Env: img.Env, Limits: sandbox.Limits{CPUs: float64(e.cpus)}})
	require.NoError(b, err)
	c := command(argv...)
	_, err = x.Exec(ctx, c)
	require.NoError(b, err)
	require.NoError(b, x.Close(ctx))
}

func dockerRun(b *testing.B, e *Engine, img Image, argv []string) {
	ctx := context.Background()
	env := append(environ(img.Env), "HOME=/tmp")
	c, err := e.api.ContainerCreate(ctx, &container.Config{Image: img.ID, Entrypoint: argv, Cmd: []string{}, Env: env, AttachStdout: true, AttachStderr: true},
		&container.HostConfig{AutoRemove: true}, nil, nil, "")
	require.NoError(b, err)
	conn, err := e.api.ContainerAttach(ctx, c.ID, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	require.NoError(b, err)
	defer conn.Close()
	removed, failed := e.api.ContainerWait(ctx, c.ID, container.WaitConditionRemoved)
	require.NoError(b, e.api.ContainerStart(ctx, c.ID, container.StartOptions{}))
	_, err = stdcopy.StdCopy(io.Discard, io.Discard, conn.Reader)
	require.NoError(b, err)
	select {
	case <-removed:
	case err := <-failed:
		require.NoError(b, err)
	}
}

// BenchmarkBox measures the calls on an open box.
func BenchmarkBox(b *testing.B) {
	e := engine(b)
	img := hostGo(b, e)
	x, err := e.Open(b.Context(), sandbox.Spec{Image: img.ID, Env: img.Env})
	require.NoError(b, err)
	defer func() { require.NoError(b, x.Close(context.Background())) }()
	cmd := command("/usr/local/go/bin/gofmt", "-h")
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			_, err := x.Exec(b.Context(), cmd)
			require.NoError(b, err)
		}
	})
	b.Run("batch of 50", func(b *testing.B) {
		batch := sandbox.Batch{Commands: slices.Repeat([]sandbox.Command{cmd}, 50)}
		for b.Loop() {
			require.NoError(b, x.Batch(b.Context(), batch, func(int, sandbox.Outcome) error { return nil }))
		}
	})
	b.Run("reset", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, x.Reset(b.Context()))
		}
	})
}
