package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// Labels of images.
const (
	labelImage  = "ratchet.image"  // on all that this package made: the name
	labelTarget = "ratchet.target" // on those for one target: the stack that made it
	labelHelper = "ratchet.helper" // the key of the helper that was laid in last
	// labelPackages are the Debian packages in an image that was made from them.
	labelPackages = "ratchet.packages"
)

// namedImage begins the names of other images with the helper in them.
const namedImage = "ratchet/base:"

// build is an image being made, so that two callers do not make it twice.
type build struct {
	done chan struct{}
	err  error
}

// once returns the id of the image ref, calling make_ when there is none. It
// waits for another caller, in this process or another of the host, who is making the same.
func (e *Engine) once(ctx context.Context, ref string, make_ func(context.Context) error) (string, error) {
	for {
		id, err := e.imageID(ctx, ref)
		if err == nil || !errors.Is(err, sandbox.ErrNoImage) {
			return id, err
		}
		b, mine := e.claim(ref)
		if mine {
			b.err = e.make(ctx, ref, make_)
			e.release(ref, b)
			if b.err != nil {
				return "", b.err
			}
			continue
		}
		select {
		case <-b.done:
			if b.err != nil && !errors.Is(b.err, context.Canceled) && !errors.Is(b.err, context.DeadlineExceeded) {
				return "", b.err
			}
		case <-ctx.Done():
			return "", e.wrap("make", ref, ctx.Err())
		}
	}
}

// make makes an image that another process has not made in the meantime.
func (e *Engine) make(ctx context.Context, ref string, make_ func(context.Context) error) error {
	defer alone(ctx, ref)()
	if _, err := e.imageID(ctx, ref); !errors.Is(err, sandbox.ErrNoImage) {
		return err
	}
	return make_(ctx)
}

func (e *Engine) claim(ref string) (b *build, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.building[ref]; b != nil {
		return b, false
	}
	b = &build{done: make(chan struct{})}
	e.building[ref] = b
	return b, true
}

func (e *Engine) release(ref string, b *build) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.building, ref)
	close(b.done)
}

// imageID resolves an image on the engine; ErrNoImage when there is none.
func (e *Engine) imageID(ctx context.Context, ref string) (string, error) {
	img, err := e.api.ImageInspect(ctx, ref)
	switch {
	case cerrdefs.IsNotFound(err):
		return "", &sandbox.Error{Op: "find", Object: ref, Err: both(sandbox.ErrNoImage, err)}
	case err != nil:
		return "", e.wrap("find", ref, err)
	}
	return img.ID, nil
}

// derive runs fill in a box with a writable root, and freezes
// the outcome as ref. What fill writes to the work area and /tmp is not part of it.
func (e *Engine) derive(ctx context.Context, spec sandbox.Spec, ref string, fill func(context.Context, *box) error) (err error) {
	spec.Limits = e.setUpLimits(spec.Limits)
	b, err := e.open(ctx, spec, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := fill(ctx, b); err != nil {
		return err
	}
	if err := b.call(ctx, ref, sandbox.Builder, wire.Request{Op: wire.OpIndex}, nil, nil); err != nil {
		return err
	}
	return e.freeze(ctx, b.id, ref, nil)
}

// setUpLimits widens limits for set-up, which only runs trusted code.
func (e *Engine) setUpLimits(l sandbox.Limits) sandbox.Limits {
	l = withDefaults(l)
	l.CPUs = max(l.CPUs, float64(e.cpus))
	l.Memory = max(l.Memory, 4<<30)
	l.Pids = max(l.Pids, 2048)
	l.Disk = max(l.Disk, 2<<30)
	l.FileSize = max(l.FileSize, 2<<30)
	l.Lifetime = max(l.Lifetime, 2*setUpTime)
	return l
}

// freeze commits a container as an image. The labels of a box are blanked: a
// container that somebody starts from the image is not one of our boxes.
func (e *Engine) freeze(ctx context.Context, id, ref string, more map[string]string) error {
	labels := map[string]string{labelStack: "", labelEpoch: "", labelDeadline: "", labelPurpose: "", labelImage: ref}
	maps.Copy(labels, more)
	if strings.HasPrefix(ref, targetRepository) {
		labels[labelTarget] = e.cfg.Stack
	}
	_, err := e.api.ContainerCommit(ctx, id, container.CommitOptions{Reference: ref, Config: &container.Config{
		Labels: labels, WorkingDir: sandbox.WorkDir,
	}})
	return e.wrap("freeze", ref, err)
}

// named makes an image of somebody else's usable: it is pulled when it is
// absent, and the helper is laid into a copy.
func (e *Engine) named(ctx context.Context, name string, progress func(string)) (string, error) {
	img, err := e.find(ctx, name, progress)
	if err != nil {
		return "", err
	}
	own, err := e.usable(name, img)
	if err != nil {
		return "", err
	}
	if own {
		return img.ID, nil
	}
	return e.withHelper(ctx, img.ID, namedImage)
}

// usable says whether an image was made by this package, or from one that was,
// and has the present helper in it; other images must be fit to be copied.
func (e *Engine) usable(name string, img image.InspectResponse) (own bool, err error) {
	key, err := helperKey()
	if err != nil || img.Config == nil {
		return false, err
	}
	if img.Config.Labels[labelHelper] == key {
		return true, nil
	}
	if len(img.Config.Volumes) > 0 {
		return false, &sandbox.Error{Op: "use", Object: name, Err: fmt.Errorf("the image declares volumes, which would be writable space without a limit"),
			Hint: "use an image without VOLUME"}
	}
	return false, nil
}

// withHelper makes a copy of an image that has the present helper in it.
func (e *Engine) withHelper(ctx context.Context, id, repository string) (string, error) {
	key, err := helperKey()
	if err != nil {
		return "", err
	}
	ref, err := e.helpedRef(id, repository)
	if err != nil {
		return "", err
	}
	return e.once(ctx, ref, func(ctx context.Context) error {
		helper, err := e.compileHelper(ctx)
		if err != nil {
			return err
		}
		return e.layHelper(ctx, helper, id, ref, key)
	})
}

// helpedRef names the copy of an image that has the present helper in it.
func (e *Engine) helpedRef(id, repository string) (string, error) {
	key, err := helperKey()
	return repository + digest(layRecipe, e.arch, id, key), err
}

func (e *Engine) find(ctx context.Context, name string, progress func(string)) (image.InspectResponse, error) {
	img, err := e.api.ImageInspect(ctx, name)
	if err == nil || !cerrdefs.IsNotFound(err) {
		return img, e.wrap("find", name, err)
	}
	progress("pulling " + name)
	if err := e.pull(ctx, name); err != nil {
		return img, err
	}
	img, err = e.api.ImageInspect(ctx, name)
	return img, e.wrap("find", name, err)
}

func (e *Engine) pull(ctx context.Context, name string) error {
	resp, err := e.api.ImagePull(ctx, name, image.PullOptions{})
	if err == nil {
		defer resp.Close()
		err = jsonmessage.DisplayJSONMessagesStream(resp, io.Discard, 0, false, nil)
	}
	if err == nil {
		return nil
	}
	if perr := e.Ping(ctx); perr != nil {
		return perr
	}
	return noSuchImage("pull", name, err)
}

func noSuchImage(op, name string, err error) error {
	return &sandbox.Error{Op: op, Object: name, Err: both(sandbox.ErrNoImage, err),
		Hint: "build the image on this machine or `docker load` it, log in to its registry with `docker login` and pull it, or use " +
			HostGo + " or " + HostPython + ", which need no registry"}
}

// layHelper copies the helper into a container that is never started.
func (e *Engine) layHelper(ctx context.Context, helper []byte, from, ref, key string) (err error) {
	cfg, host := e.containerConfig(sandbox.Spec{Image: from, Limits: e.setUpLimits(sandbox.Limits{}), Purpose: "prepare " + ref})
	host.AutoRemove, host.Tmpfs = false, nil
	created, err := e.api.ContainerCreate(ctx, cfg, host, nil, nil, "")
	if err != nil {
		return e.wrap("make", ref, err)
	}
	defer func() { err = errors.Join(err, e.remove(context.WithoutCancel(ctx), created.ID)) }()
	body := stream(func(r *rootfs) error { return r.base(helper) })
	defer body.Close()
	if err := e.api.CopyToContainer(ctx, created.ID, "/", body, container.CopyToContainerOptions{}); err != nil {
		return e.wrap("copy the helper into", ref, err)
	}
	return e.freeze(ctx, created.ID, ref, map[string]string{labelHelper: key})
}

// RemoveImages removes the images that this stack prepared for its targets,
// except those to keep (ids) and those that a container uses, and returns how
// many. Base images are shared by all stacks and stay.
func (e *Engine) RemoveImages(ctx context.Context, keep ...string) (int, error) {
	list, err := e.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelTarget+"="+e.cfg.Stack))})
	if err != nil {
		return 0, e.wrap("list", "images", err)
	}
	n := 0
	var errs []error
	for _, img := range list {
		if slices.Contains(keep, img.ID) {
			continue
		}
		_, err := e.api.ImageRemove(ctx, img.ID, image.RemoveOptions{PruneChildren: true})
		switch {
		case err == nil:
			n++
		case !cerrdefs.IsConflict(err) && !cerrdefs.IsNotFound(err):
			errs = append(errs, e.wrap("remove", img.ID, err))
		}
	}
	return n, errors.Join(errs...)
}

// digest is a short key over parts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

// serial makes a progress function safe to call, and never nil.
func serial(progress func(string)) func(string) {
	var mu sync.Mutex
	return func(s string) {
		if progress == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		progress(s)
	}
}
