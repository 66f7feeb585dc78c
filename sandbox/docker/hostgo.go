package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// HostGo is the Target.Image that is made from the host's own Go tool chain,
// for machines without a registry: no shell, nothing but Go.
const HostGo = "host-go"

const (
	goRoot      = "/usr/local/go"
	moduleCache = "/.ratchet/mod"
	// hostGoStd begins the names of host-go before the helper is laid in, and
	// hostGoImage those of host-go itself.
	hostGoStd   = "ratchet/host-go-std:"
	hostGoImage = "ratchet/host-go:"
	// recipe is part of every image's key; raise it when images are made differently.
	recipe = "3"
	// layRecipe is the same for laying the helper into one.
	layRecipe = "helper 1"
)

// goEnv is what the go command needs in a box: offline, its own version only,
// and reading no settings that code under test could have written.
func goEnv() map[string]string {
	return map[string]string{
		"PATH": goRoot + "/bin", "GOROOT": goRoot,
		"GOCACHE": sandbox.WorkDir + "/gocache", "GOMODCACHE": moduleCache, "GOTMPDIR": sandbox.WorkDir,
		"GOENV": "off", "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0",
	}
}

// hostGo makes the base image from the host's tool chain, with the standard
// library compiled, unless there is one.
func (e *Engine) hostGo(ctx context.Context, progress func(string)) (string, error) {
	root, err := e.hostRoot(ctx)
	if err != nil {
		return "", err
	}
	key, err := e.hostKey(root)
	if err != nil {
		return "", e.wrap("read", root, err)
	}
	raw, err := e.once(ctx, "ratchet/host-go-raw:"+key, func(ctx context.Context) error {
		progress("making the image host-go from " + root)
		return e.importHostGo(ctx, root, "ratchet/host-go-raw:"+key)
	})
	if err != nil {
		return "", err
	}
	warm, err := e.once(ctx, hostGoStd+key, func(ctx context.Context) error {
		progress("compiling the standard library in it")
		return e.derive(ctx, sandbox.Spec{Image: raw, Purpose: "prepare host-go"}, hostGoStd+key, buildStd(e))
	})
	if err != nil {
		return "", err
	}
	return e.withHelper(ctx, warm, hostGoImage)
}

func buildStd(e *Engine) func(context.Context, *box) error {
	return func(ctx context.Context, b *box) error {
		return e.setUp(ctx, b, sandbox.Command{
			Argv: []string{"go", "build", "std"}, User: sandbox.Builder, Timeout: setUpTime, Env: setUpEnv(nil),
		})
	}
}

// hostRoot is the host's GOROOT, which must run on the engine.
func (e *Engine) hostRoot(ctx context.Context) (string, error) {
	bad := func(err error) error {
		return &sandbox.Error{Op: "make", Object: HostGo, Err: err, Hint: "name an image with a Go tool chain under sandbox.image instead"}
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != e.arch {
		return "", bad(fmt.Errorf("the host runs %s/%s, its engine linux/%s", runtime.GOOS, runtime.GOARCH, e.arch))
	}
	root := e.cfg.GoRoot
	if root == "" {
		out, err := e.goCommand(ctx, "", "env", "GOROOT").Output()
		if err != nil {
			return "", bad(fmt.Errorf("go env GOROOT: %w", err))
		}
		root = strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "go")); err != nil {
		return "", bad(err)
	}
	return root, nil
}

// hostKey identifies the tool chain and the way the image is made, but not the
// helper: that is laid over it, so that a new one does not cost a compilation.
func (e *Engine) hostKey(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, recipe, e.arch, root)
	for _, name := range []string{"VERSION", "bin/go", "pkg/tool/linux_" + e.arch + "/compile"} {
		f, err := os.Open(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:24], nil
}

func (e *Engine) importHostGo(ctx context.Context, root, ref string) error {
	helper, err := e.compileHelper(ctx)
	if err != nil {
		return err
	}
	tools, err := e.extraTools(ctx)
	if err != nil {
		return err
	}
	body := stream(func(r *rootfs) error { return e.writeHostGo(r, root, helper, tools) })
	defer body.Close()
	var changes []string
	for _, kv := range environ(goEnv()) {
		changes = append(changes, "ENV "+kv)
	}
	changes = append(changes, "LABEL "+labelImage+"="+HostGo, "WORKDIR "+sandbox.WorkDir)
	resp, err := e.api.ImageImport(ctx, image.ImportSource{Source: body, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		return e.wrap("import", HostGo, err)
	}
	defer resp.Close()
	return e.wrap("import", HostGo, jsonmessage.DisplayJSONMessagesStream(resp, io.Discard, 0, false, nil))
}

// extraTools compiles tools that Go no longer ships but builds when they are
// needed, from source that the image leaves out. Without that source on the
// host either, the go command says itself what it lacks.
func (e *Engine) extraTools(ctx context.Context) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "ratchet-tools-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := e.goCommand(ctx, dir, "build", "-trimpath", "-o", dir, "cmd/covdata", "cmd/test2json")
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		if _, exited := err.(*exec.ExitError); exited {
			e.log.Warn("the image host-go will lack the tools covdata and test2json", "error", err, "output", string(msg))
			return nil, nil
		}
		return nil, err
	}
	tools := map[string][]byte{}
	for _, name := range []string{"covdata", "test2json"} {
		if tools[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func (e *Engine) writeHostGo(r *rootfs, root string, helper []byte, tools map[string][]byte) error {
	if err := r.base(helper); err != nil {
		return err
	}
	if err := r.system(); err != nil {
		return err
	}
	if err := r.dir(goRoot, 0o755, 0); err != nil {
		return err
	}
	toolDir := "pkg/tool/linux_" + e.arch
	if err := r.tree(root, goRoot, 0, func(rel string, dir bool) bool {
		return leaveOut(rel, dir) || path.Dir(rel) == toolDir && tools[path.Base(rel)] != nil
	}); err != nil {
		return err
	}
	for _, name := range sortedKeys(tools) {
		if err := r.file(path.Join(goRoot, toolDir, name), 0o755, tools[name]); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut drops half of a GOROOT: documents, tests and the tool chain's own source.
func leaveOut(rel string, dir bool) bool {
	if !dir {
		return strings.HasPrefix(rel, "src/") && strings.HasSuffix(rel, "_test.go")
	}
	switch rel {
	case "api", "doc", "misc", "test", "tests", "src/cmd", ".git", "pkg/obj":
		return true
	}
	return path.Base(rel) == "testdata"
}

// setUpTime bounds one set-up command.
const setUpTime = 15 * time.Minute

// setUpEnv is the environment of set-up commands: caches that are baked into
// the image are written where they will be read from.
func setUpEnv(more map[string]string) map[string]string {
	env := map[string]string{"GOCACHE": wire.WarmCache, "GOMODCACHE": moduleCache}
	for k, v := range more {
		env[k] = v
	}
	return env
}
