package benchmarks

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"math/big"
	"path"
	"strings"
	"text/template"

	"ratchet/internal/model"
)

// canaries are tests that are added to one package under names that nobody can
// know before the run. One passes and runs first; the others fail and run last
// among the tests of their kind. A program that writes its own results does not
// know which of the names that it is asked for must fail, nor with which words.
//
// The failing tests also tell, by which of three random words they fail with,
// whether the testing package had counted a failure before them (so that hiding
// single failures shows) and whether it still writes to standard output itself.
type canaries struct {
	pass  string
	fail  map[testKind]string
	files []model.File // below the repository's root
	// The words. Example canaries always print clean.
	clean, dirty, diverted string
}

// asked returns the canaries that run with problems of the given names: a
// failing one for each kind among them.
func (c canaries) asked(names []string) []string {
	out := []string{c.pass}
	seen := map[testKind]bool{}
	for _, n := range names {
		if k := kindOf(n); !seen[k] {
			seen[k] = true
			out = append(out, c.fail[k])
		}
	}
	return out
}

// newCanaries invents the canaries of a package. The passing one goes first in
// the order of the go command (internal tests by file, then external ones), the
// failing ones last.
func newCanaries(p goPackage) canaries {
	taken := &names{text: p.text()}
	c := canaries{
		pass: taken.fresh("Test"),
		fail: map[testKind]string{
			kindTest: taken.fresh("Test"), kindFuzz: taken.fresh("Fuzz"), kindExample: taken.fresh("Example"),
		},
		clean: words(4), dirty: words(4), diverted: words(4),
	}
	first, last := p.base(), p.base()
	if p.has(goFile.external) {
		last += "_test"
		if !p.has(func(f goFile) bool { return f.test && !f.external() }) {
			first = last
		}
	}
	data := map[string]any{
		"First": first, "Last": last, "Pass": c.pass, "Test": c.fail[kindTest], "Fuzz": c.fail[kindFuzz],
		"Example": c.fail[kindExample], "Probe": taken.fresh("check"),
		"Clean": c.clean, "Dirty": c.dirty, "Diverted": c.diverted, "Never": words(4),
		"F": taken.fresh("f"), "R": taken.fresh("r"), "T": taken.fresh("t"),
	}
	c.files = []model.File{
		{Path: path.Join(p.dir, p.fileName("a")), Mode: model.ModeFile, Data: render(firstCanary, data)},
		{Path: path.Join(p.dir, p.fileName("zz")), Mode: model.ModeFile, Data: render(lastCanaries, data)},
	}
	return c
}

var firstCanary = template.Must(template.New("first").Parse(`package {{.First}}

import {{.T}} "testing"

func {{.Pass}}(t *{{.T}}.T) { t.Log() }
`))

// What is generated is Go 1.0, for modules of any age, and imports packages under
// names that nothing in the package can clash with.
//
// The probe reads unexported fields of the testing package, for want of a way to
// ask whether any test failed so far. Where a Go release has other fields it
// finds nothing, and the canaries say what they say without it.
var lastCanaries = template.Must(template.New("last").Parse(`package {{.Last}}

import (
	{{.F}} "fmt"
	{{.R}} "reflect"
	{{.T}} "testing"
)

func {{.Probe}}(t interface{}) (word string) {
	word = {{printf "%q" .Clean}}
	defer func() { _ = recover() }()
	c := {{.R}}.ValueOf(t).Elem()
	if c.FieldByName("parent").Elem().FieldByName("failed").Bool() {
		word = {{printf "%q" .Dirty}}
	}
	out := c.FieldByName("chatty").Elem().FieldByName("w").Elem().Elem()
	if out.FieldByName("file").Elem().FieldByName("pfd").FieldByName("Sysfd").Int() != 1 {
		word = {{printf "%q" .Diverted}}
	}
	return word
}

func {{.Test}}(t *{{.T}}.T) { t.Error({{.Probe}}(t)) }

func {{.Fuzz}}(f *{{.T}}.F) { f.Error({{.Probe}}(f)) }

func {{.Example}}() {
	{{.F}}.Println({{printf "%q" .Clean}})
	// Output: {{.Never}}
}
`))

func render(t *template.Template, data any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(err) // the templates are constants and the data is ours
	}
	return b.Bytes()
}

// names invents identifiers that do not occur in a text.
type names struct{ text string }

func (n *names) fresh(prefix string) string {
	for {
		name := prefix
		for _, w := range strings.Fields(words(3)) {
			name += strings.ToUpper(w[:1]) + w[1:]
		}
		if !strings.Contains(n.text, name) {
			n.text += name
			return name
		}
	}
}

// text holds the identifiers that a folder's files declare, for finding others.
func (p goPackage) text() string {
	var b strings.Builder
	for _, f := range p.files {
		for _, d := range f.declared() {
			fmt.Fprintln(&b, d)
		}
	}
	return b.String()
}

// fileName returns the name of a new test file that starts with prefix, lengthened
// until it sorts before ("a") or after ("zz") the package's own files.
func (p goPackage) fileName(prefix string) string {
	lead := prefix
	for _, f := range p.files {
		base := path.Base(f.path)
		if prefix == "zz" {
			for strings.Compare(base, lead) >= 0 {
				lead += "z"
			}
		} else if strings.Compare(base, lead+"_") <= 0 {
			lead = "0" // digits sort before letters; capitals do not occur before them
		}
	}
	return lead + "_" + strings.ReplaceAll(words(2), " ", "_") + "x_test.go"
}

var vocabulary = strings.Fields(`accept account append batch binary block bound buffer cache chain check clean
client close codec column copy count cursor decode default delta depth digest edge empty encode entry equal
error event expand field filter flag flush format frame group handle hash header hint index input insert item
join key label layout length level limit line link list load local lock logic long loop map mark match merge
meta mode move name nested node normal number object offset option order output pack page parse part patch
path peek pool prefix print query queue range rate read record reduce remove rename render reset resize
retry round route row scan scope search seek select set shape short simple size skip slice small sort source
split stack start state step store string strip sub suffix sum swap table tag test text time token trace
track trim tuple type union unique update upper valid value vector version view visit walk width window wrap write zero`)

// words returns n random words of everyday code.
func words(n int) string {
	out := make([]string, n)
	for i := range out {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(vocabulary))))
		if err != nil {
			panic(err) // documented never to happen
		}
		out[i] = vocabulary[k.Int64()]
	}
	return strings.Join(out, " ")
}
