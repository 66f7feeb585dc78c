package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func execSuiteOf(t testing.TB, c Config) *execSuite {
	t.Helper()
	if c.Name == "" {
		c.Name = "cli"
	}
	c.Kind = KindExec
	if c.Command == nil {
		c.Command = []string{"python3", "calc.py"}
	}
	s, err := New(c)
	require.NoError(t, err)
	return s.(*execSuite)
}

const foldedCases = `
-- calc.py --
print(1)
-- cases/README.md --
Cases of the calculator.
-- cases/.gitattributes --
* -text
-- cases/add.in --
1 2
-- cases/add.out --
3
-- cases/add.args --
--sum
two words
-- cases/deep/er/input --
-- cases/deep/er/expected --
none
-- cases/deep/er/exit --
2
-- cases/only.args --
--version
-- cases/only.out --
v1
-- cases-other/x.in --
not ours
`

func TestFoldedCases(t *testing.T) {
	s := execSuiteOf(t, Config{Cases: "cases"})
	in := tree(foldedCases)
	problems := discoverAny(t, s, in)
	require.Equal(t, []string{"cli/add", "cli/deep/er", "cli/only"}, ids(problems))
	require.Equal(t, model.Problem{ID: "cli/deep/er", Suite: "cli", Package: "deep", Name: "er", Split: model.SplitSearch}, problems[1])

	cases, err := s.read(in)
	require.NoError(t, err)
	require.Equal(t, []string{"--sum", "two words"}, cases[0].args)
	require.Equal(t, "1 2\n", string(cases[0].input))
	require.Equal(t, 2, cases[1].exit)
	require.Nil(t, cases[1].args)

	seen, err := s.Hide(in, problems[:2])
	require.NoError(t, err)
	require.Equal(t, []string{"cli/only"}, ids(discoverAny(t, s, seen)))
	require.NotContains(t, paths(seen), "cases/add.args")
	require.Contains(t, paths(seen), "cases/README.md")
	same, err := s.Hide(in, nil)
	require.NoError(t, err)
	require.Equal(t, in, same)
}

const linedCases = `{"id":"add","input":"1 2\n","args":["--sum"],"expected":"3"}

{"id":"json/obj","input":"","expected":{"a":1.0},"tolerance":0.5}
{"id":"fails","expected":"","exit":3,"compare":"exact"}
`

func TestLinedCases(t *testing.T) {
	s := execSuiteOf(t, Config{Root: "app", Cases: "c.jsonl"})
	in := model.Tree{}.With(edit("app/c.jsonl", linedCases))
	problems := discoverAny(t, s, in)
	require.Equal(t, []string{"cli/add", "cli/fails", "cli/json/obj"}, ids(problems))
	cases, err := s.read(in)
	require.NoError(t, err)
	require.Equal(t, []Compare{CompareTrimmed, CompareJSON, CompareExact}, []Compare{cases[0].compare, cases[1].compare, cases[2].compare})
	require.Equal(t, []float64{1e-9, 0.5}, []float64{cases[0].tolerance, cases[1].tolerance})
	require.Equal(t, `{"a":1.0}`, string(cases[1].expected))

	seen, err := s.Hide(in, problems[:1])
	require.NoError(t, err)
	f, _ := seen.Find("app/c.jsonl")
	require.Equal(t, linedCases[strings.Index(linedCases, "\n")+1:], string(f.Data))
	require.Equal(t, []string{"cli/fails", "cli/json/obj"}, ids(discoverAny(t, s, seen)))
}

func TestBadCases(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":    {`{"id":"a","expected":"","outputs":""}`, `c.jsonl:1: json: unknown field "outputs"`},
		"no id":          {`{"expected":""}`, `c.jsonl:1: "id" is missing`},
		"no expected":    {`{"id":"a"}`, `c.jsonl:1: "expected" is missing`},
		"twice":          {"{\"id\":\"a\",\"expected\":\"\"}\n\n{\"id\":\"a\",\"expected\":\"\"}", `c.jsonl:3: the id "a" is on line 1 already`},
		"bad id":         {`{"id":"../a","expected":""}`, "c.jsonl:1: id"},
		"empty id":       {`{"id":"","expected":""}`, "c.jsonl:1: id"},
		"control":        {`{"id":"a\u0007","expected":""}`, "cannot be printed"},
		"long":           {`{"id":"` + strings.Repeat("a", 300) + `","expected":""}`, "longer than"},
		"two values":     {`{"id":"a","expected":""} {}`, "more than one value"},
		"no JSON":        {`id: a`, "c.jsonl:1: invalid"},
		"bad compare":    {`{"id":"a","expected":"","compare":"fuzzy"}`, `"fuzzy"`},
		"value as text":  {`{"id":"a","expected":1,"compare":"exact"}`, "no string"},
		"bad tolerance":  {`{"id":"a","expected":1,"tolerance":-1}`, "tolerance"},
		"a list of them": {`[]`, "c.jsonl:1: json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := execSuiteOf(t, Config{Cases: "c.jsonl"})
			_, err := s.Discover(t.Context(), Target{Trusted: model.Tree{}.With(edit("c.jsonl", c.text))})
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.want)
		})
	}
	for name, c := range map[string]struct {
		edits []model.Edit
		want  string
	}{
		"no expected":   {[]model.Edit{edit("cases/a.in", "")}, "cases/a: what is expected is missing"},
		"no input":      {[]model.Edit{edit("cases/a.out", "")}, "cases/a: the input is missing"},
		"other file":    {[]model.Edit{edit("cases/a.txt", "")}, "cases/a.txt: not a file of a case"},
		"bare input":    {[]model.Edit{edit("cases/input", "")}, "cases/input: not a file of a case"},
		"in two places": {[]model.Edit{edit("cases/a.in", ""), edit("cases/a/input", "")}, "already"},
		"a symlink":     {[]model.Edit{{Path: "cases/a.in", Mode: model.ModeSymlink, Data: []byte("../calc.py")}, edit("cases/a.out", "")}, "a symlink"},
		"no number":     {[]model.Edit{edit("cases/a.in", ""), edit("cases/a.out", ""), edit("cases/a.exit", "x")}, "exit status is a number"},
		"a file":        {[]model.Edit{edit("cases", "")}, ".jsonl"},
		"a linked one":  {[]model.Edit{{Path: "cases", Mode: model.ModeSymlink, Data: []byte("other")}}, ".jsonl"},
	} {
		t.Run("folder, "+name, func(t *testing.T) {
			s := execSuiteOf(t, Config{Cases: "cases"})
			_, err := s.Discover(t.Context(), Target{Trusted: model.Tree{}.With(c.edits...)})
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.want)
		})
	}
	s := execSuiteOf(t, Config{Cases: "cases"})
	_, err := s.Discover(t.Context(), Target{})
	require.ErrorIs(t, err, ErrNoProblems)
}

func TestExecConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"no command":    {Cases: "c"},
		"empty prepare": {Command: []string{"x"}, Cases: "c", Prepare: [][]string{{}}},
		"no cases":      {Command: []string{"x"}},
		"outside":       {Command: []string{"x"}, Root: "a", Cases: "../c"},
		"all":           {Command: []string{"x"}, Cases: "."},
		"compare":       {Command: []string{"x"}, Cases: "c", Compare: "fuzzy"},
		"tolerance":     {Command: []string{"x"}, Cases: "c", Tolerance: -1},
		"harness":       {Command: []string{"x"}, Cases: "c", Harness: []string{"[a"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Name, c.Kind = "cli", KindExec
			_, err := New(c)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}

// What is laid in holds no case, nor anything of the candidate's in their place.
func TestCasesStayOutside(t *testing.T) {
	s := execSuiteOf(t, Config{Cases: "data/cases", Harness: []string{"tools"}})
	trusted := tree("-- calc.py --\n1\n-- data/cases/a.in --\n-- data/cases/a.out --\nx\n-- tools/t.py --\ntrusted\n")
	link := func(p, to string) model.Edit {
		return model.Edit{Path: p, Mode: model.ModeSymlink, Data: []byte(to)}
	}
	for name, edits := range map[string][]model.Edit{
		"nothing":   nil,
		"edited":    {edit("data/cases/a.out", "y"), edit("tools/t.py", "mine")},
		"added":     {edit("data/cases/b.in", ""), edit("tools/more.py", "mine")},
		"symlink":   {{Path: "data/cases/a.in", Delete: true}, {Path: "data/cases/a.out", Delete: true}, link("data/cases", "../elsewhere"), edit("elsewhere/a.out", "y")},
		"symlinked": {{Path: "data/cases/a.in", Delete: true}, {Path: "data/cases/a.out", Delete: true}, link("data", "elsewhere")},
	} {
		t.Run(name, func(t *testing.T) {
			laid := s.tree(trusted.With(edits...), trusted)
			for _, p := range paths(laid) {
				require.False(t, strings.HasPrefix(p, "data"), p)
			}
			f, ok := laid.Find("tools/t.py")
			require.True(t, ok)
			require.Equal(t, "trusted\n", string(f.Data))
			require.NotContains(t, paths(laid), "tools/more.py")
		})
	}
	require.True(t, s.Harness("data/cases/new.in"))
	require.True(t, s.Harness("data/cases"))
	require.True(t, s.Harness("tools/x/y"))
	require.False(t, s.Harness("calc.py"))
}

func paths(t model.Tree) []string {
	var out []string
	for _, f := range t.Files {
		out = append(out, f.Path)
	}
	return out
}

// discoverAny lists the problems of a suite that needs no box for it.
func discoverAny(t testing.TB, s Suite, in model.Tree) []model.Problem {
	t.Helper()
	problems, err := s.Discover(t.Context(), Target{Trusted: in})
	require.NoError(t, err)
	return problems
}

// Whatever a file of cases holds, reading it ends well or names a line, and what
// was read can be hidden.
func FuzzCases(f *testing.F) {
	f.Add([]byte(linedCases))
	f.Add([]byte("{\"id\":\"a\",\"expected\":[1,{}]}\r\n\xff"))
	s := &execSuite{cases: "c.jsonl"}
	s.cfg = Config{Name: "f", Compare: CompareTrimmed}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := model.Tree{Files: []model.File{{Path: "c.jsonl", Mode: model.ModeFile, Data: data}}}
		problems, err := s.Discover(t.Context(), Target{Trusted: in})
		if err != nil {
			return
		}
		hidden, err := s.Hide(in, problems)
		require.NoError(t, err)
		left, err := s.read(hidden)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
