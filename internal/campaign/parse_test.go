package campaign

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// full is the file that the documentation shows: every key with its default.
const full = `name: sharper-agent
repo: ./agent
base: main
paths: {allow: ["**/*.go", "**/*.py"], deny: ["vendor/**"]}
suites:
  - name: unit
    kind: gotest
    weight: 1
    root: .
    packages: ["./..."]
    heldout: {share: 0.25}
    timeout: 60s
sandbox: {image: host-go, cpus: 1, memory: 1GiB, pids: 256, disk: 512MiB, network: none, setup: []}
proposers: [{kind: search}]
search: {generations: 20, candidates: 24, parallel: 2, stop: {score: 1.0, stale: 5}}
gate: {alpha: 0.05, rounds: 20}
budget: {wall: 8h, sandbox: 4h}
approval: {keep: auto}
seed: 1
`

const minimal = "name: sharper-agent\nrepo: ./agent\n"

func TestDefaultsAreThoseOfTheFullFile(t *testing.T) {
	opts := ParseOptions{File: "c.yaml", Dir: "/srv/code"}
	want, err := Parse([]byte(full), opts)
	require.NoError(t, err)
	got, err := Parse([]byte(minimal), opts)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, "/srv/code/agent", got.Repo)
	require.Equal(t, time.Minute, got.Suites[0].Timeout.Std())
	require.Equal(t, Size(512<<20), got.Sandbox.Disk)
	require.Equal(t, 8*time.Hour, got.Budget.Wall.Std())
	require.NoError(t, got.Validate())
}

func TestEveryKeyIsRead(t *testing.T) {
	s, err := Parse([]byte(`
name: "n1"
repo: https://example.org/a.git
base: release/1.2
paths: {allow: ["a/**"], deny: []}
suites:
- {name: one, packages: [./a, ./b/...], heldout: {problems: [TestA, TestB]}, timeout: 1m30s}
- {name: two, kind: gotest, heldout: {share: 0}}
sandbox: {image: "golang:1.26", cpus: 1.5, memory: 2 GiB, pids: 1_000, disk: 1.5GiB, network: none, setup: [go mod download]}
search: {generations: 3, candidates: 4, parallel: 5, stop: {score: 0.9, stale: 2}}
gate: {alpha: 0.01, rounds: 30}
budget: {wall: 90m, sandbox: 2h}
approval: {keep: person, deadline: 24h, then: revert}
seed: -7
`), ParseOptions{Dir: "/srv"})
	require.NoError(t, err)
	require.Equal(t, Spec{
		Name: "n1", Repo: "https://example.org/a.git", Base: "release/1.2",
		Paths: Paths{Allow: []string{"a/**"}, Deny: []string{}},
		Suites: []Suite{
			{Name: "one", Kind: SuiteGoTest, Weight: 1, Root: ".", Packages: []string{"./a", "./b/..."}, Heldout: Heldout{Problems: []string{"TestA", "TestB"}}, Timeout: Duration(90 * time.Second)},
			{Name: "two", Kind: SuiteGoTest, Weight: 1, Root: ".", Packages: []string{"./..."}, Timeout: Duration(time.Minute)},
		},
		Sandbox:   Sandbox{Image: "golang:1.26", CPUs: 1.5, Memory: 2 << 30, Pids: 1000, Disk: 3 << 29, Network: NetworkNone, Setup: []string{"go mod download"}},
		Proposers: []Proposer{{Kind: ProposerSearch}},
		Search:    Search{Generations: 3, Candidates: 4, Parallel: 5, Stop: Stop{Score: 0.9, Stale: 2}},
		Gate:      Gate{Alpha: 0.01, Rounds: 30},
		Budget:    Budget{Wall: Duration(90 * time.Minute), Sandbox: Duration(2 * time.Hour)},
		Approval:  Approval{Keep: KeepPerson, Deadline: Duration(24 * time.Hour), Then: ThenRevert},
		Seed:      -7,
	}, s)
}

func TestRepoPaths(t *testing.T) {
	for repo, want := range map[string]string{
		"../x":                      "/x",
		".":                         "/srv",
		"/abs/../y":                 "/abs/../y",
		"https://host/x.git":        "https://host/x.git",
		"ssh://git@host:22/x":       "ssh://git@host:22/x",
		"git@host:team/x.git":       "git@host:team/x.git",
		"host.example:x.git":        "host.example:x.git",
		"file:///srv/x":             "file:///srv/x",
		"./odd:name":                "/srv/odd:name",
		"sub/dir with space/x.repo": "/srv/sub/dir with space/x.repo",
	} {
		s, err := Parse(fmt.Appendf(nil, "name: a\nrepo: %q\n", repo), ParseOptions{Dir: "/srv"})
		require.NoError(t, err, repo)
		require.Equal(t, want, s.Repo)
	}
	s, err := Parse([]byte(minimal), ParseOptions{})
	require.NoError(t, err)
	require.Equal(t, "./agent", s.Repo)
}

// TestOneError checks each class of error by itself: its place, key, text and hint.
func TestOneError(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "1:1: the file is empty (the least it can say is name and repo)"},
		{"comment only", "# nothing\n", "1:1: the file is empty (the least it can say is name and repo)"},
		{"separator only", "---\n", "1:1: the file is empty (the least it can say is name and repo)"},
		{"list", "- name: a\n", "1:1: expected keys with values, found a list (begin with a line like name: my-campaign)"},
		{"text", "hello", `1:1: expected keys with values, found the text "hello" (begin with a line like name: my-campaign)`},
		{"tab", "name: a\nrepo: b\ngate:\n\talpha: 0.1\n", "4:1: a tab cannot indent a line (indent with spaces)"},
		{"bad indentation", "name: a\n  repo: b\n", "1:7: a key cannot stand here (check the indentation; quote a value that holds a colon)"},
		{"unclosed", "name: a\nrepo: b\npaths: {allow: [x}\n", "3:18: ',' or ']' must be specified (the file is not valid YAML)"},
		{"reserved", "name: @a\nrepo: b\n", "1:7: '@' is a reserved character (quote the value)"},
		{"not UTF-8", "name: \xff\n", "1:1: the file is not UTF-8 text (save it as UTF-8)"},
		{"control character", "name: a\nrepo: ü\x01\n", "2:8: the file holds the control character U+0001 (remove it)"},
		{"too large", minimal + strings.Repeat("#", MaxFile), "the file is too large: 65570 bytes, at most 65536 (is it a campaign file?)"},
		{"two documents", minimal + "---\nname: b\n", "4:1: a second document (one file describes one campaign; remove it and the --- before it)"},
		{"no name", "repo: b\n", "1:1: name: a value is required (add a line like name: my-campaign)"},
		{"no repo", "name: b\n", "1:1: repo: a value is required (add a line like repo: ./my-repository)"},
		{"empty repo", "name: b\nrepo: \"\"\n", "2:7: repo: a value is required (add a line like repo: ./my-repository)"},
		{"no value", "name: b\nrepo:\n", "2:1: repo: the key has no value (give it one, or remove the key to use the default)"},
		{"twice", minimal + "name: b\n", "3:1: name: the key is given twice (the first is in line 1; remove one)"},
		{"nothing in a list", minimal + "suites: [{packages: [~]}]\n", "3:22: suites[0].packages[0]: there is no value (write one, or remove the element)"},
		{"anchor", "name: &x a\nrepo: b\n", "1:7: name: anchors and aliases are not supported (write the value out)"},
		{"tag", "name: !!str a\nrepo: b\n", "1:7: name: tags are not supported (write the value without it)"},
		{"merge key", minimal + "<<: {seed: 1}\n", "3:1: <<: there is no such key (the keys here are name, repo, base, paths, suites, sandbox, endpoints, proposers, search, gate, budget, approval, seed)"},
		{"typo", minimal + "aproval: {keep: auto}\n", "3:1: aproval: there is no such key (did you mean approval?)"},
		{"swapped letters", minimal + "gate: {ahlpa: 0.1}\n", "3:8: gate.ahlpa: there is no such key (did you mean alpha?)"},
		{"upper case", minimal + "Seed: 1\n", "3:1: Seed: there is no such key (did you mean seed?)"},
		{"misplaced", minimal + "memory: 1GiB\n", "3:1: memory: there is no such key (it belongs to sandbox)"},
		{"misplaced in a list", minimal + "heldout: {share: 0.1}\n", "3:1: heldout: there is no such key (it belongs to suites)"},
		{"in a list", minimal + "suites: [{nam: x}]\n", "3:11: suites[0].nam: there is no such key (did you mean name?)"},
		{"name", "name: Agent_1\nrepo: b\n", `1:7: name: "Agent_1" does not fit (it is ` + slugForm + ")"},
		{"name hyphen", "name: -a\nrepo: b\n", `1:7: name: "-a" does not fit (it is ` + slugForm + ")"},
		{"long name", "name: " + strings.Repeat("a", 64) + "\nrepo: b\n", `1:7: name: "` + strings.Repeat("a", 60) + `…" does not fit (it is ` + slugForm + ")"},
		{"number as name", "name: 12\nrepo: b\n", `1:7: name: expected a text, found the number 12 (put it in quotes: "12")`},
		{"list as name", "name: [a]\nrepo: b\n", `1:7: name: expected a text, found a list (put it in quotes: "")`},
		{"home", "name: a\nrepo: ~/x\n", `2:7: repo: "~/x" does not fit (it is a path or a URL; ~ is not expanded)`},
		{"base", minimal + "base: -x\n", `3:7: base: "-x" does not fit (it is a branch, a tag or a commit)`},
		{"range", minimal + "base: a..b\n", "3:7: base: a range is not a commit (name one branch, tag or commit)"},
		{"no paths", minimal + "paths: {allow: []}\n", "3:16: paths.allow: the list is empty (give it at least one element, or remove the key to use the default)"},
		{"paths text", minimal + "paths: x\n", `3:8: paths: expected keys with values, found the text "x" (write it like {allow: …})`},
		{"allow text", minimal + "paths: {allow: x}\n", `3:16: paths.allow: expected a list, found the text "x" (write it like [ … ], or one element a line with - in front)`},
		{"glob", minimal + "paths: {allow: [\"a[\"]}\n", `3:17: paths.allow[0]: "a[" is not a valid pattern (close every [ and {; * stays in a folder, ** crosses them)`},
		{"glob outside", minimal + "paths: {deny: [../x]}\n", `3:16: paths.deny[0]: "../x" leaves the repository (patterns are relative to the repository, such as internal/**)`},
		{"glob folder", minimal + "paths: {deny: [x/]}\n", `3:16: paths.deny[0]: "x/" can match nothing (write "x", or "x/**" for a whole folder)`},
		{"glob empty", minimal + "paths: {deny: [\"\"]}\n", "3:16: paths.deny[0]: the pattern is empty (remove it, or write **)"},
		{"glob twice", minimal + "paths: {deny: [a, a]}\n", `3:19: paths.deny[1]: "a" is given twice (remove one)`},
		{"no suites", minimal + "suites: []\n", "3:9: suites: the list is empty (give it at least one element, or remove the key to use the default)"},
		{"one suite twice", minimal + "suites: [{}, {}]\n", `3:14: suites[1].name: suites[0] has the name "unit" already (give each suite a name of its own)`},
		{"suite typo", minimal + "suites: [{kind: go-test}]\n", `3:17: suites[0].kind: there is no "go-test" (did you mean gotest?)`},
		{"unknown suite", minimal + "suites: [{kind: cargo}]\n", `3:17: suites[0].kind: there is no "cargo" (it is gotest or pytest or junit or exec or metric)`},
		{"package", minimal + "suites: [{packages: [internal/x]}]\n", `3:22: suites[0].packages[0]: "internal/x" is not a package pattern (packages are relative to the suite's root, such as ./... or ./internal/parse)`},
		{"package outside", minimal + "suites: [{packages: [./../x]}]\n", `3:22: suites[0].packages[0]: "./../x" is not a package pattern (packages are relative to the suite's root, such as ./... or ./internal/parse)`},
		{"share", minimal + "suites: [{heldout: {share: 0.95}}]\n", "3:28: suites[0].heldout.share: 0.95 is out of range (it is from 0 to 0.9)"},
		{"share text", minimal + "suites: [{heldout: {share: \"0.5\"}}]\n", `3:28: suites[0].heldout.share: expected a number, found the text "0.5" (write it without quotes, in plain digits)`},
		{"share NaN", minimal + "suites: [{heldout: {share: .nan}}]\n", "3:28: suites[0].heldout.share: expected a number, found the number .nan (write it in plain digits)"},
		{"share and problems", minimal + "suites: [{heldout: {share: 0.5, problems: [TestA]}}]\n", "3:20: suites[0].heldout: share and problems exclude each other (keep one of them)"},
		{"problem", minimal + "suites: [{heldout: {problems: [\" \"]}}]\n", `3:32: suites[0].heldout.problems[0]: " " is not the name of a problem (write it like TestParse)`},
		{"duration without unit", minimal + "suites: [{timeout: 60}]\n", "3:20: suites[0].timeout: expected a duration, found the number 60 (add a unit: 60s, 60m or 60h)"},
		{"duration in days", minimal + "budget: {wall: 3d}\n", `3:16: budget.wall: expected a duration, found "3d" (hours are the largest unit: 72h)`},
		{"duration negative", minimal + "budget: {wall: -3h}\n", "3:16: budget.wall: -3h is out of range (it is more than 0s and at most 87600h)"},
		{"duration zero", minimal + "budget: {sandbox: 0s}\n", "3:19: budget.sandbox: 0s is out of range (it is more than 0s and at most 876000h)"},
		{"duration huge", minimal + "budget: {wall: 9999999999h}\n", `3:16: budget.wall: expected a duration, found "9999999999h" (write it like 60s, 90m or 8h, at most about 290 years)`},
		{"duration list", minimal + "budget: {wall: [8h]}\n", "3:16: budget.wall: expected a duration, found a list (write it like 60s, 90m or 8h, at most about 290 years)"},
		{"size without unit", minimal + "sandbox: {memory: 1024}\n", "3:19: sandbox.memory: expected a size, found the number 1024 (add a unit: 1024MiB or 1024GiB)"},
		{"size decimal", minimal + "sandbox: {memory: 1.5gb}\n", `3:19: sandbox.memory: expected a size, found "1.5gb" (write 1.5GiB)`},
		{"size nonsense", minimal + "sandbox: {memory: much}\n", `3:19: sandbox.memory: expected a size, found "much" (write it like 512MiB or 1GiB)`},
		{"size small", minimal + "sandbox: {memory: 1KiB}\n", "3:19: sandbox.memory: 1KiB is out of range (it is from 16MiB to 64TiB)"},
		{"size huge", minimal + "sandbox: {disk: 99999999999TiB}\n", `3:17: sandbox.disk: expected a size, found "99999999999TiB" (write 99999999999TiB)`},
		{"image", minimal + "sandbox: {image: a b}\n", `3:18: sandbox.image: "a b" does not fit (it is host-go, host-python, or the name of an image)`},
		{"network", minimal + "sandbox: {network: bridge}\n", `3:20: sandbox.network: there is no "bridge" (candidates never have a network; only the setup commands do)`},
		{"setup", minimal + "sandbox: {setup: [\"\"]}\n", "3:19: sandbox.setup[0]: the command is empty (remove it)"},
		{"cpus", minimal + "sandbox: {cpus: 0}\n", "3:17: sandbox.cpus: 0 is out of range (it is more than 0 and at most 1024)"},
		{"pids", minimal + "sandbox: {pids: true}\n", `3:17: sandbox.pids: expected a whole number, found true or false (write it in plain digits)`},
		{"no proposer", minimal + "proposers: []\n", "3:12: proposers: the list is empty (give it at least one element, or remove the key to use the default)"},
		{"proposer without kind", minimal + "proposers: [{}]\n", "3:13: proposers[0].kind: a value is required (it is search or llm)"},
		{"proposer text", minimal + "proposers: [search]\n", `3:13: proposers[0]: expected keys with values, found the text "search" (write it like {kind: …})`},
		{"later proposer", minimal + "proposers: [{kind: agent}]\n", `3:20: proposers[0].kind: "agent" is not supported yet (now search or llm; later agent)`},
		{"proposer twice", minimal + "proposers: [{kind: search}, {kind: search}]\n", `3:29: proposers[1]: proposers[0] has the name "search" already (give one of them another name, or remove it)`},
		{"generations", minimal + "search: {generations: 0}\n", "3:23: search.generations: 0 is out of range (it is from 1 to 1000000)"},
		{"fraction", minimal + "search: {candidates: 1.5}\n", "3:22: search.candidates: expected a whole number, found the number 1.5 (that is larger than any sensible value, or no whole number)"},
		{"huge", minimal + "search: {candidates: 99999999999999999999}\n", `3:22: search.candidates: expected a whole number, found the text "99999999999999999999" (that is larger than any sensible value, or no whole number)`},
		{"uint64", minimal + "seed: 18446744073709551615\n", "3:7: seed: expected a whole number, found the number 18446744073709551615 (that is larger than any sensible value, or no whole number)"},
		{"parallel", minimal + "search: {parallel: -1}\n", "3:20: search.parallel: -1 is out of range (it is from 1 to 256)"},
		{"score", minimal + "search: {stop: {score: 0}}\n", "3:24: search.stop.score: 0 is out of range (it is more than 0 and at most 1)"},
		{"stale", minimal + "search: {stop: {stale: 0}}\n", "3:24: search.stop.stale: 0 is out of range (it is from 1 to 1000000)"},
		{"alpha", minimal + "gate: {alpha: 1}\n", "3:15: gate.alpha: 1 is out of range (it is more than 0 and at most 0.5)"},
		{"rounds", minimal + "gate: {rounds: 0}\n", "3:16: gate.rounds: 0 is out of range (it is from 1 to 10000)"},
		{"keep", minimal + "approval: {keep: manual}\n", `3:18: approval.keep: there is no "manual" (it is auto or person)`},
		{"auto with deadline", minimal + "approval: {keep: auto, deadline: 1h}\n", "3:11: approval: deadline and then are for keep: person only (remove them, or write keep: person)"},
		{"person without deadline", minimal + "approval: {keep: person, then: revert}\n", "3:11: approval.deadline: a value is required when a person decides (say how long to wait, such as deadline: 24h)"},
		{"person without then", minimal + "approval: {keep: person, deadline: 1h}\n", "3:11: approval.then: a value is required when a person decides (say what happens after the deadline: then: revert, or then: keep)"},
		{"then", minimal + "approval: {keep: person, deadline: 1h, then: drop}\n", `3:46: approval.then: there is no "drop" (it is revert or keep)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.file), ParseOptions{})
			require.EqualError(t, err, c.want)
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := Parse([]byte(`name: Bad Name
repos: ./x
suites:
  - name: a
    timeout: soon
    heldout: {share: 2, problem: [TestX]}
  - name: a
    kind: cargo
sandbox:
  memory: lots
  network: host
search: {stop: {score: 1.5}, generations: many}
approval: {keep: person}
seed: 1
seed: 2
`), ParseOptions{File: "c.yaml"})
	var errs *Errors
	require.ErrorAs(t, err, &errs)
	var got []string
	for _, e := range errs.List {
		require.NotEmpty(t, e.Hint, e.Key)
		got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Col, e.Key))
	}
	require.Equal(t, []string{
		"1:1 repo", "1:7 name", "2:1 repos", "5:14 suites[0].timeout", "6:22 suites[0].heldout.share", "6:25 suites[0].heldout.problem",
		"7:11 suites[1].name", "8:11 suites[1].kind", "10:11 sandbox.memory", "11:12 sandbox.network",
		"12:24 search.stop.score", "12:43 search.generations", "13:11 approval.deadline", "13:11 approval.then", "15:1 seed",
	}, got)
	require.Len(t, strings.Split(err.Error(), "\n"), len(got))
	require.Contains(t, err.Error(), "c.yaml:2:1: repos: there is no such key (did you mean repo?)")
}

func TestValidateWithoutAFile(t *testing.T) {
	s := Default()
	s.Suites = append(s.Suites, Suite{Name: "unit"})
	err := s.Validate()
	var errs *Errors
	require.True(t, errors.As(err, &errs))
	keys := map[string]bool{}
	for _, e := range errs.List {
		require.Zero(t, e.Line)
		keys[e.Key] = true
	}
	for _, k := range []string{"name", "repo", "suites[1].name", "suites[1].kind", "suites[1].weight", "suites[1].timeout"} {
		require.True(t, keys[k], k)
	}
}

func TestAllowed(t *testing.T) {
	p := Paths{Allow: []string{"**/*.go", "data/*"}, Deny: []string{"vendor/**", "**/*_gen.go"}}
	for path, want := range map[string]bool{
		"main.go": true, "a/b/c.go": true, "vendor/x/y.go": false, "a/x_gen.go": false,
		"go.mod": false, "data/x.json": true, "data/sub/x.json": false,
	} {
		require.Equal(t, want, p.Allowed(path), path)
	}
}
