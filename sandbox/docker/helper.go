package docker

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ratchet/sandbox"
)

// helperSource is compiled for the engine's architecture when an image is
// made: that keeps binaries out of the repository, and the helper fits any engine.
//
//go:embed box/*.go internal/wire/*.go
var helperSource embed.FS

// helperModule is a module in which the import paths of the source hold.
const helperModule = "module ratchet\n\ngo 1.26\n"

const helperPackage = "sandbox/docker"

// helperFiles are the sources without their tests, by path.
func helperFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(helperSource, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, "_test.go") {
			return err
		}
		files[p], err = helperSource.ReadFile(p)
		return err
	})
	return files, err
}

// helperKey identifies the helper's source.
func helperKey() (string, error) {
	files, err := helperFiles()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, p := range sortedKeys(files) {
		fmt.Fprintf(h, "%s %d\n%s", p, len(files[p]), files[p])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

const goHint = "a Go tool chain of version 1.26 or later must be on PATH"

// compileHelper builds the helper as a static program for arch and returns it.
func (e *Engine) compileHelper(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ratchet-box-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files, err := helperFiles()
	if err != nil {
		return nil, err
	}
	for p, data := range files {
		if err := writeFile(filepath.Join(dir, helperPackage, p), data); err != nil {
			return nil, err
		}
	}
	if err := writeFile(filepath.Join(dir, "go.mod"), []byte(helperModule)); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "box.bin")
	cmd := e.goCommand(ctx, dir, "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./"+helperPackage+"/box")
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+e.arch)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, &sandbox.Error{Op: "compile", Object: "the sandbox helper", Err: fmt.Errorf("%w: %s", err, msg),
			Hint: goHint}
	}
	return os.ReadFile(out)
}

// goCommand runs the host's go command in dir, whatever settings the
// environment has for other work.
func (e *Engine) goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	program := "go"
	if e.cfg.GoRoot != "" {
		program = filepath.Join(e.cfg.GoRoot, "bin", "go")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GO111MODULE=")
	return cmd
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
