package docker

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a file that another process has locked is tried again.
const lockPoll = 200 * time.Millisecond

// alone holds a lock of this host and user while an image is made, so that two
// processes do not make it twice side by side: it takes all cores for a minute, and
// the second is thrown away. It saves work only. Where no lock can be had, because
// there is no folder for it, two of them do harm to nobody. The locks are empty files
// in the user's cache folder, where no other user can hold or replace one.
func alone(ctx context.Context, ref string) (release func()) {
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "ratchet", "images")
		err = os.MkdirAll(cache, 0o700)
	}
	if err != nil {
		return func() {}
	}
	f := flock.New(filepath.Join(cache, digest(ref)+".lock"))
	if ok, err := f.TryLockContext(ctx, lockPoll); err != nil || !ok {
		return func() {}
	}
	return func() { _ = f.Unlock() }
}
