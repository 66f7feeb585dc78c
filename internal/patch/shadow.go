package patch

import (
	"fmt"
	"path"
	"strings"

	"ratchet/internal/model"
)

// startFiles are read by Python or by pytest without anybody asking for them.
var startFiles = wordSet("conftest.py sitecustomize.py usercustomize.py pytest.py pytest.ini .pytest.ini tox.ini setup.cfg pyproject.toml .coveragerc")

// startExtensions are those of files that Python loads in place of source, or at its start.
var startExtensions = wordSet(".pth .pyc .pyo .pyd .so .dll .dylib .egg-link")

// gateShadow refuses new files by which Python would load something else than it
// is asked for: what it reads at its start, compiled code, what describes installed
// packages, and modules that hide those of the standard library or of pytest.
func gateShadow(base model.Tree, c change) *Refusal {
	if c.old != nil || c.new == nil {
		return nil
	}
	name := path.Base(c.path)
	switch {
	case startFiles[strings.ToLower(name)]:
		return shadow("Python or pytest reads %s by itself", name)
	case startExtensions[strings.ToLower(path.Ext(name))]:
		return shadow("Python loads %s in place of source", name)
	}
	for _, dir := range strings.Split(path.Dir(c.path), "/") {
		lower := strings.ToLower(dir)
		if lower == "__pycache__" || strings.HasSuffix(lower, ".dist-info") || strings.HasSuffix(lower, ".egg-info") {
			return shadow("Python looks into %s by itself", dir)
		}
	}
	return shadowedModule(base, c.path)
}

func shadow(format, what string) *Refusal {
	return &Refusal{Rule: RuleReach, Why: fmt.Sprintf(format, what)}
}

// shadowedModule refuses a module or package, in a folder from which Python
// imports, that has the name of one of the standard library or of the grader.
func shadowedModule(base model.Tree, name string) *Refusal {
	if !isPython(name) {
		return nil
	}
	dir, module := path.Dir(name), strings.TrimSuffix(path.Base(name), path.Ext(name))
	if hides(module) && !inPackage(base, dir) {
		return shadow("it hides the module %s", module)
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if hides(path.Base(dir)) && !inPackage(base, path.Dir(dir)) && !hasPython(base, dir) {
			return shadow("it hides the package %s", path.Base(dir))
		}
	}
	return nil
}

func hides(module string) bool { return stdModules[module] || graderModules[module] }

// inPackage says that a folder is a package: names in it are not imported bare.
func inPackage(base model.Tree, dir string) bool {
	_, ok := base.Find(path.Join(dir, "__init__.py"))
	return ok
}

// hasPython says that a folder holds Python already, whatever it is called.
func hasPython(base model.Tree, dir string) bool {
	for _, f := range base.Files {
		if strings.HasPrefix(f.Path, dir+"/") && isPython(f.Path) {
			return true
		}
	}
	return false
}
