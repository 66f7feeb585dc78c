package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"os/exec"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"ratchet/sandbox"
)

// Facts is what an engine says of itself.
type Facts struct {
	Address string // where it was asked
	Local   bool   // through a socket of this machine

	Version string // of the engine
	API     string // version that both sides speak
	OS      string // of its containers
	Arch    string // as GOARCH
	Driver  string // storage driver
	Root    string // folder of its images and containers, on the engine's machine

	Cgroup       string   // version of control groups: "1" or "2"
	CgroupDriver string   // what sets them up
	Missing      []string // limits that it cannot enforce, of those that every box has

	CPUs   int
	Memory int64 // bytes, of the engine's machine

	Clock time.Time     // the engine's, at the middle of the question; zero when it does not say
	Skew  time.Duration // Clock beyond this machine's; exact to half of Trip
	Trip  time.Duration // how long the question took
}

// Look asks the engine at host what it is, and changes nothing. An empty host
// takes the address from the environment. It fails as New does without an
// engine, and not for limits that are missing. It may be called at any time.
func Look(ctx context.Context, host string) (Facts, error) {
	e, err := connect(Config{Stack: "look", Epoch: 1, Host: host})
	if err != nil {
		return Facts{}, err
	}
	defer e.Close()
	start := time.Now()
	info, err := e.api.Info(ctx)
	if err != nil {
		return Facts{Address: e.api.DaemonHost()}, e.wrap("reach", "docker", err)
	}
	f := factsOf(info)
	f.Address, f.API = e.api.DaemonHost(), e.api.ClientVersion()
	f.Local = strings.HasPrefix(f.Address, "unix://")
	f.Trip = time.Since(start)
	if clock, err := time.Parse(time.RFC3339Nano, info.SystemTime); err == nil {
		f.Clock, f.Skew = clock, clock.Sub(start.Add(f.Trip/2))
	}
	return f, nil
}

func factsOf(info system.Info) Facts {
	return Facts{
		Version: info.ServerVersion, OS: info.OSType, Arch: goArch(info.Architecture),
		Driver: info.Driver, Root: info.DockerRootDir,
		Cgroup:       cmp.Or(info.CgroupVersion, "1"), // what engines say nothing of
		CgroupDriver: info.CgroupDriver, Missing: lacking(info),
		CPUs: info.NCPU, Memory: info.MemTotal,
	}
}

// connect makes an engine that nobody has asked anything yet.
func connect(cfg Config) (*Engine, error) {
	opts := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if cfg.Host != "" {
		opts = append(opts, client.WithHost(cfg.Host))
	}
	api, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, &sandbox.Error{Op: "connect to", Object: "docker", Err: err, Hint: "check DOCKER_HOST"}
	}
	return &Engine{cfg: cfg, api: api, log: orDiscard(cfg.Logger), building: map[string]*build{}}, nil
}

// Readiness says how far an image is from use.
type Readiness struct {
	ID    string // boxes can be opened from it now; empty when something is still to be made
	Found string // in words: what there is, and what is still to be made
}

// Ready says what Prepare would have to do for an image (as in Target.Image)
// before any set-up, and does none of it. Its error is what Prepare would fail
// with, as far as that can be known before: an image that is neither on the
// engine nor in a registry, tools that the host lacks.
func (e *Engine) Ready(ctx context.Context, name string) (Readiness, error) {
	switch name {
	case HostGo:
		return e.readyGo(ctx)
	case HostPython:
		return e.readyPython(ctx)
	}
	return e.readyNamed(ctx, name)
}

func (e *Engine) readyGo(ctx context.Context) (Readiness, error) {
	root, err := e.hostRoot(ctx)
	if err != nil {
		return Readiness{}, err
	}
	key, err := e.hostKey(root)
	if err != nil {
		return Readiness{}, e.wrap("read", root, err)
	}
	r, err := e.layered(ctx, hostGoStd+key, hostGoImage)
	if err != nil || r.ID != "" {
		return r, err
	}
	v, err := e.goVersion(ctx)
	r.Found = fmt.Sprintf("is made from %s (%s) when it is first used, which takes a minute or two", root, v)
	return r, err
}

func (e *Engine) readyPython(ctx context.Context) (Readiness, error) {
	r, err := e.layered(ctx, hostPythonStd+e.pythonKey(), hostPythonImage)
	if err != nil || r.ID != "" {
		return r, err
	}
	if err := debianTools(); err != nil {
		return Readiness{}, err
	}
	r.Found = "is made from the packages of " + release() + " when it is first used, which needs their archive"
	_, err = e.goVersion(ctx)
	return r, err
}

// layered looks for what withHelper makes of the image ref.
func (e *Engine) layered(ctx context.Context, ref, repository string) (Readiness, error) {
	id, err := e.imageID(ctx, ref)
	if errors.Is(err, sandbox.ErrNoImage) {
		return Readiness{}, nil
	}
	if err != nil {
		return Readiness{}, err
	}
	return e.helped(ctx, id, repository)
}

// helped looks for the copy of an image that has the helper in it.
func (e *Engine) helped(ctx context.Context, id, repository string) (Readiness, error) {
	ref, err := e.helpedRef(id, repository)
	if err != nil {
		return Readiness{}, err
	}
	own, err := e.imageID(ctx, ref)
	if errors.Is(err, sandbox.ErrNoImage) {
		v, err := e.goVersion(ctx)
		return Readiness{Found: "is on the engine; the sandbox helper is compiled into it when it is first used, with " + v}, err
	}
	return Readiness{ID: own, Found: "is on the engine"}, err
}

func (e *Engine) readyNamed(ctx context.Context, name string) (Readiness, error) {
	img, err := e.api.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		return e.pullable(ctx, name)
	}
	if err != nil {
		return Readiness{}, e.wrap("find", name, err)
	}
	own, err := e.usable(name, img)
	if err != nil {
		return Readiness{}, err
	}
	if own {
		return Readiness{ID: img.ID, Found: "is on the engine"}, nil
	}
	return e.helped(ctx, img.ID, namedImage)
}

// pullable asks the registry of an image whether it has it.
func (e *Engine) pullable(ctx context.Context, name string) (Readiness, error) {
	if _, err := e.api.DistributionInspect(ctx, name, ""); err != nil {
		if ctx.Err() != nil {
			return Readiness{}, e.wrap("find", name, ctx.Err())
		}
		return Readiness{}, noSuchImage("find", name, err)
	}
	v, err := e.goVersion(ctx)
	return Readiness{Found: "is not on the engine; its registry has it, and it is pulled when it is first used, then the helper compiled with " + v}, err
}

// leastGo is what the helper's source needs.
const leastGo = "go1.26"

// goVersion is the version of the host's Go tool chain, which must do for the helper.
func (e *Engine) goVersion(ctx context.Context) (string, error) {
	out, err := e.goCommand(ctx, "", "env", "GOVERSION").Output()
	v := strings.TrimSpace(string(out))
	if err == nil && version.Compare(v, leastGo) < 0 {
		err = fmt.Errorf("the Go tool chain is %s", v)
	}
	if err != nil {
		return "", &sandbox.Error{Op: "compile", Object: "the sandbox helper", Err: err, Hint: goHint}
	}
	return v, nil
}

// debianTools says which program is missing that host-python is made with.
func debianTools() error {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return &sandbox.Error{Op: "make", Object: HostPython, Err: fmt.Errorf("%s is missing on the host: %w", program, err), Hint: debianHint}
		}
	}
	return nil
}
