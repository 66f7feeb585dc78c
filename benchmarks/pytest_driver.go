package benchmarks

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// pyDriver is the Python code that runs tests; its main.py tells how.
//
//go:embed pydriver/*.py
var pyDriver embed.FS

const (
	// pyDriverDir is where the driver is laid; the code under test cannot write there.
	pyDriverDir = sandbox.WorkDir + "/pytest"
	// pyRequestDir is where requests are laid; each is removed before code under test runs.
	pyRequestDir = sandbox.WorkDir + "/request"
	// maxPyOutput bounds the report of one process, in bytes.
	maxPyOutput = 64 << 20
	// maxPyProcess bounds the time of one process, whatever it runs.
	maxPyProcess = 30 * time.Minute
)

// pyDriverFiles are the driver's files, below pyDriverDir.
func pyDriverFiles() []model.File {
	entries, err := pyDriver.ReadDir("pydriver")
	if err != nil {
		panic(err) // embedded
	}
	var files []model.File
	for _, e := range entries {
		data, err := pyDriver.ReadFile("pydriver/" + e.Name())
		if err != nil {
			panic(err)
		}
		files = append(files, model.File{Path: e.Name(), Mode: model.ModeFile, Data: data})
	}
	return files
}

// pyRequest is what the driver is asked; see main.py.
type pyRequest struct {
	Key      string                 `json:"key"`
	Mode     string                 `json:"mode"`
	Root     string                 `json:"root"`
	Source   string                 `json:"source"`
	Options  []string               `json:"options"`
	Select   []string               `json:"select"`
	Problems []string               `json:"problems"`
	Canaries map[string][3][]string `json:"canaries"`
	Isolate  bool                   `json:"isolate"`
	Plain    bool                   `json:"plain"`
	Limit    float64                `json:"limit"` // seconds
	Start    float64                `json:"start"` // seconds
	Harness  []string               `json:"harness"`
	Data     []string               `json:"data"`
	Own      []string               `json:"own"`
	Changed  []string               `json:"changed"`
	Frank    []string               `json:"frank"`
}

// Modes of a request.
const (
	pyModeCollect = "collect"
	pyModeRun     = "run"
)

// key makes a new key for the request.
func (r *pyRequest) key() []byte {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		panic(err) // documented never to happen
	}
	r.Key = hex.EncodeToString(key)
	return key
}

// command is the process that does what a request asks, in at most limit.
func (r pyRequest) command(limit time.Duration) sandbox.Command {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain data
	}
	name := hex.EncodeToString([]byte(r.Key[:16])) + ".json"
	argv := []string{"python3", "-I", "-B", path.Join(pyDriverDir, "main.py"), path.Join(pyRequestDir, name)}
	if r.Plain {
		argv = append(argv, "plain")
	}
	return sandbox.Command{
		Argv: argv,
		Dir:  pyRequestDir, User: sandbox.Runner, Timeout: min(limit, maxPyProcess), MaxOutput: maxPyOutput,
		Files: []model.File{{Path: name, Mode: model.ModeFile, Data: data}},
	}
}

// pyFrame is one thing that the driver reports; see main.py.
type pyFrame struct {
	N       int      `json:"n"`
	Kind    string   `json:"t"`
	Child   int      `json:"c"`
	IDs     []string `json:"ids"`
	ID      string   `json:"id"`
	Group   string   `json:"group"`
	Home    string   `json:"home"`
	File    string   `json:"file"`
	Outcome string   `json:"outcome"`
	Wall    float64  `json:"wall"` // seconds
	Message string   `json:"message"`
	Skipped bool     `json:"skipped"`
	Why     string   `json:"why"`
	Done    bool     `json:"done"`
	Status  int      `json:"status"`
	Running string   `json:"running"`
}

// parsePyFrames reads a driver's report. It never fails: lines that are not
// signed with the key, or not the next frame, are what others wrote. complete
// says that the last frame was there.
func parsePyFrames(out, key []byte) (frames []pyFrame, complete bool) {
	for line := range bytes.Lines(out) {
		line, ended := bytes.CutSuffix(line, []byte{'\n'})
		mac, data, ok := bytes.Cut(line, []byte{' '})
		if !ok || !ended || !signed(mac, data, key) {
			continue
		}
		var f pyFrame
		if err := json.Unmarshal(data, &f); err != nil || f.N != len(frames) {
			continue
		}
		frames = append(frames, f)
		if f.Kind == "end" {
			return frames, true
		}
	}
	return frames, false
}

// signed reports whether mac is the signature of data.
func signed(mac, data, key []byte) bool {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	got, err := hex.DecodeString(string(mac))
	return err == nil && hmac.Equal(got, h.Sum(nil))
}

// pyRequest is what is the same in all requests for a tree.
func (s *pySuite) request(mode string, trusted model.Tree, limit time.Duration) pyRequest {
	r := pyRequest{
		Mode: mode, Root: path.Join(Source, s.cfg.Root), Source: Source, Options: orEmpty(s.args.options),
		Select: []string{}, Problems: []string{}, Canaries: map[string][3][]string{},
		Limit: limit.Seconds(), Start: s.start(limit).Seconds(), Harness: []string{}, Data: []string{}, Own: []string{}, Changed: []string{}, Frank: []string{},
	}
	own := map[string]bool{}
	for _, f := range trusted.Files {
		harness := s.Harness(f.Path)
		if path.Ext(f.Path) != ".py" {
			if harness {
				r.Data = append(r.Data, f.Path)
			}
			continue
		}
		if harness {
			r.Harness = append(r.Harness, f.Path)
		}
		own[topModule(f.Path, trusted)] = true
	}
	r.Own = append(r.Own, sortedKeys(own)...)
	return r
}

// frankWords are in source that had its reasons to look into the interpreter
// before anything was changed.
var frankWords = regexp.MustCompile(`\b(_getframe|currentframe|inspect|gc|settrace|setprofile|ctypes|tb_frame|gi_frame|_current_frames|traceback|CodeType)\b`)

// suspects lists the Python files of code that differ from the trusted tree, and
// those of them whose trusted version looks into the interpreter itself.
func (s *pySuite) suspects(merged, trusted model.Tree) (changed, frank []string) {
	for _, f := range merged.Files {
		old, known := trusted.Find(f.Path)
		if known && f.Mode == old.Mode && bytes.Equal(f.Data, old.Data) {
			continue
		}
		changed = append(changed, f.Path)
		if known && frankWords.Match(old.Data) {
			frank = append(frank, f.Path)
		}
	}
	return orEmpty(changed), orEmpty(frank)
}

// topModule is the name that an import of a file starts with: of the file, or of
// the outermost package that it is in.
func topModule(p string, t model.Tree) string {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, ok := t.Find(path.Join(dir, "__init__.py")); !ok {
			break
		}
		p = dir
	}
	return moduleName(path.Base(p))
}

// start is the time that collecting may take: importing is part of a test.
func (s *pySuite) start(limit time.Duration) time.Duration { return limit + 10*time.Second }

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// failure is what the driver says when pytest itself did not get to its end.
func (f pyFrame) failure() string {
	if f.Why == "timeout" {
		return "it took too long"
	}
	return fmt.Sprintf("exit status %d: %s", f.Status, f.Message)
}
