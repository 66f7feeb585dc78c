package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"ratchet/internal/model"
)

// The elements of JUnit's XML that CI servers agree on. encoding/xml escapes what
// is special and replaces characters that XML cannot hold by U+FFFD.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		SystemErr  string          `xml:"system-err,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class      string     `xml:"classname,attr"`
		Name       string     `xml:"name,attr"`
		Time       string     `xml:"time,attr"`
		Properties *junitList `xml:"properties"`
		Failure    *junitBad  `xml:"failure"`
		Error      *junitBad  `xml:"error"`
		Skipped    *junitBad  `xml:"skipped"`
	}
	junitList struct {
		Properties []junitProperty `xml:"property"`
	}
	junitBad struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the export as JUnit XML: a testsuite for each suite, a testcase for
// each problem. One that did not pass in every round has failed, or is an error
// when it could not be run to an end; its time is the mean over its rounds, in seconds.
func (e Export) JUnit(w io.Writer) error {
	all := junitSuites{Name: text(e.Name), Time: seconds(e.Seconds)}
	for _, p := range e.Problems {
		s := all.suite(p.Suite, e)
		s.add(p)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		s.Time = seconds(s.seconds())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write benchmark %s as JUnit XML: %w", e.ID, err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// suite is the testsuite of that name, made when it is new.
func (all *junitSuites) suite(name string, e Export) *junitSuite {
	for i := range all.Suites {
		if all.Suites[i].Name == text(name) {
			return &all.Suites[i]
		}
	}
	s := junitSuite{Name: text(name), Timestamp: e.Started.Format("2006-01-02T15:04:05"), SystemErr: text(e.BuildLog)}
	for _, p := range [][2]string{
		{"benchmark", e.ID}, {"repo", e.Repo}, {"commit", e.Commit}, {"tree", e.Tree}, {"agent", e.Agent},
		{"score", number(e.Score)}, {"tampered", e.Tampered},
	} {
		if p[1] != "" {
			s.Properties = append(s.Properties, junitProperty{p[0], text(p[1])})
		}
	}
	all.Suites = append(all.Suites, s)
	return &all.Suites[len(all.Suites)-1]
}

func (s *junitSuite) add(p ExportProblem) {
	_, name := splitName(p.Name)
	c := junitCase{Class: text(class(p)), Name: text(name), Time: seconds(p.seconds()), Properties: &junitList{properties(p)}}
	bad := p.worst()
	switch why := p.bad(bad); {
	case bad.Outcome == model.Pass:
	case bad.Outcome == model.Skip:
		c.Skipped = &junitBad{Message: why.Message}
		s.Skipped++
	case bad.Outcome == model.Fail:
		c.Failure = &why
		s.Failures++
	default:
		c.Error = &why
		s.Errors++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

// class is the suite and the package, joined by dots, as servers group by.
func class(p ExportProblem) string {
	dir, _ := splitName(p.Name)
	if dir == "" {
		return p.Suite
	}
	return p.Suite + "." + strings.ReplaceAll(dir, "/", ".")
}

// splitName parts the folder of a problem from its name. A slash in the parameters
// of a test, which stand after [ or ::, parts nothing.
func splitName(s string) (dir, name string) {
	end := len(s)
	for _, mark := range []string{"[", "::", " "} {
		if i := strings.Index(s, mark); i >= 0 {
			end = min(end, i)
		}
	}
	if i := strings.LastIndex(s[:end], "/"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}

func properties(p ExportProblem) []junitProperty {
	out := []junitProperty{{"score", number(p.Score)}, {"rounds", strconv.Itoa(len(p.Runs))}}
	tokens := int64(0)
	for _, r := range p.Runs {
		tokens += r.Tokens
		if r.Value != nil {
			out = append(out, junitProperty{"value", number(*r.Value)})
		}
	}
	if p.Metric != nil {
		out = append(out, junitProperty{"unit", text(p.Metric.Unit)}, junitProperty{"better", string(p.Metric.Better)})
	}
	if tokens > 0 {
		out = append(out, junitProperty{"tokens", strconv.FormatInt(tokens, 10)})
	}
	return out
}

// worst is the run that tells most of why the problem did not pass in every round:
// an error before a failure, a failure before a skip.
func (p ExportProblem) worst() ExportRun {
	grade := func(r ExportRun) int {
		switch r.Outcome {
		case model.Pass:
			return 0
		case model.Skip:
			return 1
		case model.Fail:
			return 2
		}
		return 3
	}
	out := p.Runs[0]
	for _, r := range p.Runs[1:] {
		if grade(r) > grade(out) {
			out = r
		}
	}
	return out
}

func (p ExportProblem) bad(r ExportRun) junitBad {
	n := 0
	for _, x := range p.Runs {
		if x.Outcome != model.Pass {
			n++
		}
	}
	return junitBad{Message: fmt.Sprintf("%s in %d of %d rounds", r.Outcome, n, len(p.Runs)), Type: string(r.Outcome), Text: text(r.Message)}
}

func (p ExportProblem) seconds() float64 {
	sum := 0.0
	for _, r := range p.Runs {
		sum += r.Seconds
	}
	return sum / float64(len(p.Runs))
}

func (s *junitSuite) seconds() float64 {
	sum := 0.0
	for _, c := range s.Cases {
		x, _ := strconv.ParseFloat(c.Time, 64)
		sum += x
	}
	return sum
}

func seconds(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// text drops what XML 1.0 cannot hold: bytes that are no UTF-8 and control
// characters become U+FFFD.
func text(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF {
			return r
		}
		return utf8.RuneError
	}, s)
}
