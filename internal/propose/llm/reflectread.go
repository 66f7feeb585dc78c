package llm

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ratchet/internal/model"
)

// readReflection reads the four texts however they are written: as a JSON object
// with or without words round it, with lists for texts, or as lines that begin
// with the name of the question. Texts that are all empty are no reflection.
func readReflection(text string) (model.Reflection, bool) {
	text = head(text, maxAnswer)
	said := fromObject(text)
	if len(said) == 0 {
		said = fromLines(text)
	}
	r := model.Reflection{Worked: said["worked"], Failed: said["failed"], Surprised: said["surprised"], Learn: said["learn"]}
	return r, r.Worked != "" || r.Failed != "" || r.Surprised != "" || r.Learn != ""
}

var reflectionNames = []string{"worked", "failed", "surprised", "learn"}

// questionOf finds the question that a name means, such as "What worked" or "to_learn".
func questionOf(name string) string {
	for _, q := range reflectionNames {
		if strings.Contains(strings.ToLower(name), q) {
			return q
		}
	}
	return ""
}

// fromObject reads the first JSON object that answers any question.
func fromObject(text string) map[string]string {
	at := strings.IndexByte(text, '{')
	for tries := 0; at >= 0 && tries < maxObjects; tries++ {
		var object map[string]any
		if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&object); err == nil {
			if said := answers(object); len(said) > 0 {
				return said
			}
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

const (
	maxObjects = 32       // places in an answer where an object is looked for
	maxAnswer  = 32 << 10 // bytes of an answer that are read
)

// answers takes the texts of an object. Of two names that mean one question the
// one that is its name counts, else the first by the alphabet.
func answers(object map[string]any) map[string]string {
	out := map[string]string{}
	for _, exact := range []bool{false, true} {
		for _, name := range sortedKeys(object) {
			q := questionOf(name)
			if said := tidy(flat(object[name])); q != "" && said != "" && (out[q] == "" || exact && name == q) {
				out[q] = said
			}
		}
	}
	return out
}

func sortedKeys(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for n := range object {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// flat is the text of a value: of a list, its texts one after the other.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, 0, len(v))
		for _, x := range v {
			parts = append(parts, flat(x))
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// heading is a line that begins with one of the questions, as in "**Worked:** it did".
var heading = regexp.MustCompile(`(?i)^[\s#*\-0-9.)]*(?:what )?(?:is |was )?(?:still )?(?:to )?(worked|failed|surprised|learn)[\s*]*:[\s*]*(.*)$`)

func fromLines(text string) map[string]string {
	out := map[string]string{}
	at := ""
	for _, l := range strings.Split(text, "\n") {
		if m := heading.FindStringSubmatch(l); m != nil {
			at = strings.ToLower(m[1])
			l = m[2]
		}
		if at != "" {
			out[at] += " " + l
		}
	}
	for q, said := range out {
		if out[q] = tidy(said); out[q] == "" {
			delete(out, q)
		}
	}
	return out
}

// tidy makes one clean line of at most maxReflection bytes; what says nothing
// becomes nothing.
func tidy(s string) string {
	s = strings.Join(strings.Fields(clean(head(s, 8*maxReflection))), " ")
	switch strings.ToLower(strings.Trim(s, ". ")) {
	case "", "none", "nothing", "n/a", "na", "null", "-":
		return ""
	}
	return short(s, maxReflection)
}

// short cuts a text to a number of bytes, its mark included, on a rune's boundary.
func short(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	n := bytes - len(cutMark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}
