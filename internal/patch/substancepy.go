package patch

import (
	"strings"

	"ratchet/internal/pysrc"
)

func gateParsePython(c change) *Refusal {
	f, err := pysrc.Parse(c.new.Data)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return &Refusal{Rule: RuleParse, Why: err.Error()}
	}
	return nil
}

// pySubstance compares what two files do: comments, docstrings and white space of
// choice are nothing. The encoding that a file declares is part of the code.
func pySubstance(c change) substanceKind {
	old, err := pysrc.Parse(c.old.Data)
	if err != nil {
		return lineSubstance(c.path, c.old.Data, c.new.Data)
	}
	new, err := pysrc.Parse(c.new.Data)
	if err != nil {
		return lineSubstance(c.path, c.old.Data, c.new.Data)
	}
	switch {
	case old.Canonical() != new.Canonical() || codingCookie(c.old.Data) != codingCookie(c.new.Data):
		return changesCode
	case remarks(old) != remarks(new):
		return changesComments
	}
	return changesSpace
}

// remarks are the comments, docstrings and other statements without effect of a file, in order.
func remarks(f *pysrc.File) string {
	var b strings.Builder
	for _, t := range f.Tokens {
		if t.Kind == pysrc.Comment || t.Is("pass") {
			b.WriteString(strings.Join(strings.Fields(t.Text), " ") + "\n")
		}
	}
	f.Walk(func(s *pysrc.Stmt) {
		if s.IsDocstring() {
			for _, t := range s.Tokens {
				b.WriteString(t.Text + "\n")
			}
		}
	})
	return b.String()
}
