package benchmarks

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

// Hide removes the functions and methods of the given problems with their
// decorators and the comments above them, classes in which nothing is left that
// anybody names, and files in which only imports are left. A function that other
// source names, and a class that is left empty, stay with an empty body, so that
// the rest can be collected. Everything else stays as it is, byte for byte. The
// source of a problem stands where its group says: a test that classes inherit is
// one source, and their problems are one group.
func (s *pySuite) Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error) {
	hidden := map[string]map[string]bool{} // qualified names by file; "" for the whole file
	for _, p := range problems {
		home := strings.TrimPrefix(p.GroupID(), s.cfg.Name+"/")
		file := nodeFile(home)
		if hidden[file] == nil {
			hidden[file] = map[string]bool{}
		}
		hidden[file][qualified(home)] = true
	}
	var edits []model.Edit
	for _, file := range sortedKeys(hidden) {
		f, ok := trusted.Find(file)
		if !ok || path.Ext(file) != ".py" {
			continue
		}
		e, err := hidePy(trusted, f, hidden[file])
		if err != nil {
			return model.Tree{}, fmt.Errorf("suite %q: hide tests: %s: %w", s.cfg.Name, file, err)
		}
		edits = append(edits, e...)
	}
	return trusted.With(edits...), nil
}

// qualified is the name of a test's function in its file, "" for the file itself.
func qualified(name string) string {
	_, rest, _ := strings.Cut(name, "::")
	rest, _, _ = strings.Cut(rest, "[")
	return strings.ReplaceAll(rest, "::", ".")
}

func hidePy(t model.Tree, f model.File, names map[string]bool) ([]model.Edit, error) {
	if names[""] {
		return []model.Edit{{Path: f.Path, Delete: true}}, nil
	}
	src, err := pysrc.Parse(f.Data)
	if err != nil {
		return nil, err
	}
	h := &pyHiding{file: src, path: f.Path, tree: t, gone: map[*pysrc.Stmt]bool{}}
	for _, fn := range src.Funcs {
		if names[fn.Qualified] {
			h.remove(fn.Name, fn.First, fn.Stmt)
		}
	}
	// Inner classes come after outer ones.
	for _, c := range slices.Backward(src.Classes) {
		if h.touched(c.Stmt) && h.bare(c.Stmt.Block) && !h.named(c.Name, c.First, c.Stmt) {
			h.remove(c.Name, c.First, c.Stmt)
		}
	}
	if len(h.cuts) == 0 {
		return nil, nil
	}
	if h.bare(src.Body) && !h.imported() {
		return []model.Edit{{Path: f.Path, Delete: true}}, nil
	}
	data := h.text()
	if _, err := pysrc.Parse(data); err != nil {
		return nil, fmt.Errorf("without its hidden tests it cannot be read: %w", err)
	}
	return []model.Edit{{Path: f.Path, Data: data}}, nil
}

// pyHiding is the removal of definitions from one file.
type pyHiding struct {
	file *pysrc.File
	path string
	tree model.Tree
	gone map[*pysrc.Stmt]bool
	cuts []pyCut
}

// pyCut replaces a stretch of the file.
type pyCut struct {
	span
	with string
}

// remove takes out a definition, from its first decorator or the comments above
// it. Where it is named elsewhere, or is all that its block has, something empty stays.
func (h *pyHiding) remove(name string, first, def *pysrc.Stmt) {
	at := pyCut{span: span{h.above(first), pastBlank(h.file.Src, def.End)}}
	switch {
	case h.named(name, first, def):
		at.with = fmt.Sprintf("%sdef %s(*_, **__):\n%s    pass\n", def.Indent, name, def.Indent)
	default:
		h.mark(first, def)
		if def.Parent != nil && h.emptied(def.Parent) {
			at.with = def.Indent + "pass\n"
		}
	}
	if at.with == "" {
		at.from = h.blank(at.from)
	}
	h.cuts = append(h.cuts, at)
}

// blank is where the blank lines before the line at an offset start.
func (h *pyHiding) blank(at int) int {
	for at > 0 {
		line := bytes.LastIndexByte(h.file.Src[:at-1], '\n') + 1
		if len(bytes.TrimSpace(h.file.Src[line:at])) > 0 {
			break
		}
		at = line
	}
	return at
}

// mark notes a definition and its decorators as removed.
func (h *pyHiding) mark(first, def *pysrc.Stmt) {
	siblings := h.file.Body
	if def.Parent != nil {
		siblings = def.Parent.Block
	}
	for _, s := range siblings[slices.Index(siblings, first) : slices.Index(siblings, def)+1] {
		h.gone[s] = true
	}
}

// emptied reports whether nothing of a block is left.
func (h *pyHiding) emptied(s *pysrc.Stmt) bool {
	return !slices.ContainsFunc(s.Block, func(b *pysrc.Stmt) bool { return !h.gone[b] })
}

// touched reports whether anything directly in a block was removed.
func (h *pyHiding) touched(s *pysrc.Stmt) bool {
	return slices.ContainsFunc(s.Block, func(b *pysrc.Stmt) bool { return h.gone[b] })
}

// bare reports whether what is left of a block does nothing: imports, texts, pass.
func (h *pyHiding) bare(block []*pysrc.Stmt) bool {
	return !slices.ContainsFunc(block, func(s *pysrc.Stmt) bool {
		return !h.gone[s] && s.Kind != "import" && s.Kind != "from" && s.Kind != "pass" && !s.IsDocstring()
	})
}

// above is where the lines of a statement start, with the comments just over it.
func (h *pyHiding) above(s *pysrc.Stmt) int {
	src := h.file.Src
	at := bytes.LastIndexByte(src[:s.Off], '\n') + 1
	for at > 0 {
		line := bytes.LastIndexByte(src[:at-1], '\n') + 1
		if !bytes.HasPrefix(bytes.TrimLeft(src[line:at], " \t"), []byte("#")) || !bytes.HasPrefix(src[line:at], []byte(s.Indent+"#")) {
			break
		}
		at = line
	}
	return at
}

// named reports whether the name occurs in the file outside of the definition
// and of what is removed.
func (h *pyHiding) named(name string, first, def *pysrc.Stmt) bool {
	return slices.ContainsFunc(h.file.Tokens, func(t pysrc.Token) bool {
		return t.Kind == pysrc.Name && t.Text == name && (t.Off < first.Off || t.Off >= def.End) && !h.removed(t.Off) && !h.defines(t.Off)
	})
}

// removed reports whether an offset is in what is cut out.
func (h *pyHiding) removed(off int) bool {
	return slices.ContainsFunc(h.cuts, func(c pyCut) bool { return c.from <= off && off < c.to })
}

// defines reports whether the name at an offset is that of another definition,
// as tests of one name in two classes are.
func (h *pyHiding) defines(off int) bool {
	return slices.ContainsFunc(h.file.Funcs, func(f pysrc.Func) bool {
		return slices.ContainsFunc(f.Stmt.Tokens[:min(3, len(f.Stmt.Tokens))], func(t pysrc.Token) bool { return t.Off == off })
	})
}

// imported reports whether another file of the tree names the module.
func (h *pyHiding) imported() bool {
	module := []byte(moduleName(path.Base(h.path)))
	return slices.ContainsFunc(h.tree.Files, func(f model.File) bool {
		return f.Path != h.path && path.Ext(f.Path) == ".py" && bytes.Contains(f.Data, module)
	})
}

// text is the file with the cuts made; one within another is part of it.
func (h *pyHiding) text() []byte {
	slices.SortFunc(h.cuts, func(a, b pyCut) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	var out []byte
	at := 0
	for _, c := range h.cuts {
		if c.from < at {
			continue
		}
		out = append(append(out, h.file.Src[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, h.file.Src[at:]...)
}
