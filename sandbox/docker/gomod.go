package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/mod/modfile"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// module is a place where "go mod download" has something to fetch.
type module struct {
	dir       string // in the tree, "." for the root
	workspace bool   // a go.work rather than a go.mod
}

// goModules finds the modules and workspaces of a tree that need others from
// outside and do not have them vendored.
func goModules(t model.Tree) []module {
	var out []module
	for _, f := range t.Files {
		dir, base := path.Dir(f.Path), path.Base(f.Path)
		if base != "go.mod" && base != "go.work" || ignored(dir) {
			continue
		}
		if _, vendored := t.Find(path.Join(dir, "vendor/modules.txt")); vendored {
			continue
		}
		switch {
		case base == "go.work":
			out = append([]module{{dir, true}}, out...)
		case needsOthers(f):
			out = append(out, module{dir: dir})
		}
	}
	return out
}

// ignored says whether the go command itself passes over a folder.
func ignored(dir string) bool {
	for name := range strings.SplitSeq(dir, "/") {
		if name == "vendor" || name == "testdata" || name != "." && strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return true
		}
	}
	return false
}

// needsOthers says whether a go.mod requires a module that is not replaced by a folder.
func needsOthers(f model.File) bool {
	m, err := modfile.ParseLax(f.Path, f.Data, nil)
	if err != nil {
		return false // the build will say it better
	}
	full, err := modfile.Parse(f.Path, f.Data, nil)
	if err != nil {
		return len(m.Require) > 0
	}
	local := map[string]bool{}
	for _, r := range full.Replace {
		if r.New.Version == "" {
			local[r.Old.Path] = true
		}
	}
	for _, r := range full.Require {
		if !local[r.Mod.Path] {
			return true
		}
	}
	return false
}

// fetchModules fills the module cache of the image: inside it when it can
// reach the module proxy, else on the host, where downloading runs no code of
// the target either.
func (e *Engine) fetchModules(ctx context.Context, b *box, t Target, modules []module, settings map[string]string, progress func(string)) error {
	o, err := b.Exec(ctx, sandbox.Command{Argv: []string{"go", "version"}, User: sandbox.Builder, Timeout: time.Minute})
	if err != nil {
		return err
	}
	if o.ExitCode == 127 { // as shells say that there is no such program
		e.log.Info("Go modules are not fetched: the image has no Go", "image", t.Image)
		return nil
	}
	inside := e.fetchInside(ctx, b, t, modules, settings)
	if inside == nil {
		return nil
	}
	if b.dead() || ctx.Err() != nil {
		return inside
	}
	e.log.Info("modules could not be fetched inside a box; fetching them on the host", "error", inside)
	progress("fetching Go modules on the host")
	outside := e.fetchOutside(ctx, b, t, modules)
	if outside == nil {
		return nil
	}
	return &sandbox.Error{Op: "fetch", Object: "Go modules", Err: fmt.Errorf("in a box: %w; on the host: %w", inside, outside),
		Hint: "run `go mod vendor` in the repository and commit the vendor folder, or set GOPROXY"}
}

// proxySettings are the host's, because only they say where modules come from.
func (e *Engine) proxySettings(ctx context.Context, t Target) (map[string]string, error) {
	if !t.hasGo() {
		return nil, nil
	}
	names := []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOVCS"}
	out, err := e.goCommand(ctx, "", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, &sandbox.Error{Op: "read", Object: "go env", Err: err, Hint: "a Go tool chain must be on PATH"}
	}
	env := map[string]string{}
	return env, json.Unmarshal(out, &env)
}

// downloadEnv says which modules to download: a workspace as a whole, and each
// module by itself.
func downloadEnv(m module) string {
	if m.workspace {
		return "GOWORK="
	}
	return "GOWORK=off"
}

func (e *Engine) fetchInside(ctx context.Context, b *box, t Target, modules []module, settings map[string]string) error {
	return each(modules, func(m module) error {
		env := setUpEnv(settings)
		env["GOWORK"] = strings.TrimPrefix(downloadEnv(m), "GOWORK=")
		return e.setUp(ctx, b, sandbox.Command{
			Argv: []string{"go", "mod", "download"}, Dir: path.Join(t.Dir, m.dir),
			User: sandbox.Builder, Env: env, Timeout: setUpTime,
		})
	})
}

// each fetches for every module; one below the first that fails is not needed
// for it and may be an example that nobody builds, so only the first must work.
func each(modules []module, fetch func(module) error) error {
	for i, m := range modules {
		if err := fetch(m); err != nil && i == 0 {
			return fmt.Errorf("module in %s: %w", m.dir, err)
		}
	}
	return nil
}

// fetchOutside downloads into a module cache of its own and copies that in.
func (e *Engine) fetchOutside(ctx context.Context, b *box, t Target, modules []module) error {
	dir, err := os.MkdirTemp("", "ratchet-mod-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, f := range t.Tree.Files {
		switch path.Base(f.Path) {
		case "go.mod", "go.sum", "go.work", "go.work.sum":
			if err := wire.CheckPath(f.Path); err != nil || f.Mode == model.ModeSymlink {
				return fmt.Errorf("%q is not a plain file", f.Path)
			}
			if err := writeFile(filepath.Join(dir, "src", f.Path), f.Data); err != nil {
				return err
			}
		}
	}
	cache := filepath.Join(dir, "mod")
	if err := os.Mkdir(cache, 0o755); err != nil {
		return err
	}
	err = each(modules, func(m module) error {
		cmd := e.goCommand(ctx, filepath.Join(dir, "src", m.dir), "mod", "download")
		cmd.Env = append(cmd.Env, "GOMODCACHE="+cache, "GOFLAGS=-modcacherw", downloadEnv(m))
		if msg, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, msg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.copyModules(ctx, b, cache)
}

func (e *Engine) copyModules(ctx context.Context, b *box, cache string) error {
	body := stream(func(r *rootfs) error { return r.tree(cache, moduleCache, wire.BuilderID, nil) })
	defer body.Close()
	err := e.api.CopyToContainer(ctx, b.id, "/", body, container.CopyToContainerOptions{})
	return e.wrap("copy modules into", b.id, err)
}
