package suites

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const sound = `title: Add two numbers
split: heldout
tags: [go, easy]
limits: {time: 90s}
checker: {kind: gotest, timeout: 5s}
-- statement.md --
Mend Add.
-- discussion.md --
A sign.
-- files/go.mod --
module example.org/add

go 1.24
-- files/add.go --
package add

func Add(a, b int) int { return a - b }
-- grader/add_test.go --
package add

import "testing"

func TestAdd(t *testing.T) {
	if Add(2, 3) != 5 {
		t.Fatal()
	}
}
-- solution/add.go --
package add

func Add(a, b int) int { return a + b }
-- wrong/constant/add.go --
package add

func Add(a, b int) int { return b }
`

const answered = `title: Six by nine
answer: {number: 54, tolerance: 0.01}
-- statement.md --
Multiply.
-- wrong/famous/answer.txt --
42
`

func TestParse(t *testing.T) {
	p, err := ParseProblem("sums", "add.txtar", []byte(sound))
	require.NoError(t, err)
	require.Equal(t, []any{"sums/add", "add", "Add two numbers", "Mend Add.", "A sign.", model.SplitHeldout, "1m30s", "5s"},
		[]any{p.ID, p.Name, p.Title, p.Statement, p.Discussion, p.Split, p.Limits.Time.String(), p.Checker.Timeout.String()})
	require.Equal(t, []string{"go", "easy"}, p.Tags)
	require.Equal(t, []string{"add.go", "go.mod"}, paths(p.Files.Files))
	require.Equal(t, []string{"add_test.go"}, paths(p.Checker.Grader))
	require.Equal(t, []string{"add.go", "add_test.go", "go.mod"}, paths(p.Trusted().Files))
	require.Equal(t, []string{"add.go"}, paths(p.Solution))
	require.Len(t, p.Wrong, 1)
	require.Equal(t, model.Problem{ID: "sums/add", Suite: "sums", Package: ".", Name: "add", Split: model.SplitHeldout}, p.Model())

	p, err = ParseProblem("sums", "nine.txtar", []byte(answered))
	require.NoError(t, err)
	require.Equal(t, []any{model.SplitSearch, DefaultTime, 54.0, 0.01}, []any{p.Split, p.Limits.Time, *p.Answer.Number, p.Answer.Tolerance})
}

func paths(files []model.File) (out []string) {
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}

func TestEveryFlawIsNamed(t *testing.T) {
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(sound) }
	for name, x := range map[string]struct {
		text  string
		flaws []string
	}{
		"empty":           {"", []string{"p.txtar:1: title: one line is needed", "statement.md is missing", "give one of answer and checker", "no wrong solution"}},
		"not YAML":        {"title: [\n", []string{"p.txtar:1: header: "}},
		"unknown key":     {change("tags:", "tag:"), []string{`p.txtar:3: header: unknown field "tag"`}},
		"split":           {change("heldout", "hidden"), []string{`p.txtar:2: split is "hidden", want search or heldout`}},
		"times":           {change("90s", "-1s", "5s", "long"), []string{`p.txtar:4: limits: "-1s" is not a time`, `p.txtar:5: checker: "long" is not a time`}},
		"kind":            {change("gotest", "exec"), []string{`p.txtar:5: checker: kind is "exec", want one of gotest, pytest`}},
		"no statement":    {change("Mend Add.", " "), []string{"p.txtar:1: statement.md is missing or empty"}},
		"no grader":       {change("grader/", "files/"), []string{"p.txtar:1: the checker has no files below grader/"}},
		"grader unused":   {change("grader/add_test.go", "grader/helper.go"), []string{"p.txtar:18: helper.go is not part of the harness of gotest"}},
		"solution unused": {change("solution/add.go", "solution/go.mod"), []string{"p.txtar:28: go.mod is part of the harness of gotest"}},
		"no solution":     {change("solution/", "files/x/"), []string{"there is no solution/"}},
		"stray file":      {change("discussion.md", "notes.md"), []string{"p.txtar:8: notes.md is neither"}},
		"stray folder":    {change("wrong/constant/add.go", "wrong/add.go"), []string{"p.txtar:32: wrong/add.go is neither", "no wrong solution"}},
		"twice":           {sound + "-- files/go.mod --\n", []string{"p.txtar:36: files/go.mod is there twice (first in line 10)"}},
		"bad path":        {sound + "-- files/../x --\n-- /etc/x --\n-- files/.Git/x --\n", []string{"p.txtar:36: the path", "p.txtar:37: the path", `"files/.Git/x" has a part .git`}},
		"below a file":    {sound + "-- files/add.go/x --\n", []string{"p.txtar:36: add.go/x is below a file"}},
		"both":            {change("split: heldout", "answer: {text: x}"), []string{"give one of answer and checker"}},
		"no answer":       {strings.Replace(answered, "{number: 54, tolerance: 0.01}", "{}", 1), []string{"p.txtar:2: answer: give one of text and number"}},
		"two answers":     {strings.Replace(answered, "number: 54", "number: 54, text: x", 1), []string{"p.txtar:2: answer: give one of text and number"}},
		"tolerance":       {strings.Replace(answered, "0.01", "2", 1), []string{"p.txtar:2: answer: tolerance is for numbers"}},
		"infinite":        {strings.Replace(answered, "number: 54", "number: .inf", 1), []string{"number is not finite"}},
		"wrong answer":    {strings.Replace(answered, "famous/answer.txt", "famous/other.txt", 1), []string{"wrong/famous: a wrong answer is the file answer.txt alone"}},
		"answer graded":   {answered + "-- grader/x --\n", []string{"p.txtar:7: grader/x is neither"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseProblem("s", "p.txtar", []byte(x.text))
			require.ErrorIs(t, err, ErrInvalid)
			for _, f := range x.flaws {
				require.Contains(t, err.Error(), f)
			}
		})
	}
	_, err := ParseProblem("s", "Bad Name.txtar", []byte(sound))
	require.ErrorContains(t, err, "the file's name is not")
}

func TestLoad(t *testing.T) {
	index := "format: 1\nname: sums\ntitle: Sums\ndescription: |\n  Two.\n"
	dir := fstest.MapFS{
		"suite.yaml": {Data: []byte(index)}, "nine.txtar": {Data: []byte(answered)}, "add.txtar": {Data: []byte(sound)},
		"README.md": {Data: []byte("read me")}, "more/x.txtar": {Data: []byte("not read")},
	}
	s, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, []any{"sums", "Sums", "Two.", 2, "add"}, []any{s.Name, s.Title, s.Description, len(s.Problems), s.Problems[0].Name})
	for _, name := range []string{"nine", "sums/nine"} {
		p, ok := s.Find(name)
		require.True(t, ok)
		require.Equal(t, "sums/nine", p.ID)
	}
	_, ok := s.Find("ten")
	require.False(t, ok)

	again, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, s.Hash, again.Hash)
	dir["nine.txtar"] = &fstest.MapFile{Data: []byte(strings.Replace(answered, "Multiply", "Add", 1))}
	again, err = Load(dir)
	require.NoError(t, err)
	require.NotEqual(t, s.Hash, again.Hash)

	dir["nine.txtar"] = &fstest.MapFile{Data: []byte("title: x\n")}
	dir["suite.yaml"] = &fstest.MapFile{Data: []byte("format: 2\nname: Sums\n")}
	_, err = Load(dir)
	for _, flaw := range []string{"suite.yaml:1: format is 2: this version reads 1", `suite.yaml:2: name is "Sums"`, "suite.yaml:1: title", "nine.txtar:1: statement.md"} {
		require.ErrorContains(t, err, flaw)
	}
	var flaws Flaws
	require.True(t, errors.As(err, &flaws))
	require.Greater(t, len(flaws), 5)

	_, err = Load(fstest.MapFS{})
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Load(fstest.MapFS{"suite.yaml": {Data: []byte(index)}})
	require.ErrorContains(t, err, "there is no problem beside it")
	_, err = Load(fstest.MapFS{"suite.yaml": {Data: []byte(index)}, "x.txtar": {Data: make([]byte, maxProblem+1)}})
	require.ErrorContains(t, err, "is larger than")
}

func TestBuiltin(t *testing.T) {
	for _, name := range Names() {
		s, err := Builtin(name)
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		splits := map[model.Split]int{}
		for _, p := range s.Problems {
			splits[p.Split]++
			require.NotEmpty(t, p.Tags, p.ID)
			require.NotEmpty(t, p.Discussion, p.ID)
		}
		require.Len(t, s.Problems, 20)
		require.Equal(t, map[model.Split]int{model.SplitSearch: 15, model.SplitHeldout: 5}, splits)
	}
	_, err := Builtin("cooking")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "coding")
}

func FuzzParseProblem(f *testing.F) {
	for _, s := range []string{sound, answered, "", "title: x\n-- a --\n-- a --\n", "answer: {number: .nan}\n", "limits: {time: 1s\n", "a: &a [*a]\n", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProblem("s", "p.txtar", data)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			lines := strings.Count(string(data), "\n") + 2
			var flaws Flaws
			require.True(t, errors.As(err, &flaws))
			for _, x := range flaws {
				require.True(t, x.Line >= 1 && x.Line <= lines, "%+v", x)
			}
			return
		}
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.Statement)
		require.Positive(t, p.Limits.Time)
		require.True(t, (p.Answer == nil) != (p.Checker == nil))
	})
}

func FuzzUsage(f *testing.F) {
	for _, s := range []string{`{"tokens": 12}`, `{"tokens": -1}`, `{"tokens": 1e3}`, `{}`, `[]`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := readUsage(data); err != nil {
			require.Zero(t, n)
		} else {
			require.True(t, n >= 0 && n <= maxTokens)
		}
	})
}
