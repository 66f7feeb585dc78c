package benchmarks

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"ratchet/internal/model"
)

// Limits of what is read of reports: of one file, of all together, of the files
// that a pattern may match, and of the cases.
const (
	maxReport      = 32 << 20
	maxReports     = 64 << 20
	maxReportFiles = 2000
	maxListed      = 200_000 // of what lies beside them
	maxCases       = 100_000
	maxXMLDepth    = 64
)

// junitCase is one test case as a report tells it.
type junitCase struct {
	suite, class, name, file string
	outcome                  model.Outcome // Pass, Fail or Skip
	message                  string
	wall                     time.Duration
}

// parseJUnit reads a JUnit report in any of its dialects: Ant's and Maven's, and
// those of pytest, gotestsum, jest and others. Every testcase element counts,
// wherever it stands; what is not known is passed over. consistent is false when
// a suite states other numbers than its cases have. A document type is refused,
// since entities are declared in one.
func parseJUnit(data []byte) (cases []junitCase, consistent bool, err error) {
	p := &junitParser{consistent: true}
	d := xml.NewDecoder(bytes.NewReader(plainText(data)))
	d.CharsetReader = charsetReader
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.take(token)
		}
		if err != nil {
			line, _ := d.InputPos()
			return nil, false, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if !p.rooted {
		return nil, false, errors.New("no testsuites or testsuite element: not a JUnit report")
	}
	return p.cases, p.consistent, nil
}

// plainText removes a byte order mark, and decodes UTF-16 that has one.
func plainText(data []byte) []byte {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		if out, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(data); err == nil {
			return utf16Declaration.ReplaceAll(out, []byte("$1"))
		}
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}

// utf16Declaration is no longer true of a text that has been decoded.
var utf16Declaration = regexp.MustCompile(`(?i)^(<\?xml[^>]*?)\sencoding=["']utf-16(?:le|be)?["']`)

func charsetReader(charset string, in io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: %w", charset, err)
	}
	return e.NewDecoder().Reader(in), nil
}

// junitElement is an open testsuites or testsuite element.
type junitElement struct {
	name, file       string
	tests, bad       int // as stated, -1 when not
	ownCases, ownBad int // of the cases right below
	allCases, allBad int // of all cases below
}

type junitParser struct {
	stack      []string // local names of the open elements
	suites     []junitElement
	current    *junitCase // the open testcase
	text       *tail      // collects the message of the current case
	inMessage  int        // depth of the element whose text is collected, 0 for none
	cases      []junitCase
	rooted     bool
	consistent bool
}

func (p *junitParser) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		return p.end(t.Name.Local)
	case xml.CharData:
		if p.inMessage > 0 {
			p.text.add(t)
		}
	case xml.Directive:
		return errors.New("a document type is not read: entities could be declared in it")
	}
	return nil
}

func (p *junitParser) start(t xml.StartElement) error {
	name := t.Name.Local
	if p.stack = append(p.stack, name); len(p.stack) > maxXMLDepth {
		return fmt.Errorf("elements are nested more than %d deep", maxXMLDepth)
	}
	switch {
	case len(p.stack) == 1 && name != "testsuites" && name != "testsuite":
		return fmt.Errorf("the root element is %q: not a JUnit report", name)
	case name == "testsuites" || name == "testsuite":
		if p.current != nil {
			return errors.New("a suite inside a test case")
		}
		p.rooted = true
		p.suites = append(p.suites, openSuite(t.Attr))
	case name == "testcase":
		return p.openCase(t.Attr)
	case p.current != nil:
		p.inside(name, t.Attr)
	}
	return nil
}

func openSuite(attrs []xml.Attr) junitElement {
	s := junitElement{name: attr(attrs, "name"), file: attr(attrs, "file"), tests: stated(attrs, "tests"), bad: -1}
	failures, errs := stated(attrs, "failures"), stated(attrs, "errors")
	if failures >= 0 {
		s.bad = failures + max(errs, 0)
	}
	return s
}

// stated is a number that a suite states, or -1.
func stated(attrs []xml.Attr, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(attrs, name)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func attr(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (p *junitParser) openCase(attrs []xml.Attr) error {
	switch {
	case p.current != nil:
		return errors.New("a test case inside a test case")
	case len(p.cases) >= maxCases:
		return fmt.Errorf("more than %d test cases", maxCases)
	case strings.TrimSpace(attr(attrs, "name")) == "":
		return errors.New("a test case without a name")
	}
	c := junitCase{
		class: attr(attrs, "classname"), name: attr(attrs, "name"), file: attr(attrs, "file"),
		outcome: model.Pass, wall: junitTime(attr(attrs, "time")),
	}
	for i := len(p.suites) - 1; i >= 0; i-- {
		if s := p.suites[i]; c.file == "" && s.file != "" {
			c.file = s.file
		}
		if s := p.suites[i]; c.suite == "" {
			c.suite = s.name
		}
	}
	switch strings.ToLower(attr(attrs, "status")) {
	case "notrun", "disabled", "skipped":
		c.outcome = model.Skip
	case "failed", "error":
		c.outcome = model.Fail
	}
	p.current, p.text = &c, &tail{}
	return nil
}

// inside reads an element of the current case. A flaky failure is one of a case
// that passed when it was run again.
func (p *junitParser) inside(name string, attrs []xml.Attr) {
	switch name {
	case "failure", "error", "rerunFailure", "rerunError":
		p.current.outcome = model.Fail
	case "skipped":
		if p.current.outcome == model.Pass {
			p.current.outcome = model.Skip
		}
	default:
		return
	}
	if p.inMessage == 0 {
		p.inMessage = len(p.stack)
		p.text.add([]byte(attr(attrs, "message") + "\n"))
	}
}

func (p *junitParser) end(name string) error {
	if p.inMessage == len(p.stack) {
		p.inMessage = 0
	}
	p.stack = p.stack[:len(p.stack)-1]
	switch name {
	case "testcase":
		p.closeCase()
	case "testsuites", "testsuite":
		p.closeSuite()
	}
	return nil
}

func (p *junitParser) closeCase() {
	p.current.message = p.text.String()
	p.cases = append(p.cases, *p.current)
	for i := range p.suites {
		s := &p.suites[i]
		bad := 0
		if p.current.outcome == model.Fail {
			bad = 1
		}
		s.allCases, s.allBad = s.allCases+1, s.allBad+bad
		if i == len(p.suites)-1 {
			s.ownCases, s.ownBad = s.ownCases+1, s.ownBad+bad
		}
	}
	p.current = nil
}

// closeSuite compares what a suite states with its cases: its own, or with those
// of the suites in it.
func (p *junitParser) closeSuite() {
	s := p.suites[len(p.suites)-1]
	p.suites = p.suites[:len(p.suites)-1]
	agrees := func(own, all, said int) bool { return said < 0 || said == own || said == all }
	if !agrees(s.ownCases, s.allCases, s.tests) || !agrees(s.ownBad, s.allBad, s.bad) {
		p.consistent = false
	}
}

// junitTime reads a time, in which a comma may group thousands or begin the
// decimals. What is no time is 0.
func junitTime(s string) time.Duration {
	s = strings.TrimSpace(s)
	if strings.Contains(s, ",") {
		if strings.Contains(s, ".") {
			s = strings.ReplaceAll(s, ",", "")
		} else {
			s = strings.Replace(s, ",", ".", 1)
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0
	}
	return time.Duration(min(v, 24*3600) * float64(time.Second))
}
