package checkup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

const startDocker = "start the Docker engine, or set DOCKER_HOST"

// noDocker is the finding of a check that needs Docker, when there is none.
func noDocker() doctor.Finding {
	return doctor.Skip("see the line Docker", "Docker cannot be reached")
}

func (c *checkup) docker(ctx context.Context) doctor.Finding {
	f, err := c.facts(ctx)
	if err != nil {
		return failed(err, startDocker)
	}
	if f.OS != "linux" {
		return doctor.Fail("switch it to Linux containers", "the engine at %s runs %s containers", f.Address, f.OS)
	}
	return doctor.Fine("engine %s, API %s, %s/%s, %d CPUs, %s, cgroup v%s (%s), at %s",
		f.Version, f.API, f.OS, f.Arch, f.CPUs, size(f.Memory), f.Cgroup, f.CgroupDriver, f.Address)
}

// limits compares what the engine can enforce with what boxes ask for.
func (c *checkup) limits(ctx context.Context) doctor.Finding {
	f, err := c.facts(ctx)
	if err != nil {
		return noDocker()
	}
	if len(f.Missing) > 0 {
		return doctor.Fail("enable these cgroup controllers on the host; a rootless engine needs cgroup v2 delegation",
			"the engine cannot limit %s", strings.Join(f.Missing, ", "))
	}
	if _, skip := c.noFile(); !skip {
		s := c.Spec.Sandbox
		switch {
		case s.CPUs > float64(f.CPUs):
			return ofInput(doctor.Fail("lower sandbox.cpus", "a box asks for %v CPUs, the engine has %d", s.CPUs, f.CPUs))
		case f.Memory > 0 && int64(s.Memory) > f.Memory:
			return ofInput(doctor.Fail("lower sandbox.memory", "a box asks for %s of memory, the engine has %s", s.Memory, size(f.Memory)))
		}
	}
	return doctor.Fine("the engine can limit memory, pids and CPU")
}

func ofInput(f doctor.Finding) doctor.Finding {
	f.Input = true
	return f
}

// imageName is the image of the file, or the one that is built in.
func (c *checkup) imageName() string {
	if _, skip := c.noFile(); skip {
		return campaign.Default().Sandbox.Image
	}
	return c.Spec.Sandbox.Image
}

// ready asks once, for the checks of image and sandbox, how far the image is from use.
func (c *checkup) ready(ctx context.Context) (docker.Readiness, error) {
	return c.image.get(ctx, func() (r docker.Readiness, err error) {
		ctx, cancel := context.WithTimeout(c.ctx, imageLimit)
		defer cancel()
		e, err := openEngine(ctx)
		if err != nil {
			return r, err
		}
		defer e.Close()
		return e.Ready(ctx, c.imageName())
	})
}

// openEngine connects under a name of its own: what is left of a box after a
// crash belongs to no stack and is removed past its deadline by any.
func openEngine(ctx context.Context) (*docker.Engine, error) {
	return docker.New(ctx, docker.Config{Stack: "doctor", Epoch: 1})
}

func (c *checkup) imageReady(ctx context.Context) doctor.Finding {
	if _, err := c.facts(ctx); err != nil {
		return noDocker()
	}
	r, err := c.ready(ctx)
	if err != nil {
		f := failed(err, "name another image under sandbox.image")
		f.Input = errors.Is(err, sandbox.ErrNoImage)
		return f
	}
	return doctor.Fine("%s %s", c.imageName(), r.Found)
}

// sandbox opens a box, which is refused unless the kernel shows every limit from
// inside, and closes it again.
func (c *checkup) sandbox(ctx context.Context) doctor.Finding {
	if _, err := c.facts(ctx); err != nil {
		return noDocker()
	}
	r, err := c.ready(ctx)
	if errors.Is(err, sandbox.ErrLimit) {
		return failed(err, "see the line limits")
	}
	if err != nil {
		return doctor.Skip("see the line image", "the image %s cannot be used", c.imageName())
	}
	if r.ID == "" {
		return doctor.Skip("it is looked at when the image is there: run a campaign or `ratchet demo` once", "no box can be opened yet: %s %s", c.imageName(), r.Found)
	}
	start := time.Now()
	if err := c.openBox(ctx, r.ID); err != nil {
		return failed(err, "this engine cannot confine untrusted code; use one with the runc runtime and cgroups")
	}
	return doctor.Fine("a box shows every limit from inside; opened and removed in %s", time.Since(start).Round(time.Millisecond))
}

func (c *checkup) openBox(ctx context.Context, image string) error {
	e, err := openEngine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	limits := sandbox.Limits{Lifetime: boxLimit}
	if _, skip := c.noFile(); !skip {
		s := c.Spec.Sandbox
		limits.CPUs, limits.Memory, limits.Pids, limits.Disk = s.CPUs, int64(s.Memory), s.Pids, int64(s.Disk)
	}
	b, err := e.Open(ctx, sandbox.Spec{Image: image, Network: sandbox.NetworkNone, Limits: limits, Purpose: "doctor"})
	if err != nil {
		return err
	}
	return b.Close(ctx)
}

// size writes bytes for people.
func size(n int64) string {
	const k = 1 << 10
	switch {
	case n >= k*k*k*k:
		return fmt.Sprintf("%.1f TiB", float64(n)/(k*k*k*k))
	case n >= k*k*k:
		return fmt.Sprintf("%.1f GiB", float64(n)/(k*k*k))
	case n >= k*k:
		return fmt.Sprintf("%.0f MiB", float64(n)/(k*k))
	}
	return fmt.Sprintf("%d B", n)
}
