package repo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

func TestCommitIsDeterministic(t *testing.T) {
	ctx := context.Background()
	r, other := newRepo(t), newRepo(t)
	spec := repo.CommitSpec{
		Subject: "Add\nfiles", Body: "Why.\n\n\nMore.\x00  \n", When: when.Add(500 * time.Millisecond),
		Trailers: []repo.Trailer{{Key: "Ratchet-Change", Value: "c1"}, {Key: "Ratchet-Campaign", Value: "x y"}},
		Author:   repo.Identity{Name: "Ada Löve", Email: "ada@example.com"},
		Edits:    []model.Edit{{Path: "b", Data: []byte("b")}, {Path: "a/x", Data: []byte("a")}},
	}
	first, err := r.Commit(ctx, spec)
	require.NoError(t, err)
	again, err := r.Commit(ctx, spec)
	require.NoError(t, err)
	require.Equal(t, first, again)
	spec.When = spec.When.In(time.FixedZone("x", 3600)).Truncate(time.Second)
	spec.Edits[0], spec.Edits[1] = spec.Edits[1], spec.Edits[0]
	third, err := other.Commit(ctx, spec)
	require.NoError(t, err)
	require.Equal(t, first, third, "the zone of the time and the order of edits do not matter")
	require.Equal(t, "Add files\n\nWhy.\n\nMore.\n\nRatchet-Change: c1\nRatchet-Campaign: x y", git(t, r.Path(), "log", "-1", "--format=%B", first.Hash))
	require.Equal(t, "Ada Löve <ada@example.com> 1700000000", git(t, r.Path(), "log", "-1", "--format=%an <%ae> %at", first.Hash))
	fsck(t, r.Path())
}

func TestCommitRefuses(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	base := commit(t, r, "", "base", "a", "1", "dir/b", "2").Hash
	good := []model.Edit{{Path: "a", Data: []byte("new")}}
	edit := func(e ...model.Edit) repo.CommitSpec {
		return repo.CommitSpec{Parent: base, Subject: "s", When: when, Edits: e}
	}
	with := func(change func(*repo.CommitSpec)) repo.CommitSpec {
		spec := edit(good...)
		change(&spec)
		return spec
	}
	for name, c := range map[string]struct {
		spec repo.CommitSpec
		want error
	}{
		"no edits":           {edit(), repo.ErrNoChange},
		"same content":       {edit(model.Edit{Path: "a", Data: []byte("1")}), repo.ErrNoChange},
		"nothing at all":     {repo.CommitSpec{Subject: "s", When: when}, repo.ErrNoChange},
		"delete what is not": {edit(model.Edit{Path: "zzz", Delete: true}), repo.ErrConflict},
		"delete below file":  {edit(model.Edit{Path: "a/x", Delete: true}), repo.ErrConflict},
		"delete a folder":    {edit(model.Edit{Path: "dir", Delete: true}), repo.ErrConflict},
		"file over folder":   {edit(model.Edit{Path: "dir"}), repo.ErrConflict},
		"folder over file":   {edit(model.Edit{Path: "a/x"}), repo.ErrConflict},
		"twice":              {edit(good[0], good[0]), repo.ErrConflict},
		"git folder":         {edit(model.Edit{Path: ".git/config"}), repo.ErrInvalid},
		"GIT folder":         {edit(model.Edit{Path: "dir/.GIT/config"}), repo.ErrInvalid},
		"up":                 {edit(model.Edit{Path: "../x"}), repo.ErrInvalid},
		"absolute":           {edit(model.Edit{Path: "/x"}), repo.ErrInvalid},
		"unclean":            {edit(model.Edit{Path: "dir//x"}), repo.ErrInvalid},
		"the root":           {edit(model.Edit{Path: "."}), repo.ErrInvalid},
		"zero byte":          {edit(model.Edit{Path: "x\x00y"}), repo.ErrInvalid},
		"submodule":          {edit(model.Edit{Path: "a", Mode: 0o160000}), repo.ErrInvalid},
		"no subject":         {with(func(s *repo.CommitSpec) { s.Subject = " \n" }), repo.ErrInvalid},
		"no time":            {with(func(s *repo.CommitSpec) { s.When = time.Time{} }), repo.ErrInvalid},
		"forged header":      {with(func(s *repo.CommitSpec) { s.Author = repo.Identity{Name: "a\nparent x", Email: "b"} }), repo.ErrInvalid},
		"forged address":     {with(func(s *repo.CommitSpec) { s.Author = repo.Identity{Name: "a", Email: "b> <c"} }), repo.ErrInvalid},
		"bad trailer key":    {with(func(s *repo.CommitSpec) { s.Trailers = []repo.Trailer{{Key: "a b", Value: "c"}} }), repo.ErrInvalid},
		"no trailer value":   {with(func(s *repo.CommitSpec) { s.Trailers = []repo.Trailer{{Key: "a", Value: "\n"}} }), repo.ErrInvalid},
		"no such parent":     {with(func(s *repo.CommitSpec) { s.Parent = strings.Repeat("1", 40) }), repo.ErrNoRef},
		"no hash":            {with(func(s *repo.CommitSpec) { s.Parent = "main" }), repo.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Commit(ctx, c.spec)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// TestCommitRoundTrip makes random commits and expects each snapshot to be the
// tree that model.Tree computes, through a new handle and by the git command's check.
func TestCommitRoundTrip(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newRepo(t)
		want, parent := model.Tree{}, ""
		for i := range 12 {
			edits := randomEdits(rng, want)
			c, err := r.Commit(ctx, repo.CommitSpec{Parent: parent, Edits: edits, Subject: fmt.Sprint(i), When: when})
			if next := want.With(edits...); sameFiles(next, want) {
				require.ErrorIs(t, err, repo.ErrNoChange)
				continue
			} else {
				want = next
			}
			require.NoError(t, err, "%v", edits)
			for _, reader := range []*repo.Repo{r, open(t, r.Path())} {
				got, err := reader.Snapshot(ctx, c.Hash)
				require.NoError(t, err)
				require.True(t, sameFiles(want, got), "seed %d, commit %d", seed, i)
				require.Equal(t, c.Tree, got.Hash)
			}
			parent = c.Hash
		}
		require.NoError(t, r.SetRef(ctx, main, "", parent))
		fsck(t, r.Path())
	}
}

// randomEdits changes a few files, and now and then puts a folder where a file was.
func randomEdits(rng *rand.Rand, t model.Tree) []model.Edit {
	names := []string{"a", "a.b", "a b", "ä", "日本", "-x", "git", ".hidden", "x~1", "…"}
	modes := []uint32{0, model.ModeFile, model.ModeExec, model.ModeSymlink}
	edits := map[string]model.Edit{}
	for _, f := range t.Files {
		if rng.IntN(5) == 0 {
			edits[f.Path] = model.Edit{Path: f.Path, Delete: true}
		}
	}
	for range 1 + rng.IntN(6) {
		var parts []string
		for range 1 + rng.IntN(3) {
			parts = append(parts, names[rng.IntN(len(names))])
		}
		path := strings.Join(parts, "/")
		edit := model.Edit{Path: path, Data: []byte(fmt.Sprint(rng.IntN(4))), Mode: modes[rng.IntN(len(modes))]}
		if _, taken := edits[path]; !taken && fits(t, edits, path) {
			edits[path] = edit
		}
	}
	var out []model.Edit
	for _, e := range edits {
		out = append(out, e)
	}
	return out
}

// fits says whether path can be a file beside all others.
func fits(t model.Tree, edits map[string]model.Edit, path string) bool {
	var all []model.Edit
	for _, e := range edits {
		all = append(all, e)
	}
	for _, f := range t.With(all...).Files {
		if strings.HasPrefix(f.Path, path+"/") || strings.HasPrefix(path, f.Path+"/") {
			return false
		}
	}
	return true
}

func sameFiles(a, b model.Tree) bool {
	if len(a.Files) != len(b.Files) {
		return false
	}
	for i := range a.Files {
		x, y := a.Files[i], b.Files[i]
		if x.Path != y.Path || x.Mode != y.Mode || string(x.Data) != string(y.Data) {
			return false
		}
	}
	return true
}

// TestOutsideRepack reads through a handle whose packs were replaced meanwhile.
func TestOutsideRepack(t *testing.T) {
	ctx := context.Background()
	r := importTo(t, workTree(t), repo.ImportOptions{})
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	_, err = r.Snapshot(ctx, tip)
	require.NoError(t, err)
	for i := range 3 {
		c := commit(t, r, tip, "more", "n.txt", fmt.Sprint(i))
		require.NoError(t, r.SetRef(ctx, main, tip, c.Hash))
		git(t, r.Path(), "repack", "-adq")
		git(t, r.Path(), "prune-packed", "-q")
		tree, err := r.Snapshot(ctx, c.Hash)
		require.NoError(t, err)
		f, ok := tree.Find("n.txt")
		require.True(t, ok)
		require.Equal(t, fmt.Sprint(i), string(f.Data))
		tip = c.Hash
	}
	log, err := r.Log(ctx, tip, 0)
	require.NoError(t, err)
	require.Len(t, log, 5)
}

func TestSnapshotFails(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	git(t, src, "-c", "protocol.file.allow=always", "submodule", "add", "-q", workTree(t), "third/party")
	git(t, src, "commit", "-qm", "submodule")
	r := open(t, src)
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	_, err = r.Snapshot(ctx, tip)
	require.ErrorIs(t, err, repo.ErrUnsupported)
	require.ErrorContains(t, err, "third/party")
	require.ErrorContains(t, err, "copy its files into the repository")

	damaged := newRepo(t)
	c := commit(t, damaged, "", "c", "dir/file", "content that is nowhere else")
	blob := git(t, damaged.Path(), "rev-parse", c.Hash+":dir/file")
	path := filepath.Join(damaged.Path(), "objects", blob[:2], blob[2:])
	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, os.Truncate(path, 5))
	_, err = damaged.Snapshot(ctx, c.Hash)
	require.ErrorIs(t, err, repo.ErrCorrupt)
	require.ErrorContains(t, err, "dir/file")
	require.NoError(t, os.Remove(path))
	_, err = damaged.Snapshot(ctx, c.Hash)
	require.ErrorIs(t, err, repo.ErrCorrupt)
	again := commit(t, damaged, "", "c", "dir/file", "content that is nowhere else")
	require.Equal(t, c, again)
	_, err = damaged.Snapshot(ctx, c.Hash)
	require.NoError(t, err, "writing the commit again mends it")
}

// TestTornObject covers a power cut that left a file with the right name and
// the wrong content.
func TestTornObject(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	c := commit(t, r, "", "c", "file", "content")
	blob := git(t, r.Path(), "rev-parse", c.Hash+":file")
	path := filepath.Join(r.Path(), "objects", blob[:2], blob[2:])
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, nil, 0o444))
	require.Equal(t, c, commit(t, r, "", "c", "file", "content"))
	require.NoError(t, r.SetRef(ctx, main, "", c.Hash))
	fsck(t, r.Path())
}

// TestHostileTree covers names that git refuses and go-git accepts.
func TestHostileTree(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{".git", ".GIT", "..", "."} {
		r := newRepo(t)
		blob := git(t, r.Path(), "rev-parse", commit(t, r, "", "c", "file", "x").Hash+":file")
		path := filepath.Join(t.TempDir(), "tree")
		raw := make([]byte, 20)
		_, err := fmt.Sscanf(blob, "%x", &raw)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append([]byte("100644 "+name+"\x00"), raw...), 0o644))
		tree := git(t, r.Path(), "hash-object", "-t", "tree", "--literally", "-w", path)
		hash := git(t, r.Path(), "commit-tree", "-m", "hostile", tree)
		_, err = r.Snapshot(ctx, hash)
		require.ErrorIs(t, err, repo.ErrCorrupt, name)
	}
}

// TestConcurrentUse reads, commits and closes at once; it is for the race detector.
func TestConcurrentUse(t *testing.T) {
	ctx := context.Background()
	r := importTo(t, workTree(t), repo.ImportOptions{})
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	var g errgroup.Group
	for i := range 6 {
		g.Go(func() error {
			for j := range 5 {
				c, err := r.Commit(ctx, repo.CommitSpec{Parent: tip, Subject: "s", When: when, Edits: []model.Edit{{Path: "n", Data: fmt.Append(nil, i%2, j)}}})
				if err != nil {
					return err
				}
				tree, err := r.Snapshot(ctx, c.Hash)
				if err != nil {
					return err
				}
				if f, _ := tree.Find("n"); string(f.Data) != fmt.Sprint(i%2, j) {
					return fmt.Errorf("commit %d of %d holds %q", j, i, f.Data)
				}
				if err := r.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	fsck(t, r.Path())
}
