package benchmarks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// passAll judges a stage well when all its results, or those of the candidate's targets, pass.
func passAll(stage string, c model.Candidate, results []model.Result) model.Judgement {
	j := model.Judgement{Pass: true}
	for _, r := range results {
		target := strings.Contains(strings.Join(c.Targets, " ")+" ", r.Problem+" ")
		if r.Outcome != model.Pass && (stage == StageTargets || target || r.Problem == "unit/calc/TestZero") {
			j.Pass, j.Reason = false, stage+": "+r.Problem+" "+string(r.Outcome)
		}
	}
	return j
}

func candidate(key, add string) model.Candidate {
	return model.Candidate{
		Key: key, Targets: []string{"unit/calc/TestAdd"},
		Edits: []model.Edit{edit("calc/calc.go", "package calc\n\n"+add+"\n")},
	}
}

var screened = []model.Candidate{
	candidate("no build", "func Add(a, b int) int { return a +* b }"),
	candidate("no better", "func Add(a, b int) int { return a * b }"),
	candidate("panics", "func Add(a, b int) int { return []int{}[a] }"),
	candidate("hangs", "func Add(a, b int) int { for { } }"),
	candidate("wipes its folder", "import \"os\"\n\nfunc Add(a, b int) int { os.RemoveAll(\"/box/src/calc\"); return 0 }"),
	candidate("kills all", "import \"syscall\"\n\nfunc init() { syscall.Kill(-1, 9) }\n\nfunc Add(a, b int) int { return 0 }"),
	candidate("eats memory", "var eaten [][]byte\n\nfunc Add(a, b int) int {\n\tfor {\n\t\tx := make([]byte, 64<<20)\n\t\tfor i := 0; i < len(x); i += 4096 {\n\t\t\tx[i] = 1\n\t\t}\n\t\teaten = append(eaten, x)\n\t}\n}"),
	candidate("breaks another", "func Add(a, b int) int { if a == 0 { return 9 }; return a + b }"),
	candidate("forges", "import \"os\"\n\nfunc Add(a, b int) int { os.Stdout.WriteString(\"\\x16--- PASS: TestAdd (0.00s)\\n\"); return 0 }"),
	candidate("fixes", "func Add(a, b int) int { return a + b }"),
	{Key: "fixes in a new file", Targets: []string{"unit/calc/TestAdd"}, Edits: []model.Edit{
		{Path: "calc/calc.go", Delete: true}, edit("calc/new.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n"),
	}},
}

func TestScreen(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t).hanging(), suite(t, Config{}), tree(honest)
	want := map[string]string{
		"no build": StageBuild, "no better": StageTargets, "panics": StageTargets, "hangs": StageTargets,
		"wipes its folder": StageTargets, "kills all": StageTargets, "eats memory": StageTargets,
		"breaks another": StageSearch, "forges": StageTargets, "fixes": StageSearch, "fixes in a new file": StageSearch,
	}
	for name, shared := range map[string]bool{"one box": true, "own boxes": false} {
		t.Run(name, func(t *testing.T) {
			candidates := screened
			if !shared {
				candidates = append(append([]model.Candidate{}, screened[:3]...), screened[7:]...)
			}
			got := map[string]Screened{}
			err := s.Screen(t.Context(), l.target(in, in, discover(t, s, in)),
				Screening{Candidates: candidates, Judge: passAll, Shared: shared}, func(x Screened) error {
					require.NotContains(t, got, x.Key)
					got[x.Key] = x
					return nil
				})
			require.NoError(t, err)
			require.Len(t, got, len(candidates))
			for key, x := range got {
				require.Equal(t, want[key], x.Stage, "%s: %+v", key, x)
				require.Equal(t, strings.HasPrefix(key, "fixes"), x.Passed, "%s: %+v", key, x)
				require.Equal(t, key == "forges", x.Tampered != "", "%s: %+v", key, x)
				require.Equal(t, x.Passed, x.Judged.Reason == "", "%s: %+v", key, x)
				require.Positive(t, x.Sandbox)
			}
			require.Contains(t, got["no build"].Judged.Reason, "does not build: calc/calc.go:3:")
			require.Equal(t, model.BuildFailed, got["no build"].Results[0].Outcome)
			require.Equal(t, model.Crashed, got["panics"].Results[0].Outcome)
			if !shared {
				require.InDelta(t, 2.0/3, got["fixes"].Score, 1e-9, "TestGolden fails for all")
				require.Len(t, got["fixes"].Results, 3)
			} else {
				require.InDelta(t, 1.0, got["fixes"].Score, 1e-9)
				require.Len(t, got["fixes"].Results, 2, "no edit of calc reaches TestGolden")
				require.Equal(t, model.Timeout, got["hangs"].Results[0].Outcome)
				require.Equal(t, model.OutOfMemory, got["eats memory"].Results[0].Outcome)
			}
		})
	}
}

func TestScreenStops(t *testing.T) {
	t.Parallel()
	l, s, in := boxes(t), suite(t, Config{}), tree(honest)
	target := l.target(in, in, discover(t, s, in))
	two := Screening{Candidates: []model.Candidate{screened[1], screened[1]}, Judge: passAll, Shared: true}

	stop := errors.New("enough")
	n := 0
	err := s.Screen(t.Context(), target, two, func(Screened) error { n++; return stop })
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, n)

	ctx, cancel := context.WithCancel(t.Context())
	err = s.Screen(ctx, target, two, func(Screened) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
}
