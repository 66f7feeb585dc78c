package main

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"
)

// finder notes whether a word has gone by, also across two writes.
type finder struct {
	word  []byte
	tail  []byte
	found bool
}

func (f *finder) Write(p []byte) (int, error) {
	text := append(f.tail, p...)
	f.found = f.found || bytes.Contains(text, f.word)
	f.tail = bytes.Clone(text[max(0, len(text)-len(f.word)):])
	return len(p), nil
}

func holds(r io.Reader, word string) (bool, error) {
	f := &finder{word: []byte(word)}
	_, err := io.Copy(f, r)
	return f.found, err
}

// nowhere checks that a word is in no file of the surroundings, git objects and
// databases included, and not in an image that was made in them. Images of others
// are none of this test's business: they come and go while it runs.
func (c *cli) nowhere(word, image string) {
	c.t.Helper()
	files := 0
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil // servers that run come and go with their files
		}
		if err != nil {
			return err
		}
		files++
		found, err := fileHolds(path, word)
		require.False(c.t, found, "the key is in %s", path)
		return err
	})
	require.NoError(c.t, err)
	require.Greater(c.t, files, 20, "there is nothing to search")
	require.NotEmpty(c.t, image, "no image was made")
	found, err := imageHolds(c.t.Context(), image, word)
	require.NoError(c.t, err)
	require.False(c.t, found, "the key is in image %s", image)
}

// fileHolds looks into a file, and into what a git object is made from.
func fileHolds(path, word string) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || bytes.Contains(data, []byte(word)) {
		return true, err
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return false, nil // no git object
	}
	return holds(z, word)
}

// imageHolds looks through the configuration and every layer of an image.
func imageHolds(ctx context.Context, id, word string) (bool, error) {
	e, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return false, err
	}
	defer e.Close()
	saved, err := e.ImageSave(ctx, []string{id})
	if err != nil {
		return false, err
	}
	defer saved.Close()
	for files := tar.NewReader(saved); ; {
		_, err := files.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if found, err := holds(files, word); found || err != nil {
			return found, err
		}
	}
}

// TestSearchForTheCanary: the search finds what it has to find.
func TestSearchForTheCanary(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte("blob 12\x00a word-to-find"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, data := range map[string]string{"plain": "x word-to-find y", "packed": packed.String()} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		found, err := fileHolds(path, "word-to-find")
		require.NoError(t, err)
		require.True(t, found, name)
		found, err = fileHolds(path, "another")
		require.NoError(t, err)
		require.False(t, found, name)
	}
	f := &finder{word: []byte("word")}
	for _, part := range []string{"a wo", "r", "d b"} {
		_, err := io.Copy(f, strings.NewReader(part))
		require.NoError(t, err)
	}
	require.True(t, f.found)
}
