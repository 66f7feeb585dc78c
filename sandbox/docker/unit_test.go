package docker

import (
	"testing"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

func TestConfigIsValidated(t *testing.T) {
	for _, c := range []Config{{Epoch: 1}, {Stack: "Upper", Epoch: 1}, {Stack: "ok"}, {Stack: "a b", Epoch: 1}} {
		_, err := New(t.Context(), c)
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		require.NotErrorIs(t, err, sandbox.ErrUnavailable)
	}
}

func TestOnlyOrphansAreReaped(t *testing.T) {
	now := time.Now()
	past, future := now.Add(-time.Minute).Format(time.RFC3339), now.Add(time.Minute).Format(time.RFC3339)
	e := &Engine{cfg: Config{Stack: "mine", Epoch: 5}}
	for _, c := range []struct {
		stack, epoch, deadline string
		orphan                 bool
	}{
		{"mine", "4", future, true},
		{"mine", "5", past, false},
		{"mine", "6", past, false},
		{"mine", "?", past, false},
		{"other", "1", future, false},
		{"other", "9", past, true},
		{"other", "1", "", false},
		{"", "", "", false},
	} {
		labels := map[string]string{labelStack: c.stack, labelEpoch: c.epoch, labelDeadline: c.deadline}
		require.Equal(t, c.orphan, e.orphan(labels, now), "%+v", c)
	}
}

func TestEveryLimitThatIsNotEnforcedIsSeen(t *testing.T) {
	spec := sandbox.Spec{Limits: sandbox.DefaultLimits}
	l := spec.Limits
	good := wire.Report{
		Memory: l.Memory, Pids: l.Pids, CPUs: l.CPUs, Disk: l.Disk, FileSize: l.FileSize, CapEff: "0000", CapBnd: "0000",
		NoNewPrivs: true, Seccomp: 2, ReadOnly: true, UID: wire.BuilderID,
	}
	require.NoError(t, verify(good, spec, true))
	for name, spoil := range map[string]func(*wire.Report){
		"memory missing":  func(r *wire.Report) { r.Memory = -1 },
		"memory too much": func(r *wire.Report) { r.Memory *= 2 },
		"swap":            func(r *wire.Report) { r.Swap = 1 << 30 },
		"swap unknown":    func(r *wire.Report) { r.Swap = -1 },
		"pids":            func(r *wire.Report) { r.Pids = -1 },
		"cpus":            func(r *wire.Report) { r.CPUs = -1 },
		"disk":            func(r *wire.Report) { r.Disk *= 2 },
		"file size":       func(r *wire.Report) { r.FileSize = -1 },
		"capability":      func(r *wire.Report) { r.CapBnd = "0400" },
		"privileges":      func(r *wire.Report) { r.NoNewPrivs = false },
		"seccomp":         func(r *wire.Report) { r.Seccomp = 0 },
		"root":            func(r *wire.Report) { r.ReadOnly = false },
		"user":            func(r *wire.Report) { r.UID = 0 },
	} {
		r := good
		spoil(&r)
		require.ErrorIs(t, verify(r, spec, true), sandbox.ErrLimit, name)
	}
	noSwap := good
	noSwap.Swap, noSwap.SwapOff = -1, true
	require.NoError(t, verify(noSwap, spec, true))
	require.ErrorIs(t, missingLimits(system.Info{MemoryLimit: true, CPUCfsQuota: true}), sandbox.ErrLimit)
	require.NoError(t, missingLimits(system.Info{MemoryLimit: true, CPUCfsQuota: true, PidsLimit: true}))
}

func TestSetupLinesWithoutAShell(t *testing.T) {
	argv, err := words(`go build -ldflags "-s -w" './cmd/a b'`)
	require.NoError(t, err)
	require.Equal(t, []string{"go", "build", "-ldflags", "-s -w", "./cmd/a b"}, argv)
	for _, line := range []string{"a | b", "a && b", "echo $HOME", "a > b", "ls *", "", "  ", `a "b`, "a\nb", "`a`"} {
		_, err := words(line)
		require.Error(t, err, "%q", line)
	}
}

func TestModulesThatAreFetched(t *testing.T) {
	f := func(path, data string) model.File {
		return model.File{Path: path, Mode: model.ModeFile, Data: []byte(data)}
	}
	const need = "module m\n\ngo 1.22\n\nrequire example.com/x v1.0.0\n"
	for name, c := range map[string]struct {
		files []model.File
		want  []module
	}{
		"none":       {[]model.File{f("go.mod", "module m\n\ngo 1.22\n")}, nil},
		"root":       {[]model.File{f("go.mod", need)}, []module{{dir: "."}}},
		"vendored":   {[]model.File{f("go.mod", need), f("vendor/modules.txt", "")}, nil},
		"replaced":   {[]model.File{f("go.mod", need+"\nreplace example.com/x => ./x\n")}, nil},
		"sub-folder": {[]model.File{f("a/go.mod", need), f("testdata/go.mod", need), f("vendor/v/go.mod", need), f("_x/go.mod", need)}, []module{{dir: "a"}}},
		"workspace":  {[]model.File{f("a/go.mod", need), f("go.work", "go 1.22\n\nuse ./a\n")}, []module{{dir: ".", workspace: true}, {dir: "a"}}},
		"broken":     {[]model.File{f("go.mod", "this is no go.mod")}, nil},
	} {
		require.Equal(t, c.want, goModules(model.Tree{Files: c.files}), name)
	}
}

func TestTheImageKeyCoversItsContent(t *testing.T) {
	base := Target{Image: HostGo, Dir: "/box/src", Tree: model.Tree{Files: []model.File{{Path: "a", Mode: model.ModeFile, Data: []byte("b")}}}}
	keys := map[string]string{}
	for name, change := range map[string]func(*Target){
		"same": func(*Target) {},
		"dir":  func(t *Target) { t.Dir = "/box/other" },
		"tree": func(t *Target) { t.Tree = model.Tree{Files: []model.File{{Path: "ab", Mode: model.ModeFile}}} },
		"mode": func(t *Target) {
			t.Tree = model.Tree{Files: []model.File{{Path: "a", Mode: model.ModeExec, Data: []byte("b")}}}
		},
		"setup": func(t *Target) { t.Setup = []string{"x"} },
		"warm":  func(t *Target) { t.Warm = []sandbox.Command{{Argv: []string{"go", "vet"}}} },
	} {
		target := base
		change(&target)
		key, err := targetKey("base", target)
		require.NoError(t, err)
		require.Empty(t, keys[key], "%s has the key of %s", name, keys[key])
		keys[key] = name
	}
}
