package diagnose

import (
	"path"
	"regexp"
	"sort"

	"ratchet/internal/model"
)

// reportLift is how far a report from production raises a suspect that it
// names: little, because it is text by somebody else.
const reportLift = 0.1

// minNameLength keeps words of everyday language from matching functions.
const minNameLength = 5

var wordPattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// failureNotes cites the failures, the latest first, and collects what of the
// tree they mention, as "file" and "file:function".
func failureNotes(failures []model.Failure, s *source) ([]FailureNote, map[string]bool) {
	sorted := append([]model.Failure(nil), failures...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Seq > sorted[j].Seq })
	mentions := map[string]bool{}
	var index map[string][]string
	notes := make([]FailureNote, 0, min(len(sorted), maxFailures))
	for n, f := range sorted {
		note := FailureNote{
			Seq: f.Seq, ID: head(f.ID, maxText), Agent: head(f.Agent, maxText), Task: head(f.Task, maxText),
			Expected: head(f.Expected, maxText), Actual: head(f.Actual, maxText), Severity: f.Severity, At: f.At,
		}
		if n < maxFailures {
			if index == nil {
				index = functionIndex(s)
			}
			note.Mentions = mentioned(f, s, index)
			for _, m := range note.Mentions {
				mentions[m] = true
			}
		}
		notes = append(notes, note)
	}
	return notes, mentions
}

// functionIndex maps function names to "file:function", with names that stand
// in more than one place left out.
func functionIndex(s *source) map[string][]string {
	index := map[string][]string{}
	for dir := range s.byDir {
		for _, f := range s.functions(dir) {
			if len(f.name) >= minNameLength {
				index[f.name] = append(index[f.name], f.file+":"+f.name)
			}
		}
	}
	for _, f := range s.pythonFunctions() {
		if len(f.name) >= minNameLength {
			index[f.name] = append(index[f.name], f.file+":"+f.name)
		}
	}
	for name, places := range index {
		if len(places) > 1 {
			delete(index, name)
		}
	}
	return index
}

var filePattern = regexp.MustCompile(`[\w./-]+\.(?:` + sourceExtensions + `)\b`)

func mentioned(f model.Failure, s *source, index map[string][]string) []string {
	text := f.Task + "\n" + f.Expected + "\n" + f.Actual + "\n" + head(string(f.Context), 16<<10)
	var out []string
	for _, p := range filePattern.FindAllString(text, -1) {
		if name, ok := s.resolve(path.Clean(p)); ok {
			out = append(out, name)
		}
	}
	for _, w := range wordPattern.FindAllString(text, -1) {
		out = append(out, index[w]...)
	}
	sort.Strings(out)
	return dedupe(out, maxMentions)
}

func dedupe(sorted []string, max int) []string {
	var out []string
	for i, x := range sorted {
		if (i == 0 || x != sorted[i-1]) && len(out) < max {
			out = append(out, x)
		}
	}
	return out
}

// reported raises suspects that reports from production mention. It adds none:
// without a failing problem there would be no evidence to keep a repair.
func (d *diagnosis) reported(found map[key]*Suspect) {
	if len(d.mentions) == 0 {
		return
	}
	for k, s := range found {
		if d.mentions[k.file] {
			raise(s, reportLift, "a report from production names its file")
			continue
		}
		fn, ok := d.source.enclosing(k.file, k.line)
		if ok && d.mentions[k.file+":"+fn.name] {
			raise(s, reportLift, "a report from production names its function")
		}
	}
}
