package diagnose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const pyCode = `"""Money."""
from decimal import Decimal


class Account:
    def __init__(self, owner):
        self.owner = owner
        self.balance = 0

    @property
    def worth(self):
        return self.balance - 1

    def deposit(self, n):
        if n < 0:
            raise ValueError(n)
        self.balance += n

def parse_amount(text):
    def clean(t):
        return t.strip()

    return int(clean(text))
`

const pyTest = `import pytest

from bank import Account
from bank.money import parse_amount


class TestAccount:
    def test_worth(self):
        a = Account("x")
        assert a.worth == 0


@pytest.mark.parametrize("text", ["1", "2"])
def test_parse_amount(text):
    assert parse_amount(text) == int(text)
`

var pyTree = tree(
	"src/bank/__init__.py", "from .money import Account\n", "src/bank/money.py", pyCode,
	"src/bank/broken.py", "def f(:\n", "tests/test_money.py", pyTest, "tests/test_other.py", "def test_worth():\n    pass\n",
)

func pyHarness(p string) bool { return strings.Contains(p, "test_") }

func pyProblem(id string) model.Problem {
	return model.Problem{ID: "py/" + id, Suite: "py", Package: "tests", Name: id, Split: model.SplitSearch}
}

func failed(p model.Problem, message string) model.Result {
	return model.Result{Problem: p.ID, Outcome: model.Fail, Message: message}
}

// places are the suspects as "line score".
func places(b Brief) map[int]float64 {
	out := map[int]float64{}
	for _, s := range b.Suspects {
		out[s.StartLine] = s.Score
	}
	return out
}

func pyInput(message string, ids ...string) Input {
	in := Input{Tree: pyTree, Harness: pyHarness}
	for _, id := range ids {
		p := pyProblem(id)
		in.Problems, in.Results = append(in.Problems, p), append(in.Results, failed(p, message))
	}
	return in
}

func TestPythonTestsWithoutCoverageNameWhatTheyCall(t *testing.T) {
	for name, c := range map[string]struct {
		problem string
		want    map[int]float64
	}{
		"a function, by parameters": {"tests/test_money.py::test_parse_amount[1/2]", map[int]float64{19: namedInTest}},
		"a class through a package": {"tests/test_money.py::TestAccount::test_worth", map[int]float64{6: calledScore, 11: namedInTest}},
		"as JUnit names it":         {"tests.test_money.TestAccount/test_worth", map[int]float64{6: calledScore, 11: namedInTest}},
		"another of that name":      {"tests/test_other.py::test_worth", map[int]float64{}},
		"either of two":             {"tests/test_worth", map[int]float64{}},
		"none of that name":         {"tests/test_money.py::test_gone", map[int]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Diagnose(pyInput("", c.problem))
			require.NoError(t, err)
			require.Equal(t, c.want, places(b))
			for _, s := range b.Suspects {
				require.Equal(t, "src/bank/money.py", s.File)
			}
		})
	}
}

func TestPythonFunctionsAreWhole(t *testing.T) {
	b, err := Diagnose(pyInput("", "tests/test_money.py::test_parse_amount"))
	require.NoError(t, err)
	s := b.Suspects[0]
	require.Equal(t, [4]int{19, 1, 24, 1}, [4]int{s.StartLine, s.StartCol, s.EndLine, s.EndCol})
}

func TestPythonTracebacks(t *testing.T) {
	const traceback = `Traceback (most recent call last):
  File "/box/src/tests/test_money.py", line 15, in test_parse_amount
    assert parse_amount(text) == int(text)
  File "/box/src/src/bank/money.py", line 23, in parse_amount
    return int(clean(text))
  File "/box/src/src/bank/money.py", line 21, in clean
    return t.strip()
  File "/usr/lib/python3.11/decimal/money.py", line 16, in deposit
AttributeError: 'int' object has no attribute 'strip'
`
	const pytests = "tests/test_money.py:15: \n_ _ _ _\nsrc/bank/money.py:23: in parse_amount\nsrc/bank/money.py:21: AttributeError\n"
	for name, message := range map[string]string{"a traceback": traceback, "pytest's own": pytests} {
		t.Run(name, func(t *testing.T) {
			b, err := Diagnose(pyInput(message, "x::test_gone"))
			require.NoError(t, err)
			require.Equal(t, 21, b.Suspects[0].StartLine, "the innermost frame is the last one")
			require.Equal(t, 22, b.Suspects[0].EndLine)
			require.Equal(t, map[int]float64{20: 0.6, 21: 0.8, 19: 0.6, 23: 0.7}, places(b), "20 is the inner function")
		})
	}
}

func TestPythonModuleLevelLines(t *testing.T) {
	b, err := Diagnose(pyInput("src/bank/money.py:2: ImportError", "x::test_gone"))
	require.NoError(t, err)
	require.Equal(t, map[int]float64{2: tracedScore}, places(b))
}

func TestPythonStatementLinesAreBlocks(t *testing.T) {
	in := pyInput("src/bank/money.py:23: ValueError", "tests/test_money.py::test_parse_amount")
	ok := pyProblem("tests/test_money.py::TestAccount::test_worth")
	in.Problems = append(in.Problems, ok)
	in.Results = append(in.Results, model.Result{Problem: ok.ID, Outcome: model.Pass, Score: 1})
	for _, line := range []int{2, 15, 21, 23} {
		in.Coverage.Blocks = append(in.Coverage.Blocks, model.Block{File: "src/bank/money.py", StartLine: line, StartCol: 1, EndLine: line + 1, EndCol: 1})
	}
	in.Coverage.Hits = map[string][]int{in.Problems[0].ID: {0, 2, 3}, ok.ID: {0, 1}}
	in.Roots = map[string]string{"py": "."}
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, map[int]float64{2: 0.7071067811865475, 21: 1, 23: 1}, places(b), "and nothing is guessed")
	require.Empty(t, b.Notes)
}

func TestReportsNamePythonFunctions(t *testing.T) {
	in := pyInput("src/bank/money.py:23: ValueError", "x::test_gone")
	in.Failures = []model.Failure{{Seq: 1, Task: "t", Actual: "parse_amount broke in money.py"}}
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, []string{"src/bank/money.py", "src/bank/money.py:parse_amount"}, b.Failures[0].Mentions)
}
