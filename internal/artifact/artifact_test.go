package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	require.NoError(t, err)
	return s
}

func TestPutGet(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "a", "b"))
	large := make([]byte, 3<<20)
	_, _ = rand.Read(large)
	for _, data := range [][]byte{{}, []byte("hello"), large} {
		ref, err := s.Put(ctx, data)
		require.NoError(t, err)
		require.Equal(t, Ref(data), ref)
		again, err := s.Put(ctx, data)
		require.NoError(t, err)
		require.Equal(t, ref, again)
		got, err := open(t, s.dir).Get(ctx, ref)
		require.NoError(t, err)
		require.Equal(t, data, got)
	}
	require.Equal(t, "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Ref([]byte("hello")), "the reference is the plain SHA-256")
	require.Empty(t, temporary(t, s))
}

func temporary(t *testing.T, s *Store) []os.DirEntry {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(s.dir, tempDir))
	require.NoError(t, err)
	return files
}

func TestGetRefusesWhatIsNoReference(t *testing.T) {
	s := open(t, t.TempDir())
	hash := Ref(nil)
	for _, ref := range []string{
		"", "hello", "sha256:", hash[7:], "md5:" + hash[7:], hash + "0", hash[:70],
		"SHA256:" + hash[7:], "sha256:../../../../../../../../../../../../../../../../../../../../etc/passw", "sha256:" + hash[7:69] + "/.",
	} {
		_, err := s.Get(context.Background(), ref)
		require.ErrorIs(t, err, ErrInvalid, ref)
	}
	_, err := s.Get(context.Background(), hash)
	require.ErrorIs(t, err, ErrNotFound)
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, hash, known.Object)
}

func TestDamageIsFoundAndMended(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	data := []byte("the patch")
	ref, err := s.Put(ctx, data)
	require.NoError(t, err)
	path := s.path(ref[len(scheme):])
	for name, damaged := range map[string][]byte{"torn": data[:4], "empty": {}, "changed": []byte("the potch"), "longer": append(data, 0)} {
		require.NoError(t, os.Remove(path)) // stored files are read-only
		require.NoError(t, os.WriteFile(path, damaged, 0o444))
		_, err = s.Get(ctx, ref)
		require.ErrorIs(t, err, ErrCorrupt, name)
		_, err = s.Put(ctx, data)
		require.NoError(t, err, name)
		got, err := s.Get(ctx, ref)
		require.NoError(t, err, name)
		require.Equal(t, data, got)
	}
}

func TestOpenSweepsWhatKilledWritersLeft(t *testing.T) {
	s := open(t, t.TempDir())
	dead, alive := filepath.Join(s.dir, tempDir, "put-1"), filepath.Join(s.dir, tempDir, "put-2")
	for _, path := range []string{dead, alive} {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	old := time.Now().Add(-2 * staleTemp)
	require.NoError(t, os.Chtimes(dead, old, old))
	open(t, s.dir)
	require.NoFileExists(t, dead)
	require.FileExists(t, alive, "it may belong to a writer at work")
}

func TestWritersOfTheSameBlobs(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	errs := make(chan error, 8)
	for range 8 {
		s := open(t, dir)
		go func() {
			var err error
			for i := range 20 {
				data := fmt.Appendf(nil, "blob %d", i)
				ref, perr := s.Put(ctx, data)
				got, gerr := s.Get(ctx, ref)
				if string(got) != string(data) {
					gerr = errors.Join(gerr, fmt.Errorf("blob %d is %q", i, got))
				}
				err = errors.Join(err, perr, gerr)
			}
			errs <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.Empty(t, temporary(t, open(t, dir)))
}

func TestCancelled(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Put(ctx, []byte("x"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Get(ctx, Ref([]byte("x")))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Get(context.Background(), Ref([]byte("x")))
	require.ErrorIs(t, err, ErrNotFound)
}

// On a full disk nothing half-written is ever found.
func TestNoSpace(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("only root can make a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	s := open(t, dir)
	data := make([]byte, 1<<20)
	_, err := s.Put(context.Background(), data)
	require.ErrorIs(t, err, ErrNoSpace)
	_, err = s.Get(context.Background(), Ref(data))
	require.ErrorIs(t, err, ErrNotFound)
	require.Empty(t, temporary(t, s))
	_, err = s.Put(context.Background(), []byte("small"))
	require.NoError(t, err, "it goes on when there is room")
}

func TestOpenWhereNoFolderCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err := Open(file)
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, "open", known.Op)
}
