package docker

import (
	"context"
	"fmt"
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
// there is no folder for it, two of them do harm to nobody.
func alone(ctx context.Context, ref string) (release func()) {
	f := flock.New(filepath.Join(os.TempDir(), fmt.Sprintf("ratchet-image-%d-%s.lock", os.Getuid(), digest(ref))))
	if ok, err := f.TryLockContext(ctx, lockPoll); err != nil || !ok {
		return func() {}
	}
	return func() { _ = f.Unlock() }
}
