package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// listBytes bounds what a listing may hold, whatever its limit: the longest path
// of Linux for each of 16,384 entries.
const listBytes = 64 << 20

// List names what is below a folder; see sandbox.Box. The listing is made as
// Runner, like Get.
func (b *box) List(ctx context.Context, dir string, limit int) ([]sandbox.Entry, bool, error) {
	if err := insideWork(dir); err != nil {
		return nil, false, &sandbox.Error{Op: "list", Object: dir, Err: err}
	}
	var raw bytes.Buffer
	collect := func(p []byte) error {
		if raw.Len()+len(p) > listBytes {
			return fmt.Errorf("%w: a listing of more than %d bytes", wire.ErrFrame, listBytes)
		}
		raw.Write(p)
		return nil
	}
	r := wire.Request{Op: wire.OpList, Path: dir, Limit: int64(max(limit, 0))}
	if err := b.call(ctx, dir, sandbox.Runner, r, nil, collect); err != nil {
		return nil, false, err
	}
	entries, complete, err := readEntries(&raw)
	if err != nil {
		return nil, false, &sandbox.Error{Op: "list", Object: dir, Err: err}
	}
	return entries, complete, nil
}

func readEntries(raw io.Reader) (out []sandbox.Entry, complete bool, err error) {
	complete = true
	for d := json.NewDecoder(raw); ; {
		var e wire.Entry
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return out, complete, nil
		case err != nil:
			return nil, false, fmt.Errorf("%w: %w", wire.ErrFrame, err)
		case e.Kind == wire.EntryMore:
			complete = false
		default:
			out = append(out, sandbox.Entry{Path: e.Path, Kind: sandbox.EntryKind(e.Kind), Exec: e.Exec, Size: e.Size})
		}
	}
}
