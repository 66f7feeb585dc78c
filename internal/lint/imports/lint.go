package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Violation is one import that breaks a rule.
type Violation struct {
	Package, Import string
	Why             string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s imports %s: %s", v.Package, v.Import, v.Why)
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// Check lists what breaks the rules in the module whose root is dir, sorted.
func Check(dir string) ([]Violation, error) {
	packages, err := list(dir)
	if err != nil {
		return nil, err
	}
	var out []Violation
	for _, p := range packages {
		out = append(out, p.violations()...)
	}
	slices.SortFunc(out, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Import, b.Import))
	})
	return slices.Compact(out), nil
}

// list asks the go command for the packages of a module and their direct
// imports. Nothing is compiled, and imports that cannot be found are listed too.
func list(dir string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("lint imports: go list in %s: %w: %s", dir, err, stderr.String())
	}
	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("lint imports: read the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("lint imports: no packages in %s", dir)
	}
	return packages, nil
}

func (p pkg) violations() []Violation {
	var out []Violation
	add := func(imported, why string) {
		if why != "" {
			out = append(out, Violation{p.ImportPath, imported, why})
		}
	}
	from, ok := ruleOf(p.ImportPath)
	if !ok {
		return []Violation{{p.ImportPath, "", "there is no rule for this package: add one in internal/lint/imports"}}
	}
	for _, i := range p.Imports {
		add(i, from.refuses(i))
		add(i, restricted(from, i, false))
	}
	for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
		add(i, restricted(from, i, true))
	}
	return out
}

// inside says whether the slash-separated path is folder or lies below it.
func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// ruleOf finds the rule with the longest folder that holds a package of the module.
func ruleOf(importPath string) (Rule, bool) {
	path := strings.TrimPrefix(importPath, Module+"/")
	var best Rule
	for _, r := range Rules() {
		if inside(path, r.From) && len(r.From) > len(best.From) {
			best = r
		}
	}
	return best, best.From != ""
}

// refuses says why the packages of r may not import a package of the module, or "".
func (r Rule) refuses(imported string) string {
	if !inside(imported, Module) {
		return ""
	}
	to, ok := ruleOf(imported)
	switch {
	case !ok:
		return "there is no rule for the imported package"
	case to.From == r.From, slices.Contains(everyone, to.From), slices.Contains(r.To, to.From):
		return ""
	case slices.Contains(r.To, All) && !slices.Contains(r.Not, to.From):
		return ""
	}
	return r.From + " may import " + r.targets()
}

// restricted says why the packages of r may not import one from outside, or "".
func restricted(r Rule, imported string, test bool) string {
	for _, x := range Restrictions() {
		if test && !x.Tests || slices.Contains(x.Only, r.From) {
			continue
		}
		if slices.ContainsFunc(x.Packages, func(p string) bool { return inside(imported, p) }) {
			return "only " + x.who() + " may: " + x.Why
		}
	}
	return ""
}
