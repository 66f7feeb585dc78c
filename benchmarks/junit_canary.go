package benchmarks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// junitCanary is a test that fails with random words, put at the end of a file
// of tests under a random name.
type junitCanary struct {
	path  string // the file
	name  string // part of the case's name
	words string // part of its message
}

// testLanguage is how a failing test is written.
type testLanguage struct {
	file  *regexp.Regexp // base names of files of tests
	needs *regexp.Regexp // what else the file has to hold, nil for nothing
	test  string         // format of the name and the words
}

var testLanguages = []testLanguage{
	{
		file: regexp.MustCompile(`^(test_.*|.*_test|tests?)\.py$`),
		test: "\n\nclass Test%[1]s(__import__(\"unittest\").TestCase):\n    def test_%[1]s(self):\n        self.fail(%[2]q)\n",
	},
	{
		file: regexp.MustCompile(`_test\.go$`), needs: regexp.MustCompile(`(?m)^\s*(import\s+)?"testing"\s*$`),
		test: "\n\nfunc Test%s(t *testing.T) { t.Fatal(%q) }\n",
	},
	{
		file: regexp.MustCompile(`\.(test|spec)\.[cm]?[jt]sx?$`), needs: regexp.MustCompile(`\b(test|it)\(`),
		test: "\n;(typeof test === \"function\" ? test : it)(%q, () => { throw new Error(%q) });\n",
	},
	{
		file: regexp.MustCompile(`\.rs$`), needs: regexp.MustCompile(`(?m)^#\[test\]`),
		test: "\n\n#[test]\n#[allow(non_snake_case)]\nfn %s() { panic!(%q) }\n",
	},
}

// plant returns the files of tests of a tree with a canary in each, and the
// canaries. only, when not nil, says in which files.
func (s *junitSuite) plant(t model.Tree, only map[string]bool) (files []model.File, out []junitCanary) {
	taken := &names{}
	for _, f := range t.Files {
		if !s.Harness(f.Path) || f.Mode == model.ModeSymlink || only != nil && !only[f.Path] {
			continue
		}
		for _, l := range testLanguages {
			if !l.file.MatchString(path.Base(f.Path)) || l.needs != nil && !l.needs.Match(f.Data) {
				continue
			}
			c := junitCanary{path: f.Path, name: taken.fresh("Z"), words: words(4)}
			f.Data = append(bytes.Clone(f.Data), fmt.Sprintf(l.test, c.name, c.words)...)
			files, out = append(files, f), append(out, c)
			break
		}
	}
	return files, out
}

// measure is what a run of the trusted tree has shown of the command's runner,
// so that code which runs beside it can be held to the same.
type measure struct {
	canaries map[string]bool // files whose canary was reported as it should be
	counts   map[string]int  // how often a case is reported, by problem id
	stated   bool            // suites state the right numbers
	exits    bool            // the exit status says whether anything failed
	tally    *tally          // what the runner prints of failures, nil when not known
}

// measure returns what is known of the runner; the first call for a trusted tree
// and an image runs the command twice, with canaries and, when the canaries
// disturb it, without. Calls wait for each other.
func (s *junitSuite) measure(ctx context.Context, t Target) (*measure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := treeKey(t.Trusted) + t.Spec.Image
	if m := s.measures[key]; m != nil {
		return m, nil
	}
	m, err := s.calibrate(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("suite %q: run the command on the trusted commit: %w", s.cfg.Name, err)
	}
	s.measures[key] = m
	return m, nil
}

// treeKey identifies the content of a tree.
func treeKey(t model.Tree) string {
	h := sha256.New()
	for _, f := range t.Files {
		fmt.Fprintf(h, "%q %o %d\n", f.Path, f.Mode, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *junitSuite) calibrate(ctx context.Context, t Target) (*measure, error) {
	plain, err := s.sample(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	m := plain.learn(map[string]bool{})
	_, planted := s.plant(s.tree(t.Trusted, t.Trusted), nil)
	if len(planted) == 0 {
		return m, nil
	}
	everywhere := map[string]bool{}
	for _, c := range planted {
		everywhere[c.path] = true
	}
	seen, err := s.sample(ctx, t, everywhere)
	if err != nil {
		return nil, err
	}
	with := seen.learn(seen.sound())
	if !with.exits || len(with.canaries) == 0 || !covers(with.counts, m.counts, t.Problems) {
		return m, nil // they disturb the runner, or are not seen
	}
	return with, nil
}

// covers reports whether every problem that want has cases of is in got.
func covers(got, want map[string]int, problems []model.Problem) bool {
	return !slices.ContainsFunc(problems, func(p model.Problem) bool { return want[p.ID] > got[p.ID] })
}

// sample runs the command once on the trusted tree, with canaries in some files.
func (s *junitSuite) sample(ctx context.Context, t Target, canaries map[string]bool) (r *junitRun, err error) {
	b := s.bench(t, t.Trusted, &measure{canaries: canaries})
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.commandBox.open(ctx); err != nil {
		return nil, err
	}
	if b.failed {
		return &junitRun{bench: b, unread: "not prepared"}, nil
	}
	return b.once(ctx)
}

// learn keeps what holds for a run of the trusted tree.
func (r *junitRun) learn(canaries map[string]bool) *measure {
	m := &measure{canaries: canaries, counts: map[string]int{}}
	if r.unread != "" {
		return m
	}
	for id, cases := range r.byID {
		m.counts[id] = len(cases)
	}
	m.stated = r.consistent
	m.exits = (r.bad > 0) == (r.outcome.ExitCode != 0)
	for _, t := range tallies {
		if n, ok := t.read(r.outcome.Stdout, r.outcome.Stderr); ok && n == r.bad && m.tally == nil {
			m.tally = &t
		}
	}
	return m
}

// sound lists the files whose canary failed with its words.
func (r *junitRun) sound() map[string]bool {
	out := map[string]bool{}
	for _, c := range r.bench.canaries {
		found := r.canaries[c.name]
		if len(found) == 1 && found[0].outcome == model.Fail && strings.Contains(found[0].message, c.words) {
			out[c.path] = true
		}
	}
	return out
}

// tally is what a runner prints at its end of how many cases failed.
type tally struct {
	line  *regexp.Regexp
	count *regexp.Regexp // of failures, in the line; several are added up
}

// tallies are those of pytest, gotestsum, unittest, jest, vitest, nextest and Maven.
var tallies = []tally{
	{regexp.MustCompile(`(?m)^=* ?\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected)\b.* in [0-9.]+s.*$`), regexp.MustCompile(`(\d+) (?:failed|errors?)\b`)},
	{regexp.MustCompile(`(?m)^DONE \d+.*$`), regexp.MustCompile(`(\d+) (?:failures?|errors?)\b`)},
	{regexp.MustCompile(`(?m)^(?:OK|FAILED)(?: \(.*\))?$`), regexp.MustCompile(`(?:failures|errors)=(\d+)`)},
	{regexp.MustCompile(`(?m)^\s*Tests:? +\d+ .*$`), regexp.MustCompile(`(\d+) failed`)},
	{regexp.MustCompile(`(?m)^\s*Summary .*$`), regexp.MustCompile(`(\d+) failed`)},
	{regexp.MustCompile(`(?m)Tests run: \d+, Failures: .*$`), regexp.MustCompile(`(?:Failures|Errors): (\d+)`)},
}

// read returns how many failures the last such line of a stream tells.
func (t *tally) read(streams ...[]byte) (n int, ok bool) {
	for _, stream := range streams {
		lines := t.line.FindAll(stream, -1)
		if len(lines) == 0 {
			continue
		}
		for _, m := range t.count.FindAllSubmatch(lines[len(lines)-1], -1) {
			k, err := strconv.Atoi(string(m[1]))
			if err != nil {
				return 0, false
			}
			n += k
		}
		return n, true
	}
	return 0, false
}
