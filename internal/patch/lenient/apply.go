package lenient

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// apply makes the edits of all changes, one a path, in the order of the patch.
func (e *engine) apply(changes []change) ([]model.Edit, error) {
	var order []string
	byPath := map[string][]change{}
	for _, c := range changes {
		path, err := e.resolve(c)
		if err != nil {
			return nil, err
		}
		if len(byPath[path]) == 0 {
			order = append(order, path)
		}
		byPath[path] = append(byPath[path], c)
	}
	var edits []model.Edit
	for _, path := range order {
		edit, err := e.applyPath(path, merge(byPath[path]))
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	if len(edits) == 0 {
		return nil, &Error{Kind: KindNone, Detail: "there is no change in it"}
	}
	return edits, nil
}

// merge drops repetitions and joins the hunks of what is left into one change.
// More than one is returned when they cannot be joined.
func merge(list []change) []change {
	out := list[:1:1]
	for _, c := range list[1:] {
		last := &out[len(out)-1]
		switch {
		case c.edits() && last.edits():
			last.hunks = slices.Clone(last.hunks)
			last.join(c)
		case !sameChange(*last, c):
			out = append(out, c)
		}
	}
	return out
}

func (c change) edits() bool { return !c.create && !c.delete && !c.whole }

// join adds the hunks that c does not have. Their order says nothing then.
func (c *change) join(more change) {
	for _, h := range more.hunks {
		same := func(o hunk) bool { return slices.Equal(o.lines, h.lines) }
		if !slices.ContainsFunc(c.hunks, same) {
			c.hunks = append(c.hunks, h)
			c.ordered = false
		}
	}
}

func sameChange(a, b change) bool {
	return a.create == b.create && a.delete == b.delete && a.whole == b.whole &&
		slices.EqualFunc(a.hunks, b.hunks, func(x, y hunk) bool { return slices.Equal(x.lines, y.lines) })
}

func (e *engine) applyPath(path string, list []change) (model.Edit, error) {
	if len(list) > 1 {
		return model.Edit{}, &Error{Kind: KindOverlap, Path: path, Detail: "it is changed in two ways that exclude each other"}
	}
	c := list[0]
	old, exists := e.base.Find(path)
	if !c.delete {
		if err := checkElided(path, c, string(old.Data)); err != nil {
			return model.Edit{}, err
		}
	}
	if c.whole && exists {
		if err := CheckWhole(old, string(c.content())); err != nil {
			return model.Edit{}, err
		}
	}
	switch {
	case c.whole || c.create && !exists || c.create && len(old.Data) == 0:
		return model.Edit{Path: path, Data: c.content()}, nil
	case c.create:
		return model.Edit{}, &Error{Kind: KindExists, Path: path, Detail: "the file to add is there already", Hint: "quote the lines that change"}
	case !exists:
		return model.Edit{}, e.missing(path)
	case c.delete && len(c.hunks) == 0:
		return model.Edit{Path: path, Delete: true}, nil
	}
	if strings.Count(string(old.Data), "\n") > MaxFileLines {
		return model.Edit{}, &Error{Kind: KindLimit, Path: path, Detail: fmt.Sprintf("the file has more than %d lines", MaxFileLines)}
	}
	data, err := e.edit(path, old.Data, c)
	if err != nil {
		return model.Edit{}, err
	}
	if !c.delete {
		return model.Edit{Path: path, Data: data}, nil
	}
	if len(data) > 0 {
		return model.Edit{}, &Error{Kind: KindNotFound, Path: path, Detail: "the file to delete has more lines than the patch takes away"}
	}
	return model.Edit{Path: path, Delete: true}, nil
}

// CheckWhole refuses what is called the new content of a file and lacks most of it.
// Its error is an *Error.
func CheckWhole(old model.File, content string) error {
	if !dropsMost(string(old.Data), content) {
		return nil
	}
	return &Error{Kind: KindPartial, Path: old.Path, Detail: "it is called the whole file, but lacks most of its lines", Hint: "quote the lines that change"}
}

// dropsMost says that less than half of a file's different lines are still there:
// more likely a function than the file that holds it.
func dropsMost(old, new string) bool {
	before, after := trimmedLines(old), trimmedLines(new)
	kept := 0
	for l := range before {
		if after[l] {
			kept++
		}
	}
	return 2*kept < len(before)
}

// maxSequential bounds hunks times lines where each block reads the file anew.
const maxSequential = 4_000_000

// edit applies the hunks to the old content. Blocks that do not fit it are tried
// one after another, each on what the one before has made.
func (e *engine) edit(path string, data []byte, c change) ([]byte, error) {
	out, err := e.once(path, data, c)
	if err == nil {
		return out, nil
	}
	costly := len(c.hunks)*bytes.Count(data, []byte("\n")) > maxSequential
	if c.ordered || len(c.hunks) < 2 || c.hunks[0].unit != unitBlock || costly {
		return nil, err
	}
	before := string(data)
	for _, h := range c.hunks {
		if len(occurrences(before, h.search, 2)) > 1 {
			h.search = "" // that other blocks took the other places does not say that it meant this one
		}
		one := c
		one.hunks = []hunk{h}
		next, again := e.once(path, data, one)
		if again != nil {
			return nil, err
		}
		data = next
	}
	return data, nil
}

func (e *engine) once(path string, data []byte, c change) ([]byte, error) {
	d := newDocument(path, data)
	e.work += len(d.lines)
	spots, err := e.place(d, c)
	if err != nil {
		return nil, err
	}
	out, err := e.splice(d, spots)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// content is what a new or a whole file holds.
func (c change) content() []byte {
	var lines []line
	marked := false
	for _, h := range c.hunks {
		lines = append(lines, h.lines...)
		marked = marked || h.marked
	}
	return join(lines, false, func(l line) bool { return marked && l.open })
}

func (e *engine) missing(path string) *Error {
	err := &Error{Kind: KindNoFile, Path: path, Detail: "there is no such file"}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, f := range e.base.Files {
		if f.Path == name || strings.HasSuffix(f.Path, "/"+name) {
			err.Hint = fmt.Sprintf("did you mean %q?", f.Path)
			break
		}
	}
	return err
}

// checkPath refuses what no patch may touch in this tree.
func (e *engine) checkPath(path string) *Error {
	if why := patch.Untouchable(e.base, path); why != "" {
		return &Error{Kind: KindPath, Path: path, Detail: why}
	}
	return nil
}
