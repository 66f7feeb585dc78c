package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/shlex"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// targetRepository names the images that are made for one target.
const targetRepository = "ratchet/target:"

// Target says what an image is prepared for.
type Target struct {
	// Image is HostGo, HostPython, or the name of an image, which is pulled when it is absent.
	Image string
	// Tree is the trusted tree. It is laid in at Dir while the image is made,
	// but is not part of it.
	Tree model.Tree
	// Dir is inside the work area; sandbox.WorkDir + "/src" when empty.
	Dir string
	// Setup are commands for a shell, run in Dir as Builder, with network. What
	// they leave outside the work area and /tmp is in the image; what pip installs
	// is left there, and is on Python's path. Without a shell in the image each
	// must be a plain list of words.
	Setup []string
	// Warm fill the build caches, run as Builder without network when nothing
	// had to be fetched. One that fails is no error.
	Warm []sandbox.Command
	// Limits are widened for set-up; they do not change the image.
	Limits sandbox.Limits
}

// Image is a prepared image.
type Image struct {
	ID  string            // for sandbox.Spec.Image
	Env map[string]string // for sandbox.Spec.Env
}

// Prepare makes the image for a target: the base with the helper in it, then
// Go modules, set-up commands and warm caches. The name follows from the
// content, so that it returns at once when there is such an image already.
// progress, which may be nil, is told in words what takes time.
func (e *Engine) Prepare(ctx context.Context, t Target, progress func(string)) (Image, error) {
	progress = serial(progress)
	if t.Dir == "" {
		t.Dir = sandbox.WorkDir + "/src"
	}
	if err := insideWork(t.Dir); err != nil {
		return Image{}, &sandbox.Error{Op: "prepare", Object: t.Dir, Err: err}
	}
	base, err := e.baseImage(ctx, t.Image, progress)
	if err != nil {
		return Image{}, err
	}
	env, err := e.env(ctx, t, base)
	if err != nil {
		return Image{}, err
	}
	modules := goModules(t.Tree)
	if len(t.Setup)+len(t.Warm)+len(modules) == 0 {
		return Image{ID: base, Env: env}, nil
	}
	key, err := targetKey(base, t)
	if err != nil {
		return Image{}, e.wrap("prepare", t.Image, err)
	}
	ref := targetRepository + key
	id, err := e.once(ctx, ref, func(ctx context.Context) error {
		spec := sandbox.Spec{Image: base, Env: env, Limits: t.Limits, Network: sandbox.NetworkNone, Purpose: "prepare " + ref}
		return e.makeTarget(ctx, spec, ref, t, modules, progress)
	})
	return Image{ID: id, Env: env}, err
}

func (e *Engine) baseImage(ctx context.Context, name string, progress func(string)) (string, error) {
	switch name {
	case "":
		return "", &sandbox.Error{Op: "prepare", Object: "image", Err: sandbox.ErrNoImage, Hint: "name one, or " + HostGo + ", or " + HostPython}
	case HostGo:
		return e.hostGo(ctx, progress)
	case HostPython:
		return e.hostPython(ctx, progress)
	}
	return e.named(ctx, name, progress)
}

// env is what boxes for the target need besides what the image declares:
// for Go, whose caches are in the image, and for Python.
func (e *Engine) env(ctx context.Context, t Target, base string) (map[string]string, error) {
	env := map[string]string{}
	if t.hasGo() {
		env = goEnv()
	}
	if t.Image == HostGo {
		return env, nil
	}
	for _, own := range []string{"PATH", "GOROOT", "CGO_ENABLED"} { // the image has its own
		delete(env, own)
	}
	if t.hasPython() {
		img, err := e.api.ImageInspect(ctx, base)
		if err != nil {
			return nil, e.wrap("inspect", t.Image, err)
		}
		var own []string
		if img.Config != nil {
			own = img.Config.Env
		}
		maps.Copy(env, pythonEnv(pathOf(own)))
	}
	return env, nil
}

// pathOf is the PATH of an image, by the environment that it declares.
func pathOf(env []string) string {
	path := usualPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = strings.TrimPrefix(v, site+"/bin:")
		}
	}
	return path
}

func (t Target) hasGo() bool {
	return t.Image == HostGo || t.has(func(p string) bool { return path.Base(p) == "go.mod" })
}

func (t Target) hasPython() bool {
	return t.Image == HostPython || t.Image != HostGo && t.has(func(p string) bool { return path.Ext(p) == ".py" })
}

func (t Target) has(name func(string) bool) bool {
	return slices.ContainsFunc(t.Tree.Files, func(f model.File) bool { return name(f.Path) })
}

// targetKey covers everything that the image depends on.
func targetKey(base string, t Target) (string, error) {
	h := sha256.New()
	for _, f := range t.Tree.Files {
		fmt.Fprintf(h, "%o %d %s\n", f.Mode, len(f.Data), f.Path)
		h.Write(f.Data)
	}
	warm := make([]sandbox.Command, len(t.Warm))
	for i, c := range t.Warm {
		c.Stdin = nil
		warm[i] = c
	}
	parts := []any{recipe, base, t.Dir, t.Setup, warm}
	if t.hasPython() {
		parts = append(parts, siteRecipe)
	}
	rest, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	return digest(hex.EncodeToString(h.Sum(nil)), string(rest)), nil
}

func (e *Engine) makeTarget(ctx context.Context, spec sandbox.Spec, ref string, t Target, modules []module, progress func(string)) error {
	if len(t.Setup)+len(modules) > 0 {
		spec.Network = sandbox.NetworkOpen
	}
	settings, err := e.proxySettings(ctx, t)
	if err != nil {
		return err
	}
	return e.derive(ctx, spec, ref, func(ctx context.Context, b *box) error {
		if err := b.Put(ctx, t.Dir, sandbox.Builder, t.Tree.Files); err != nil {
			return err
		}
		if len(modules) > 0 {
			progress("fetching Go modules")
			if err := e.fetchModules(ctx, b, t, modules, settings, progress); err != nil {
				return err
			}
		}
		if err := e.runSetup(ctx, b, t, settings, progress); err != nil {
			return err
		}
		return e.warm(ctx, b, t, progress)
	})
}

// runSetup runs the set-up commands of the campaign file.
func (e *Engine) runSetup(ctx context.Context, b *box, t Target, settings map[string]string, progress func(string)) error {
	if len(t.Setup) == 0 {
		return nil
	}
	env := setUpEnv(settings)
	if t.hasPython() {
		maps.Copy(env, siteEnv())
		maps.Copy(env, e.indexSettings())
	}
	o, err := b.Exec(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}, User: sandbox.Builder, Timeout: time.Minute})
	if err != nil {
		return err
	}
	for _, line := range t.Setup {
		progress("set-up: " + line)
		argv := []string{"/bin/sh", "-c", line}
		if !o.OK() {
			if argv, err = words(line); err != nil {
				return &sandbox.Error{Op: "set up", Object: t.Image, Err: fmt.Errorf("%q: %w", line, err),
					Hint: "the image has no shell: write each set-up command as plain words, or use an image with /bin/sh"}
			}
		}
		cmd := sandbox.Command{Argv: argv, Dir: t.Dir, User: sandbox.Builder, Timeout: setUpTime, Env: env}
		if err := e.setUp(ctx, b, cmd); err != nil {
			return err
		}
	}
	if !t.hasPython() {
		return nil
	}
	progress("compiling what set-up installed")
	return e.finishSite(ctx, b, t)
}

// words splits a command line that means the same without a shell.
func words(line string) ([]string, error) {
	if i := strings.IndexAny(line, "|&;<>()$`*?[]{}~#\n"); i >= 0 {
		return nil, fmt.Errorf("%q needs a shell", line[i:i+1])
	}
	argv, err := shlex.Split(line)
	if err == nil && len(argv) == 0 {
		err = errors.New("the command is empty")
	}
	return argv, err
}

// setUp runs one command that must succeed.
func (e *Engine) setUp(ctx context.Context, b *box, cmd sandbox.Command) error {
	o, err := b.Exec(ctx, cmd)
	if err != nil {
		return err
	}
	if o.OK() {
		return nil
	}
	return &sandbox.Error{Op: "set up", Object: strings.Join(cmd.Argv, " "), Err: errors.New(describe(o))}
}

// describe says how a command failed, with the end of what it printed.
func describe(o sandbox.Outcome) string {
	how := fmt.Sprintf("exit code %d", o.ExitCode)
	switch {
	case o.TimedOut:
		how = "time is over"
	case o.OutOfMemory:
		how = "out of memory"
	case o.Signal != "":
		how = "ended by signal " + o.Signal
	}
	text := slices.Concat(o.Stdout, o.Stderr)
	return how + ": " + strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// warm fills caches. A command that fails, for instance since a package does
// not compile, leaves what it did.
func (e *Engine) warm(ctx context.Context, b *box, t Target, progress func(string)) error {
	for _, c := range t.Warm {
		progress("warming: " + strings.Join(c.Argv, " "))
		c.User, c.Env, c.Stdin = sandbox.Builder, setUpEnv(c.Env), nil
		if c.Dir == "" {
			c.Dir = t.Dir
		}
		if c.Timeout <= 0 || c.Timeout > setUpTime {
			c.Timeout = setUpTime
		}
		o, err := b.Exec(ctx, c)
		if err != nil {
			return err
		}
		if o.TimedOut || o.OutOfMemory { // the box is gone
			return &sandbox.Error{Op: "warm", Object: strings.Join(c.Argv, " "), Err: errors.New(describe(o))}
		}
		if !o.OK() {
			e.log.Info("a command that warms the build cache failed", "command", c.Argv, "outcome", describe(o))
		}
	}
	return nil
}
