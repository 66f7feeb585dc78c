// Package examples holds a target to try ratchet on: a small Go program with
// defects, and the campaign file for it. README.md lists the defects.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ratchet/internal/model"
)

// The program's folder begins with an underscore so that the go command does
// not take it for a part of this module, and its go.mod has another name
// because a folder with one cannot be embedded.
//
//go:embed _agent
var agent embed.FS

//go:embed agent.yaml
var agentCampaign []byte

// suffix hides files whose real name would change how the go command sees the folder.
const suffix = ".txt"

// AgentCampaign returns the campaign file for the example target; its repo is ./agent.
func AgentCampaign() []byte { return append([]byte(nil), agentCampaign...) }

// Agent returns the files of the example target as they belong into a repository.
func Agent() (model.Tree, error) {
	root, err := fs.Sub(agent, "_agent")
	if err != nil {
		return model.Tree{}, fmt.Errorf("examples: open the agent: %w", err)
	}
	var tree model.Tree
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		tree = tree.With(model.Edit{Path: realName(name), Data: data})
		return nil
	})
	if err != nil {
		return model.Tree{}, fmt.Errorf("examples: read the agent: %w", err)
	}
	return tree, nil
}

func realName(name string) string {
	if path.Base(name) == "go.mod"+suffix {
		return strings.TrimSuffix(name, suffix)
	}
	return name
}
