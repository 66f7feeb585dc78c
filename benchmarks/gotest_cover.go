package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"golang.org/x/tools/cover"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

const (
	// profiles is where test processes write their coverage.
	profiles = sandbox.WorkDir + "/cover"
	// profileLine starts each line of a profile that a carrier prints.
	profileLine = "\x16cover "
	// Environment of the carriers: the test to carry, its limit, the profile to print.
	envCarry, envLimit, envPrint = "RATCHET_CARRY", "RATCHET_LIMIT", "RATCHET_PRINT"
)

// Cover compiles the tests once with counters in all packages of the module and
// runs each problem in a process of its own. Blocks are those that any problem
// ran. A test that panics or hangs writes no profile; it runs a second time in the
// arms of a carrier that catches it. What that does not help, such as a fatal
// error of the runtime, has a result and no hits.
func (s *goSuite) Cover(ctx context.Context, t Target, problems []model.Problem) (model.Coverage, error) {
	start := time.Now()
	build, err := s.newBuild(t, t.Code, problems)
	if err != nil {
		return model.Coverage{}, err
	}
	build.flags = coverFlags
	mods, err := s.modules(build.tree)
	if err != nil {
		return model.Coverage{}, err
	}
	c := &goCover{
		goRun: newGoRun(&goBench{build: build, target: t, wanted: build.pkgs, limit: t.limit(s.cfg)}), carriers: map[string]string{},
		lines: map[string][]byte{},
	}
	c.addCarriers()
	defer func() { _ = c.Close(ctx) }()
	if err := c.measure(ctx, problems); err != nil {
		return model.Coverage{}, fmt.Errorf("suite %q: measure coverage: %w", s.cfg.Name, err)
	}
	out, err := coverage(mods, build.tree, c.lines)
	if err != nil {
		return model.Coverage{}, fmt.Errorf("suite %q: %w", s.cfg.Name, err)
	}
	out.Results = c.report(problems).Results
	out.Sandbox = time.Since(start)
	return out, nil
}

// goCover is one measurement of coverage.
type goCover struct {
	*goRun
	carriers map[string]string // name of the carrier by package folder
	lines    map[string][]byte // profiles without their heads and zeros, by problem
}

// measure runs every problem plainly, then those without a profile in a carrier.
func (c *goCover) measure(ctx context.Context, problems []model.Problem) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	c.plan(problems, true)
	all := c.queue
	if err := c.pass(ctx, all, c.plain); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p queued) bool {
		return c.lines[p.id()] != nil || kindOf(p.names[0]) != kindTest
	})
	return c.pass(ctx, all, c.carried)
}

func (p queued) id() string { return p.pkg.ids[p.names[0]] }

// pass runs work, each followed by a process that prints its profile.
func (c *goCover) pass(ctx context.Context, work []queued, command func(queued) sandbox.Command) error {
	for len(work) > 0 {
		done, err := c.batch(ctx, work, command)
		if err == nil {
			return nil
		}
		if err := c.recover(ctx, err); err != nil {
			return err
		}
		if done == 0 { // as in goRun.round
			c.first(broke(work[0].goProcess, err))
			done = 1
		}
		work = work[done:]
	}
	return nil
}

// batch returns how many of work are done, with their profiles read.
func (c *goCover) batch(ctx context.Context, work []queued, command func(queued) sandbox.Command) (done int, err error) {
	if err := c.refresh(ctx); err != nil {
		return 0, err
	}
	c.used = true
	keep := []model.File{{Path: ".keep", Mode: model.ModeFile}}
	if err := c.box.Put(ctx, profiles, sandbox.Runner, keep); err != nil {
		return 0, err
	}
	var cmds []sandbox.Command
	for i, p := range work {
		profile := path.Join(profiles, strconv.Itoa(i))
		run := command(p)
		run.Argv = append(run.Argv, "-test.coverprofile="+profile)
		show := sandbox.Command{
			Argv: []string{p.pkg.path, "-test.run=" + runPattern([]string{c.carriers[p.pkg.dir]})},
			Env:  map[string]string{envPrint: profile},
			Dir:  p.pkg.source(), User: sandbox.Runner, Timeout: c.limit + slack, MaxOutput: maxTestOutput,
		}
		cmds = append(cmds, run, show)
	}
	err = c.box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Runner}, func(i int, o sandbox.Outcome) error {
		p := work[i/2]
		if i%2 == 0 {
			c.first(judge(p.goProcess, o))
			return nil
		}
		done++
		if lines := profileLines(o.Stdout); len(lines) > 0 {
			c.lines[p.id()] = lines
		}
		return nil
	})
	return done, err
}

// first notes results that are not there yet: those of the plain run count.
func (c *goCover) first(v goVerdict) {
	for _, r := range v.results {
		if _, known := c.results[r.Problem]; !known {
			c.results[r.Problem] = r
		}
	}
}

func (c *goCover) plain(p queued) sandbox.Command { return p.command(c.limit) }

func (c *goCover) carried(p queued) sandbox.Command {
	cmd := p.command(c.limit + slack)
	cmd.Argv[len(cmd.Argv)-1] = "-test.run=" + runPattern([]string{c.carriers[p.pkg.dir]})
	cmd.Env = map[string]string{envCarry: p.names[0], envLimit: c.limit.String()}
	return cmd
}

// profileLines picks out what a carrier printed.
func profileLines(out []byte) []byte {
	var lines []byte
	for line := range bytes.Lines(out) {
		if text, ok := bytes.CutPrefix(line, []byte(profileLine)); ok {
			lines = append(lines, text...)
		}
	}
	return lines
}

// coverage maps profiles to files of the tree.
func coverage(mods []goModule, t model.Tree, lines map[string][]byte) (model.Coverage, error) {
	hits := map[string][]model.Block{}
	for id, text := range lines {
		parsed, err := cover.ParseProfilesFromReader(strings.NewReader("mode: atomic\n" + string(text)))
		if err != nil {
			return model.Coverage{}, fmt.Errorf("read the coverage of %s: %w", id, err)
		}
		for _, p := range parsed {
			file, ok := sourceFile(mods, t, p.FileName)
			if !ok {
				continue // generated by the compiler's tools, not of the tree
			}
			for _, b := range p.Blocks {
				block := model.Block{File: file, StartLine: b.StartLine, StartCol: b.StartCol, EndLine: b.EndLine, EndCol: b.EndCol}
				hits[id] = append(hits[id], block)
			}
		}
	}
	return indexBlocks(hits), nil
}

// indexBlocks lists the blocks that any problem ran, in the order of the source,
// and for each problem which of them.
func indexBlocks(hits map[string][]model.Block) model.Coverage {
	out := model.Coverage{Hits: map[string][]int{}}
	index := map[model.Block]int{}
	for _, blocks := range hits {
		for _, b := range blocks {
			index[b] = 0
		}
	}
	for b := range index {
		out.Blocks = append(out.Blocks, b)
	}
	slices.SortFunc(out.Blocks, compareBlocks)
	for i, b := range out.Blocks {
		index[b] = i
	}
	for id, blocks := range hits {
		for _, b := range blocks {
			out.Hits[id] = append(out.Hits[id], index[b])
		}
		slices.Sort(out.Hits[id])
		out.Hits[id] = slices.Compact(out.Hits[id])
	}
	return out
}

func compareBlocks(a, b model.Block) int {
	if c := strings.Compare(a.File, b.File); c != 0 {
		return c
	}
	return slices.Compare([]int{a.StartLine, a.StartCol, a.EndLine, a.EndCol}, []int{b.StartLine, b.StartCol, b.EndLine, b.EndCol})
}

// sourceFile finds the file of the tree that a profile names by import path.
func sourceFile(mods []goModule, t model.Tree, name string) (string, bool) {
	for _, m := range mods {
		if rel, ok := strings.CutPrefix(name, m.path+"/"); ok {
			if f, found := t.Find(path.Join(m.dir, rel)); found {
				return f.Path, true
			}
		}
	}
	return "", false
}

// addCarriers adds to each package, and to its external tests, a test that runs
// another test in a goroutine that may panic or hang, and that prints profiles.
func (c *goCover) addCarriers() {
	for _, p := range c.build.all {
		bin := c.build.binary(p.dir)
		if bin == nil {
			continue
		}
		taken := &names{text: p.text()}
		name, as := taken.fresh("Test"), taken.fresh("as")
		c.carriers[p.dir] = name
		for _, external := range []bool{false, true} {
			tests := p.carried(external)
			if len(tests) == 0 {
				continue
			}
			pkg := p.base()
			if external {
				pkg += "_test"
			}
			data := map[string]any{"Package": pkg, "Name": name, "Tests": tests,
				"Carry": envCarry, "Limit": envLimit, "Print": envPrint, "Line": profileLine, "As": as}
			file := path.Join(p.dir, strings.ToLower(name)+strconv.FormatBool(external)+"x_test.go")
			c.build.extra = append(c.build.extra, model.File{Path: file, Mode: model.ModeFile, Data: render(carrier, data)})
		}
	}
}

// carried lists the tests of a package, or of its external tests. A package with
// nothing but examples or fuzz tests has an empty name to print profiles with.
func (p goPackage) carried(external bool) []string {
	var out []string
	any := false
	for _, f := range p.files {
		if !f.test || f.external() != external {
			continue
		}
		any = true
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isTestFunc(fn) && takes(fn, "T") {
				out = append(out, fn.Name.Name)
			}
		}
	}
	if any && len(out) == 0 {
		return []string{""}
	}
	return out
}

var carrier = template.Must(template.New("carrier").Parse(`package {{.Package}}

import (
	{{.As}}fmt "fmt"
	{{.As}}os "os"
	{{.As}}strings "strings"
	{{.As}}testing "testing"
	{{.As}}time "time"
)

func {{.Name}}(t *{{.As}}testing.T) {
	if b, err := {{.As}}os.ReadFile({{.As}}os.Getenv({{printf "%q" .Print}})); err == nil {
		for _, line := range {{.As}}strings.Split(string(b), "\n") {
			if line != "" && !{{.As}}strings.HasPrefix(line, "mode:") && !{{.As}}strings.HasSuffix(line, " 0") {
				{{.As}}fmt.Printf("%s%s\n", {{printf "%q" .Line}}, line)
			}
		}
		return
	}
	run := map[string]func(*{{.As}}testing.T){
{{- range .Tests}}{{if .}}
		{{printf "%q" .}}: {{.}},{{end}}{{end}}
	}[{{.As}}os.Getenv({{printf "%q" .Carry}})]
	if run == nil {
		return
	}
	limit, _ := {{.As}}time.ParseDuration({{.As}}os.Getenv({{printf "%q" .Limit}}))
	done := make(chan interface{}, 1)
	go func() {
		defer func() { done <- recover() }()
		run(t)
	}()
	select {
	case r := <-done:
		if r != nil {
			t.Error(r)
		}
	case <-{{.As}}time.After(limit):
		t.Error("stopped")
	}
}
`))
