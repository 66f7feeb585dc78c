package benchmarks

import (
	"path"
	"strings"
	"text/template"

	"ratchet/internal/model"
)

// pyCanaries are tests that are added to one folder under names that nobody can
// know before the run. One passes; the others fail, each in another way and with
// random words. Some are run before the tests of the folder and some after them.
type pyCanaries struct {
	before, after string            // files, as in node ids
	words         map[string]string // by node id: what its failure says, nothing for those that pass
	nodes         []string
	files         []model.File // below the repository's root
}

// newCanaries invents the canaries of a folder of the repository.
func (s *pySuite) newPyCanaries(dir string, taken *names) pyCanaries {
	c := pyCanaries{words: map[string]string{}}
	for i, text := range []*template.Template{canariesBefore, canariesAfter} {
		base := "test_" + snake(taken) + ".py"
		file := base
		if rel := within(s.cfg.Root, dir); rel != "." {
			file = rel + "/" + base
		}
		if i == 0 {
			c.before = file
		} else {
			c.after = file
		}
		data := map[string]string{}
		for _, key := range []string{"A", "B", "C", "D", "E", "F", "G"} {
			data[key], data["W"+key] = snake(taken), words(4)
		}
		for _, k := range canaryTests[i] {
			node := file + "::" + strings.ReplaceAll(k.node, "?", data[k.key])
			c.nodes = append(c.nodes, node)
			c.words[node] = ""
			if !k.passes {
				c.words[node] = data["W"+k.key]
			}
		}
		c.files = append(c.files, model.File{Path: path.Join(dir, base), Mode: model.ModeFile, Data: render(text, data)})
	}
	return c
}

// snake returns new random words as a Python name.
func snake(taken *names) string {
	for {
		name := strings.ReplaceAll(words(3), " ", "_")
		if !strings.Contains(taken.text, name) {
			taken.text += name + "\n"
			return name
		}
	}
}

// canaryTest is one test in a canary file; "?" in its node is a random name.
type canaryTest struct {
	key, node string
	passes    bool
}

var canaryTests = [2][]canaryTest{
	{{"A", "test_?", true}, {"B", "test_?", false}, {"C", "Test?::test_it", false}, {"D", "test_?", false}},
	{{"A", "test_?", false}, {"B", "test_?", false}, {"C", "Test?::test_it", false}, {"D", "test_?", true}},
}

var canariesBefore = template.Must(template.New("before").Parse(`import unittest

import pytest


def test_{{.A}}():
    assert [1, "{{.WA}}"] == [1, "{{.WA}}"]


def test_{{.B}}():
    assert "{{.WB}}" == "{{.WA}}"


class Test{{.C}}(unittest.TestCase):
    def test_it(self):
        self.assertEqual("{{.WC}}", "{{.WA}}")


@pytest.fixture
def {{.D}}():
    raise LookupError("{{.WD}}")


def test_{{.D}}({{.D}}):
    pass
`))

var canariesAfter = template.Must(template.New("after").Parse(`import unittest

import pytest


def test_{{.A}}():
    with pytest.raises(ValueError, match="{{.WA}}"):
        str("{{.WB}}")
    pytest.fail("{{.WA}}")


def test_{{.B}}():
    raise RuntimeError("{{.WB}}")


class Test{{.C}}(unittest.TestCase):
    def test_it(self):
        self.assertTrue(not "{{.WD}}", "{{.WC}}")


def test_{{.D}}():
    with pytest.raises(ValueError):
        int("{{.WD}}")
`))
