package repo_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/repo"
)

// TestShallowRemote imports from a server whose own repository lacks a part of its history.
func TestShallowRemote(t *testing.T) {
	src := workTree(t)
	shallow := filepath.Join(t.TempDir(), "shallow.git")
	git(t, "", "clone", "-q", "--bare", "--depth=1", "file://"+src, shallow)
	dst := filepath.Join(t.TempDir(), "r.git")
	err := repo.Import(context.Background(), served(t, shallow), dst, repo.ImportOptions{})
	require.ErrorIs(t, err, repo.ErrUnsupported)
	require.ErrorContains(t, err, "--unshallow")
	require.NoDirExists(t, dst)
}
