package answer

import "path"

// choose returns the last value that holds edits or a diff. Single edits one
// after another belong together. What follows something that could not be read
// may be a piece of it: that must be a whole answer by itself.
func (s scan) choose() (draft, bool) {
	for i := len(s.values) - 1; i >= 0; i-- {
		o, isObject := s.values[i].(map[string]any)
		if i >= s.outer && !(isObject && (fold(o).has(editNames) || fold(o).has(diffNames)) && !isSingle(fold(o))) {
			continue
		}
		if isObject && isSingle(fold(o)) {
			return s.singles()
		}
		if d, ok := read(s.values[i], 0); ok {
			return s.alone(d, i), true
		}
	}
	return draft{}, false
}

// alone refuses the answer at a place when one before it is for other files: both
// may be meant, and one of them would be half a patch.
func (s scan) alone(d draft, at int) draft {
	for _, v := range s.values[:min(at, s.outer)] {
		before, ok := read(v, 0)
		if ok && d.err == nil && before.err == nil && before.apart(d) {
			d.err = &Error{Kind: NotUnderstood, Detail: "it holds several answers, for different files", Hint: "give one object with all edits in it"}
		}
	}
	return d
}

// apart says whether two drafts have records, and none for the same path.
func (d draft) apart(other draft) bool {
	for _, a := range d.records {
		for _, b := range other.records {
			if path.Clean(a.Path) == path.Clean(b.Path) {
				return false
			}
		}
	}
	return len(d.records) > 0 && len(other.records) > 0
}

// singles joins the values that are one edit each.
func (s scan) singles() (draft, bool) {
	var out draft
	for _, v := range s.values[:s.outer] {
		o, ok := v.(map[string]any)
		if !ok || !isSingle(fold(o)) {
			continue
		}
		d := single(o)
		d.records, d.diff = append(out.records, d.records...), out.diff+d.diff
		if d.err == nil {
			d.err = out.err
		}
		out = d
	}
	return out, len(out.records) > 0 || out.diff != ""
}
