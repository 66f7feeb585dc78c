package suites

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// header is the YAML before the first file of a problem.
type header struct {
	Title  string   `yaml:"title"`
	Split  string   `yaml:"split"`
	Tags   []string `yaml:"tags"`
	Limits struct {
		Time string `yaml:"time"`
	} `yaml:"limits"`
	Answer *struct {
		Text      string   `yaml:"text"`
		Number    *float64 `yaml:"number"`
		Tolerance float64  `yaml:"tolerance"`
	} `yaml:"answer"`
	Checker *struct {
		Kind    string `yaml:"kind"`
		Timeout string `yaml:"timeout"`
	} `yaml:"checker"`
}

// index is the file suite.yaml.
type index struct {
	Format      int    `yaml:"format"`
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
}

// decode reads YAML into v, refusing keys that v does not have. line is 0 when
// nothing is wrong. A panic of the library on absurd input is such an error too.
func decode(data []byte, v any) (line int, problem string) {
	defer func() {
		if p := recover(); p != nil {
			line, problem = 1, fmt.Sprintf("cannot be read as YAML: %v", p)
		}
	}()
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(v)
	if err == nil || len(bytes.TrimSpace(data)) == 0 {
		return 0, ""
	}
	var y yaml.Error
	if !errors.As(err, &y) {
		return 1, "cannot be read as YAML: " + err.Error()
	}
	line = 1
	if t := y.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return max(line, 1), y.GetMessage()
}

// keyLine is the line of a top-level key, 1 when it is not there.
func keyLine(data []byte, key string) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if strings.HasPrefix(string(line), key+":") {
			return n
		}
	}
	return 1
}
