package benchmarks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

const (
	// binaries is where test binaries are built; code under test cannot write there.
	binaries = sandbox.WorkDir + "/bin"
	// maxTestOutput and maxBuildOutput bound what is kept of one command's output.
	maxTestOutput  = 16 << 20
	maxBuildOutput = 1 << 20
	// maxBuildLog bounds Run.BuildLog.
	maxBuildLog = 32 << 10
)

// coverFlags compile counters into all packages of the module. Atomic ones are
// not optimised away in a loop that never ends.
var coverFlags = []string{"-cover", "-covermode=atomic", "-coverpkg=./..."}

// goBinary is the test binary of one package.
type goBinary struct {
	dir        string // from the repository's root
	importPath string
	testMain   bool              // the trusted tests start the tests themselves
	expect     map[string]int    // how often each test is declared
	ids        map[string]string // problem ids by name
	canaries   canaries
	fixtures   []model.File // testdata, below the package's folder

	path string // in the box; empty when it did not build
	log  string // what the compiler said of it then
}

// expected is how many results a name may have.
func (b *goBinary) expected(name string) int {
	if name == b.canaries.pass || name == b.canaries.fail[kindOf(name)] {
		return 1
	}
	return b.expect[name]
}

// source is the package's folder in the box.
func (b *goBinary) source() string { return path.Join(Source, b.dir) }

// goBuild is a merged tree with the packages whose tests are wanted.
type goBuild struct {
	suite *goSuite
	tree  model.Tree
	all   []goPackage
	pkgs  []*goBinary  // in the order of their folders
	flags []string     // of the go command, for all packages
	extra []model.File // compiled with the tree, and taken away like canaries
	log   []byte
	outs  int // folders of binaries so far
	// reuses says that folders of binaries may hold some from an earlier build,
	// so that after a failure none can be believed to be new.
	reuses bool
}

// newBuild works out what has to be compiled to run problems on code with the
// trusted harness.
func (s *goSuite) newBuild(t Target, code model.Tree, problems []model.Problem) (*goBuild, error) {
	b := &goBuild{suite: s, tree: s.merge(code, t.Trusted)}
	all, err := s.packages(b.tree)
	if err != nil {
		return nil, err
	}
	b.all = all
	ids := map[string]map[string]string{}
	for _, p := range problems {
		if ids[p.Package] == nil {
			ids[p.Package] = map[string]string{}
		}
		ids[p.Package][p.Name] = p.ID
	}
	for _, p := range all {
		if len(ids[p.dir]) > 0 && p.has(func(f goFile) bool { return f.test }) {
			b.pkgs = append(b.pkgs, newBinary(p, ids[p.dir], b.tree))
		}
	}
	return b, nil
}

func newBinary(p goPackage, ids map[string]string, t model.Tree) *goBinary {
	bin := &goBinary{
		dir: p.dir, importPath: p.importPath, testMain: p.hasTestMain(),
		expect: p.tests(), ids: ids, canaries: newCanaries(p),
	}
	prefix := path.Join(p.dir, "testdata") + "/"
	for _, f := range t.Files {
		if strings.HasPrefix(f.Path, prefix) {
			f.Path = path.Join("testdata", strings.TrimPrefix(f.Path, prefix))
			bin.fixtures = append(bin.fixtures, f)
		}
	}
	return bin
}

// binary returns the package of a folder, or nil.
func (b *goBuild) binary(dir string) *goBinary {
	if i := slices.IndexFunc(b.pkgs, func(p *goBinary) bool { return p.dir == dir }); i >= 0 {
		return b.pkgs[i]
	}
	return nil
}

// laid is the tree with the canaries, as it is compiled.
func (b *goBuild) laid() []model.File {
	files := append(slices.Clone(b.tree.Files), b.extra...)
	for _, p := range b.pkgs {
		files = append(files, p.canaries.files...)
	}
	return files
}

// compile builds the test binaries of pkgs with the tree already laid in, and
// notes which of them were built.
func (b *goBuild) compile(ctx context.Context, box sandbox.Box, pkgs []*goBinary) error {
	var cmds []sandbox.Command
	for _, group := range grouped(pkgs) {
		out := path.Join(binaries, strconv.Itoa(b.outs))
		b.outs++
		cmds = append(cmds, b.suite.compileCommand(out, group, b.flags))
		for _, p := range group {
			p.path = path.Join(out, binaryName(p.importPath)+".test")
		}
	}
	failed := false
	err := b.goBatch(ctx, box, cmds, func(o sandbox.Outcome) {
		failed = failed || !o.OK()
		b.log = append(append(b.log, o.Stdout...), o.Stderr...)
		if o.TimedOut {
			b.log = fmt.Appendf(b.log, "\nthe build took longer than %s\n", b.suite.cfg.Build)
		}
	})
	if err != nil || !failed {
		return err
	}
	return b.findBuilt(ctx, box, pkgs)
}

// findBuilt finds out what exists after a build in which something failed.
func (b *goBuild) findBuilt(ctx context.Context, box sandbox.Box, pkgs []*goBinary) error {
	var built map[string]string
	list := goCommand(sandbox.WorkDir, b.suite.cfg.Build, "go", "version", "-m", binaries)
	err := b.goBatch(ctx, box, []sandbox.Command{list}, func(o sandbox.Outcome) { built = builtTests(o.Stdout) })
	for _, p := range pkgs {
		if b.reuses || built[p.importPath] != p.path {
			p.path, p.log = "", compilerLog(b.log, p.importPath)
		}
	}
	return err
}

// goBatch runs commands of the Go tool chain, which must be there.
func (b *goBuild) goBatch(ctx context.Context, box sandbox.Box, cmds []sandbox.Command, each func(sandbox.Outcome)) error {
	err := box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Builder}, func(i int, o sandbox.Outcome) error {
		if o.ExitCode == 126 || o.ExitCode == 127 {
			return &sandbox.Error{Op: "start", Object: "go", Err: errors.New(tailOf(o.Stderr)),
				Hint: "the image needs a Go tool chain on its PATH"}
		}
		each(o)
		return nil
	})
	if err != nil {
		return fmt.Errorf("suite %q: build the tests: %w", b.suite.cfg.Name, err)
	}
	return nil
}

// compileCommand builds the tests of packages whose binaries have different names.
func (s *goSuite) compileCommand(out string, pkgs []*goBinary, flags []string) sandbox.Command {
	// Symbols are left out, as `go test` does when it does not keep the binary.
	argv := append([]string{"go", "test", "-c", "-vet=off", "-buildvcs=false", "-ldflags=-s -w", "-o", out + "/"}, flags...)
	for _, p := range pkgs {
		argv = append(argv, "./"+within(s.cfg.Root, p.dir))
	}
	return goCommand(path.Join(Source, s.cfg.Root), s.cfg.Build, argv...)
}

// goCommand is a command of the Go tool chain that stays offline.
func goCommand(dir string, limit time.Duration, argv ...string) sandbox.Command {
	return sandbox.Command{
		Argv: argv, Dir: dir, User: sandbox.Builder, Timeout: limit, MaxOutput: maxBuildOutput,
		Env: map[string]string{"GOPROXY": "off", "GOTOOLCHAIN": "local"},
	}
}

// grouped splits packages such that no two binaries of a group have one name,
// which `go test -c` refuses.
func grouped(pkgs []*goBinary) [][]*goBinary {
	var groups [][]*goBinary
	seen := map[string]int{}
	for _, p := range pkgs {
		name := binaryName(p.importPath)
		i := seen[name]
		seen[name]++
		if i == len(groups) {
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// binaryName is the go command's rule: the last element of the import path that
// is not a major version.
func binaryName(importPath string) string {
	dir, base := path.Split(importPath)
	if dir != "" && len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		return path.Base(dir)
	}
	return base
}

// builtTests reads `go version -m`: binaries by the import path that they test.
func builtTests(listing []byte) map[string]string {
	built := map[string]string{}
	file := ""
	for line := range bytes.Lines(listing) {
		text := strings.TrimSuffix(string(line), "\n")
		if !strings.HasPrefix(text, "\t") {
			file, _, _ = strings.Cut(text, ": ")
			continue
		}
		if p, ok := strings.CutPrefix(text, "\tpath\t"); ok {
			built[strings.TrimSuffix(p, ".test")] = file
		}
	}
	return built
}

// compilerLog is what a build log says of one package, or its end when that is
// about packages that it needs.
func compilerLog(log []byte, importPath string) string {
	var own tail
	mine := false
	for line := range bytes.Lines(log) {
		if head, ok := bytes.CutPrefix(line, []byte("# ")); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(string(head)), " ")
			mine = strings.TrimSuffix(name, "_test") == importPath
		}
		if mine {
			own.add(line)
		}
	}
	if s := own.String(); s != "" {
		return s
	}
	return tailOf(log)
}

// has reports whether any file of the package fits.
func (p goPackage) has(fits func(goFile) bool) bool { return slices.ContainsFunc(p.files, fits) }
