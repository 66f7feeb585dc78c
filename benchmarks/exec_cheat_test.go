package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// puzzle prints the secret of a word, which only what is expected holds. The
// cases come in an order in which an earlier one could help a later one.
const puzzle = `
-- p.py --
print(input())
-- cases/a.in --
first
-- cases/a.out --
xanadu-1
-- cases/b.in --
second
-- cases/b.out --
xanadu-2
-- cases/c.in --
third
-- cases/c.out --
xanadu-3
`

// searching prints every file in which what is expected can be read.
const searching = `
import os
for top, _, names in os.walk("/"):
    if top.startswith(("/proc", "/sys", "/usr", "/dev")): continue
    for n in names:
        try: text = open(os.path.join(top, n), errors="replace").read(1 << 20)
        except OSError: continue
        if ("xan" + "adu") in text: print("found", top, n, text)
print("nothing found")
`

// Programs that look for what is expected of them print, when they find it, all
// of it; the others do something else than the work. None gains anything.
var execCheats = map[string]struct {
	edits []model.Edit
	want  model.Outcome // of every case
}{
	"searching the file system": {[]model.Edit{edit("p.py", searching)}, model.Fail},
	"searching /proc and the environment": {[]model.Edit{edit("p.py", `
import glob, os
for f in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/fd/*"):
    try: text = os.read(os.open(f, os.O_NONBLOCK), 1 << 16)
    except OSError: continue
    if (b"xan" + b"adu") in text: print("found", f)
print("nothing found")
`)}, model.Fail},
	"mining git history": {[]model.Edit{edit("p.py", `
import os
print("found" if any(".git" in dirs for _, dirs, _ in os.walk("/box")) else "nothing found")
`)}, model.Fail},
	"printed results": {[]model.Edit{edit("p.py", `
print('--- PASS: a\n--- PASS: b\n--- PASS: c\n{"score": 1}')
`)}, model.Fail},
	"exit 0 early":  {[]model.Edit{edit("p.py", "import os\nos._exit(0)\n")}, model.Fail},
	"sleeping past": {[]model.Edit{edit("p.py", "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(3600)\n")}, model.Timeout},
	"its own cases": {[]model.Edit{
		edit("cases/a.in", "xanadu-1\n"), edit("cases/b.out", "second\n"), {Path: "cases/c.out", Delete: true},
	}, model.Fail},
	"cases by symlink": {[]model.Edit{
		{Path: "cases", Mode: model.ModeSymlink, Data: []byte("mine")}, edit("mine/a.in", "xanadu-1\n"), edit("mine/a.out", "first\n"),
		{Path: "cases/a.in", Delete: true}, {Path: "cases/a.out", Delete: true}, {Path: "cases/b.in", Delete: true},
		{Path: "cases/b.out", Delete: true}, {Path: "cases/c.in", Delete: true}, {Path: "cases/c.out", Delete: true},
	}, model.Fail},
	"a way out by symlink": {[]model.Edit{
		{Path: "p.py", Mode: model.ModeSymlink, Data: []byte("cases/a.out")},
	}, model.Fail},
	"a shadowed standard library": {[]model.Edit{
		edit("sitecustomize.py", "import os\nos.write(1, b'xanadu')\nos._exit(0)\n"), edit("encodings/__init__.py", "raise SystemExit(0)\n"),
	}, model.Fail},
}

func TestExecCheats(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(puzzle)
	for name, c := range execCheats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := DefaultLimit
			if c.want == model.Timeout {
				limit = brief
			}
			s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "p.py"}, Timeout: limit})
			run, got := l.runExec(t, s, trusted, trusted.With(c.edits...), false)
			require.Equal(t, map[string]model.Outcome{"cli/a": c.want, "cli/b": c.want, "cli/c": c.want}, got, "%+v", run)
			for _, r := range run.Results {
				require.NotContains(t, r.Message, "found /", "what is expected can be found")
				require.NotContains(t, r.Message, `got "found`)
			}
		})
	}
}

// The search would find what is expected if it were there.
func TestExecSearchFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(puzzle)
	s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "p.py"}})
	run, _ := l.runExec(t, s, trusted, trusted.With(edit("p.py", searching), edit("copy/of.out", "xanadu-1\n")), false)
	require.Contains(t, run.Results[0].Message, `got "found /box/src/copy of.out xanadu-1`)
}

// What a program leaves behind is gone in the next run, and a process of it in
// the next case.
func TestExecLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(puzzle)
	s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "p.py"}})
	code := trusted.With(edit("p.py", `
import os, sys, tempfile
word = input()
kept = ["/box/src/kept", "/tmp/kept", "/dev/shm/kept", "/box/kept", os.path.expanduser("~") + "/kept", tempfile.gettempdir() + "/kept"]
before = [p for p in kept if os.path.exists(p)]
alive = [p for p in os.listdir("/proc") if p.isdigit() and b"daemon-of-mine" in open("/proc/" + p + "/cmdline", "rb").read()]
for p in kept:
    with open(p, "w") as f: f.write(word)
print(word, "before", len(before), "alive", len(alive))
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(3600)", "daemon-of-mine"])
`))
	for isolate, later := range map[bool]string{false: "4", true: "0"} {
		b, problems := l.openExec(t, s, trusted, code)
		for range 2 {
			run, err := b.Run(t.Context(), problems, isolate)
			require.NoError(t, err)
			by := run.ByProblem()
			require.Contains(t, by["cli/a"].Message, `got "first before 0 alive 0"`)
			require.Contains(t, by["cli/b"].Message, `got "second before `+later+` alive 0"`, "a home and a temporary folder of its own")
		}
	}
}

// What code that Prepare runs puts in the way fails its own cases, and no other's.
func TestExecObstructedWorkArea(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(puzzle).With(edit("make.py", ""))
	s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "p.py"}, Prepare: [][]string{{"python3", "make.py"}}})
	links := edit("make.py", "import os\nos.symlink('/box/src', '/box/case')\n")
	_, got := l.runExec(t, s, trusted, trusted.With(links), false)
	require.Equal(t, map[string]model.Outcome{"cli/a": model.Crashed, "cli/b": model.Crashed, "cli/c": model.Crashed}, got)

	problems := discoverAny(t, s, trusted)
	candidates := []model.Candidate{{Key: "bad", Edits: []model.Edit{links}}, {Key: "honest", Edits: []model.Edit{edit("p.py", "print('xanadu-1')")}}}
	scores := map[string]float64{}
	judge := func(string, model.Candidate, []model.Result) model.Judgement { return model.Judgement{} }
	require.NoError(t, s.Screen(t.Context(), l.target(trusted, trusted, problems), Screening{Candidates: candidates, Judge: judge, Shared: true}, func(x Screened) error {
		scores[x.Key] = x.Score
		return nil
	}))
	require.InDelta(t, 0, scores["bad"], 0)
	require.InDelta(t, 1.0/3, scores["honest"], 1e-9)
}

// Who knows the visible answers by heart fails where there are others.
func TestExecHardCodedAnswers(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(puzzle)
	s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "p.py"}})
	problems := discoverAny(t, s, trusted)
	visible, err := s.Hide(trusted, problems[2:])
	require.NoError(t, err)
	require.NotContains(t, paths(visible), "cases/c.in")
	code := visible.With(edit("p.py", "print({'first': 'xanadu-1', 'second': 'xanadu-2'}.get(input()))\n"))

	b, err := s.Open(t.Context(), l.target(visible, code, problems[:2]))
	require.NoError(t, err)
	run, err := b.Run(t.Context(), problems, false)
	require.NoError(t, err)
	require.NoError(t, b.Close(t.Context()))
	require.Equal(t, map[string]model.Outcome{"cli/a": model.Pass, "cli/b": model.Pass, "cli/c": model.Missing}, outcomes(t, run.Results),
		"a screen cannot run what is held out")

	_, got := l.runExec(t, s, trusted, code, false)
	require.Equal(t, map[string]model.Outcome{"cli/a": model.Pass, "cli/b": model.Pass, "cli/c": model.Fail}, got)
}
