package checkup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ratchet/internal/devstack"
	"ratchet/internal/doctor"
)

// memory compares what is free with what the boxes of a screen may use at once.
func (c *checkup) memory(ctx context.Context) doctor.Finding {
	boxes := c.Spec.Search.Parallel
	need := int64(c.Spec.Sandbox.Memory) * int64(boxes)
	asked := fmt.Sprintf("%s of %s may use %s", count(boxes, "box"), c.Spec.Sandbox.Memory, size(need))
	if boxes > 1 {
		asked = strings.Replace(asked, "boxs", "boxes", 1)
	}
	f, err := c.facts(ctx)
	if err == nil && !f.Local {
		return enoughMemory(need, f.Memory, asked, "the engine's machine has")
	}
	free, err := freeMemory()
	if err != nil {
		return doctor.Skip("compare it with what is free yourself", "%s; what is free here: %v", asked, err)
	}
	return enoughMemory(need, free, asked, "free are")
}

func enoughMemory(need, have int64, asked, which string) doctor.Finding {
	if have < need {
		return doctor.Warn("lower search.parallel or sandbox.memory, or free memory: boxes that run out fail their problems",
			"%s, %s %s", asked, which, size(have))
	}
	return doctor.Fine("%s, %s %s", asked, which, size(have))
}

// Free space below which a campaign is in danger, and below which it cannot be
// expected to begin: the images take about half a gigabyte, and so may a log of
// Temporal's database with artifacts and repositories in a long campaign.
const (
	littleSpace = 5 << 30
	leastSpace  = 1 << 30
)

// disk looks at the file systems of the data folder and of Docker.
func (c *checkup) disk(ctx context.Context) doctor.Finding {
	existing, _, err := nearest(c.Data)
	if err != nil {
		return failed(err, "choose another data folder with --data")
	}
	data, err := spaceAt(existing)
	if err != nil {
		return doctor.Skip("look with `df`", "the space at %s: %v", existing, err)
	}
	places := []place{{"the data folder", data}}
	said := ""
	if f, err := c.facts(ctx); err == nil && f.Local {
		engine, err := spaceAt(f.Root)
		switch {
		case err != nil:
			said = fmt.Sprintf("; Docker's folder cannot be looked at: %v", err)
		case engine.Device == data.Device:
			places[0].what = "the data folder and Docker"
		default:
			places = append(places, place{"Docker (" + f.Root + ")", engine})
		}
	}
	return enoughSpace(places, said)
}

// place is a file system that something of ours is on.
type place struct {
	what string
	space
}

func enoughSpace(places []place, more string) doctor.Finding {
	const mend = "free some: `docker image prune` and `docker builder prune` remove what Docker no longer needs; --data names another data folder"
	least, parts := places[0].Free, []string{}
	for _, p := range places {
		least = min(least, p.Free)
		parts = append(parts, fmt.Sprintf("%s for %s", size(p.Free), p.what))
	}
	said := "free are " + strings.Join(parts, ", ") + more
	switch {
	case least < leastSpace:
		return doctor.Fail(mend, "%s; at least %s are needed", said, size(leastSpace))
	case least < littleSpace:
		return doctor.Warn(mend, "%s; %s are advised for a long campaign", said, size(littleSpace))
	}
	return doctor.Fine("%s", said)
}

// nearest is the path itself when it exists, else the lowest folder above it that does.
func nearest(path string) (existing string, info os.FileInfo, err error) {
	for {
		info, err = os.Stat(path)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return path, info, err
		}
		path = filepath.Dir(path)
	}
}

// ports looks whether the Web UI gets its usual port.
func (c *checkup) ports(context.Context) doctor.Finding {
	if c.Services != nil {
		return doctor.Skip("look at them where they run", "the services of the installation have ports of their own")
	}
	info, running, err := devstack.ReadInfo(c.Data)
	if err == nil && running && info.UIURL == uiURL(c.UIPort) {
		return doctor.Fine("%d is the Web UI of our own stack, process %d", c.UIPort, info.Pid)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.UIPort)))
	if err != nil {
		return doctor.Warn("stop what uses it, or choose one with --ui-port; without, any free one is taken", "the Web UI's usual port %d is taken: %v", c.UIPort, err)
	}
	if err := l.Close(); err != nil {
		return failed(err, "try again")
	}
	return doctor.Fine("%d is free for the Web UI; the other servers take any free one", c.UIPort)
}

func uiURL(port int) string { return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
