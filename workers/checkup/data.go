package checkup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ratchet/internal/devstack"
	"ratchet/internal/doctor"
	"ratchet/internal/store"
	"ratchet/workers"
)

const otherData = "choose another data folder with --data"

// dataFolder says whether a stack could take the data folder, and changes nothing in it.
func (c *checkup) dataFolder(ctx context.Context) doctor.Finding {
	existing, info, err := nearest(c.Data)
	if err != nil {
		return failed(err, otherData)
	}
	if !info.IsDir() {
		return doctor.Fail(otherData, "%s is a file", existing)
	}
	if err := writable(existing); err != nil {
		return doctor.Fail("give this user the right to write there, or choose another data folder with --data", "%v", err)
	}
	if existing != c.Data {
		return doctor.Fine("%s does not exist yet and can be made", c.Data)
	}
	if s, err := spaceAt(existing); err == nil && s.Remote != "" {
		return doctor.Warn("put it on a local disk: SQLite needs file locks and shared memory", "%s is on the network (%s)", c.Data, s.Remote)
	}
	return c.locked(ctx)
}

func (c *checkup) locked(ctx context.Context) doctor.Finding {
	s, err := devstack.Inspect(ctx, c.Data)
	if err != nil && !errors.Is(err, devstack.ErrSchema) { // which is the check of Temporal's
		return failed(err, otherData)
	}
	if !s.Locked {
		return doctor.Fine("%s can be written, and nobody holds it", c.Data)
	}
	_, running, err := devstack.ReadInfo(c.Data)
	if err == nil && running {
		return doctor.Fine("%s is held by our stack, %s", c.Data, holder(s))
	}
	return doctor.Warn("wait until that process serves or has ended, or choose another data folder with --data",
		"%s is held by %s, which serves no stack", c.Data, holder(s))
}

func holder(s devstack.State) string {
	if s.Pid == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d, since %s", s.Pid, s.Since.Local().Format(time.DateTime))
}

// storeConfig opens the store of this run for reading, and never makes one.
func (c *checkup) storeConfig() store.Config {
	cfg := store.Config{Path: workers.StorePath(c.Data)}
	if c.Services != nil {
		cfg = c.Services.Store
	}
	cfg.ReadOnly, cfg.Readers, cfg.Busy = true, 1, 2*time.Second
	return cfg
}

func (c *checkup) store(ctx context.Context) doctor.Finding {
	cfg := c.storeConfig()
	if c.Services == nil {
		if existing, _, err := nearest(cfg.Path); err == nil && existing != cfg.Path {
			return doctor.Fine("there is none yet; it is made when something is stored")
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err, otherData)
		}
	}
	s, err := store.Open(ctx, cfg)
	if errors.Is(err, store.ErrOlder) {
		return doctor.Warn("copy the file first if an older ratchet is to read it again: the next start migrates it", "%s", withoutHint(err)+": "+hintOf(err))
	}
	if err != nil {
		return failed(err, "check the path and its permissions")
	}
	defer s.Close()
	v, err := s.SchemaVersion(ctx)
	if err != nil {
		return failed(err, "restore the store from a copy")
	}
	list, err := s.Campaigns(ctx)
	if err != nil {
		return failed(err, "restore the store from a copy")
	}
	return doctor.Fine("schema version %d, %s", v, count(len(list), "campaign"))
}
