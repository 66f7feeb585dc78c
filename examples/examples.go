// Package examples holds targets to try ratchet on, small programs with defects,
// and campaign files for them: one for each kind of suite. README.md lists the defects.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ratchet/internal/model"
)

// The folders of the targets begin with an underscore so that the go command does
// not take them for a part of this module, and a go.mod has another name because
// a folder with one cannot be embedded. Python's __init__.py needs the "all:".
//
//go:embed all:_agent all:_textkit
var targets embed.FS

//go:embed *.yaml
var campaigns embed.FS

// suffix hides files whose real name would change how the go command sees the folder.
const suffix = ".txt"

// Example is a campaign file and the target that it is for.
type Example struct {
	Name   string // of the file, without .yaml
	Target string // for Target; the file's repo is ./<target>
}

// All lists the examples.
func All() []Example {
	return []Example{
		{"agent", "agent"}, {"llm", "agent"}, {"pytest", "textkit"}, {"junit", "textkit"}, {"exec", "textkit"}, {"metric", "textkit"},
	}
}

// Campaign returns the campaign file of the example with the given name.
func Campaign(name string) ([]byte, error) {
	data, err := campaigns.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("examples: open the campaign file %s: %w", name, err)
	}
	return data, nil
}

// Target returns the files of a target as they belong into a repository.
func Target(name string) (model.Tree, error) {
	var tree model.Tree
	top := "_" + name
	err := fs.WalkDir(targets, top, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || compiled(file) {
			return err
		}
		data, err := fs.ReadFile(targets, file)
		if err != nil {
			return err
		}
		tree = tree.With(model.Edit{Path: realName(strings.TrimPrefix(file, top+"/")), Data: data})
		return nil
	})
	if err != nil {
		return model.Tree{}, fmt.Errorf("examples: read the target %s: %w", name, err)
	}
	return tree, nil
}

// compiled says whether Python left a file behind when somebody tried a target.
func compiled(file string) bool {
	return strings.Contains(file, "/__pycache__/") || strings.Contains(file, "/.pytest_cache/")
}

func realName(name string) string {
	if path.Base(name) == "go.mod"+suffix {
		return strings.TrimSuffix(name, suffix)
	}
	return name
}
