package docker

import (
	"bufio"
	"fmt"
	"path"
	"strings"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// announce checks files that are to be laid below dir and describes them to
// the helper, which checks again against what is really there.
func announce(dir string, files []model.File) ([]wire.File, error) {
	if err := insideWork(dir); err != nil {
		return nil, err
	}
	links := map[string]bool{}
	out := make([]wire.File, 0, len(files))
	for _, f := range files {
		a, err := announceOne(f)
		if err != nil {
			return nil, both(sandbox.ErrPath, err)
		}
		links[f.Path] = a.Symlink != ""
		out = append(out, a)
	}
	for _, f := range files {
		for p := path.Dir(f.Path); p != "."; p = path.Dir(p) {
			if links[p] {
				return nil, fmt.Errorf("%w: %q is below the symlink %q", sandbox.ErrPath, f.Path, p)
			}
		}
	}
	return out, nil
}

func announceOne(f model.File) (wire.File, error) {
	if err := wire.CheckPath(f.Path); err != nil {
		return wire.File{}, err
	}
	switch f.Mode {
	case model.ModeSymlink:
		return wire.File{Path: f.Path, Symlink: string(f.Data)}, wire.CheckSymlink(f.Path, string(f.Data))
	case model.ModeFile, model.ModeExec:
		return wire.File{Path: f.Path, Exec: f.Mode == model.ModeExec, Size: int64(len(f.Data))}, nil
	}
	return wire.File{}, fmt.Errorf("%q has the mode %o, which cannot be laid in", f.Path, f.Mode)
}

func insideWork(dir string) error {
	if dir == sandbox.WorkDir {
		return nil
	}
	rel, ok := strings.CutPrefix(dir, sandbox.WorkDir+"/")
	if !ok || wire.CheckPath(rel) != nil {
		return fmt.Errorf("%w: %q is not a clean path inside %s", sandbox.ErrPath, dir, sandbox.WorkDir)
	}
	return nil
}

// sendFiles sends a request and the bytes of its files, many small ones in one
// write. Nothing else is sent meanwhile.
func (s *session) sendFiles(r wire.Request, files []model.File) error {
	buffer := bufio.NewWriterSize(s.conn.Conn, wire.Chunk)
	out := wire.NewWriter(buffer)
	if err := out.WriteJSON(wire.KindRequest, r); err != nil {
		return err
	}
	for _, f := range files {
		if f.Mode == model.ModeSymlink {
			continue
		}
		if err := out.WriteChunks(wire.KindData, f.Data); err != nil {
			return err
		}
	}
	return buffer.Flush()
}
