package activities

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
)

// The intended change has parts that each apply without the others, so that every
// piece of it is another patch: three places in each of two files, and a new file.
const (
	partLines  = 24
	newFile    = "p/notes.txt"
	newContent = "größer ist 好\nsecond\nthird\nfourth\n"
)

var wrongLines = []int{1, 12, 24}

func partLine(part string, n int, right bool) string {
	switch {
	case n == 1 && right:
		return "good"
	case n == 1:
		return "bad"
	case right:
		return fmt.Sprintf("%s %d is – mended", part, n)
	}
	return fmt.Sprintf("%s %d is – wrong", part, n)
}

// partText is a file of the target, as it is or as it is meant to become.
func partText(part string, mended bool) string {
	var b strings.Builder
	for n := 1; n <= partLines; n++ {
		wrong := n == wrongLines[0] || n == wrongLines[1] || n == wrongLines[2]
		b.WriteString(partLine(part, n, !wrong || mended) + "\n")
	}
	return b.String()
}

var intended = map[string]string{"p/a.txt": partText("a", true), "p/b.txt": partText("b", true), newFile: newContent}

// manyPlaces is a repository in which the intended change is missing.
func manyPlaces(t *testing.T) string {
	t.Helper()
	files := map[string]string{}
	for _, part := range []string{"a", "b"} {
		files["p/"+part+".txt"], files["tests/"+part+".txt"] = partText(part, false), "p/"+part+" must be good\n"
	}
	return repoOf(t, files)
}

// repoOf makes a repository with one commit.
func repoOf(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.git")
	require.NoError(t, repo.Init(t.Context(), path))
	r, err := repo.Open(t.Context(), path)
	require.NoError(t, err)
	defer r.Close()
	var edits []model.Edit
	for path, text := range files {
		edits = append(edits, model.Edit{Path: path, Data: []byte(text)})
	}
	base, err := r.Commit(t.Context(), repo.CommitSpec{Edits: edits, Subject: "Begin", When: time.Unix(1_700_000_000, 0)})
	require.NoError(t, err)
	require.NoError(t, r.SetRef(t.Context(), "refs/heads/main", "", base.Hash))
	return path
}

// The forms in which a model may write the intended change.
var forms = []struct {
	name string
	text func() string
}{{"json", asJSON}, {"diff", asDiff}, {"blocks", asBlocks}, {"objects", asObjects}, {"diffs", asDiffs}}

func eachPlace(see func(part, search, replace string)) {
	for _, part := range []string{"a", "b"} {
		for _, n := range wrongLines {
			see(part, partLine(part, n, false), partLine(part, n, true))
		}
	}
}

func editsOfAnswer() (edits []map[string]string) {
	eachPlace(func(part, search, replace string) {
		edits = append(edits, map[string]string{"path": "p/" + part + ".txt", "search": search, "replace": replace})
	})
	return append(edits, map[string]string{"path": newFile, "search": "", "replace": newContent})
}

func asJSON() string {
	text, _ := json.Marshal(map[string]any{
		"hypothesis": "both parts are bad", "expected_gain": 0.5, "targets": []string{"unit/a"}, "edits": editsOfAnswer(), "diff": "",
	})
	return string(text)
}

// asObjects is one object for each edit, one after the other.
func asObjects() string {
	var b strings.Builder
	for _, e := range editsOfAnswer() {
		text, _ := json.Marshal(e)
		b.WriteString(string(text) + "\n")
	}
	return b.String()
}

// asDiffs is one object with a diff for each file.
func asDiffs() string {
	var b strings.Builder
	for i, diff := range strings.Split(asDiff(), "--- ")[1:] {
		path := []string{"p/a.txt", "p/b.txt", newFile}[i]
		text, _ := json.Marshal(map[string]string{"path": path, "diff": "--- " + diff})
		b.WriteString(string(text) + "\n")
	}
	return b.String()
}

func asDiff() string {
	b := &strings.Builder{}
	b.WriteString("Both parts are bad.\n\n")
	for _, part := range []string{"a", "b"} {
		fmt.Fprintf(b, "--- a/p/%[1]s.txt\n+++ b/p/%[1]s.txt\n", part)
		for _, n := range wrongLines {
			fmt.Fprintf(b, "@@ -%[1]d,1 +%[1]d,1 @@\n-%[2]s\n+%[3]s\n", n, partLine(part, n, false), partLine(part, n, true))
		}
	}
	b.WriteString("--- /dev/null\n+++ b/" + newFile + "\n@@ -0,0 +1,4 @@\n+")
	b.WriteString(strings.ReplaceAll(strings.TrimSuffix(newContent, "\n"), "\n", "\n+") + "\n")
	return b.String()
}

func asBlocks() string {
	b := &strings.Builder{}
	block := func(path, search, replace string) {
		fmt.Fprintf(b, "%s\n<<<<<<< SEARCH\n%s=======\n%s>>>>>>> REPLACE\n\n", path, search, replace)
	}
	eachPlace(func(part, search, replace string) { block("p/"+part+".txt", search+"\n", replace+"\n") })
	block(newFile, "", newContent)
	return b.String()
}

// faultLab is a lab whose parts need the intended change.
func faultLab(t *testing.T, ends ...campaign.Endpoint) *lab {
	t.Helper()
	return newLab(t, func(c *campaign.Spec) {
		asking(c, "http://127.0.0.1:1", false)
		c.Repo, c.Endpoints = manyPlaces(t), ends
		c.Proposers[0].PromptTokens, c.Proposers[0].MaxTokens = 3000, 2000
	}, nil)
}

// faultEnd is the endpoint of a server, with deadlines that do not pass.
func faultEnd(name string, p campaign.Protocol, s *llmtest.Server) campaign.Endpoint {
	url := s.V1()
	if p == campaign.ProtocolAnthropic {
		url = s.URL()
	}
	long := campaign.Duration(time.Minute)
	return campaign.Endpoint{
		Name: name, Protocol: p, URL: url, Model: s.Model(), KeyEnv: "LAB_KEY", Context: 8192, Parallel: 4,
		Price: campaign.Price{Input: 5e5, Output: 1e6}, Deadline: campaign.Deadlines{FirstToken: long, Stall: long, Total: long},
	}
}

// audit checks what holds whatever a server does: attempts are the intended change
// and all of it, refused answers say why, each call is settled, no less is counted
// than servers computed, nobody is still being asked, and no key lies about.
func (l *lab) audit(out protocol.ProposeCandidatesResult, servers ...*llmtest.Server) {
	l.t.Helper()
	row, err := l.store.Campaign(l.t.Context(), l.spec.Name)
	require.NoError(l.t, err)
	r, err := repo.Open(l.t.Context(), row.Repo)
	require.NoError(l.t, err)
	defer r.Close()
	parent, err := r.Snapshot(l.t.Context(), row.Base)
	require.NoError(l.t, err)
	refused := 0
	for _, at := range l.attempts(1) {
		if at.Status == model.AttemptRefused {
			refused++
			require.NotEmpty(l.t, at.Reason)
			require.True(l.t, printable(at.Reason), "%q", at.Reason)
			continue
		}
		l.requireWhole(parent, at)
	}
	require.Equal(l.t, refused, out.Refused)
	for _, n := range out.Notes {
		require.True(l.t, printable(n), "%q", n)
	}
	l.requireAccounts(servers)
	l.clean()
}

func (l *lab) requireWhole(parent model.Tree, at model.Attempt) {
	l.t.Helper()
	require.Equal(l.t, model.AttemptProposed, at.Status)
	diff, err := l.cfg.Artifacts.Get(l.t.Context(), at.Patch)
	require.NoError(l.t, err)
	edits, err := patch.Apply(parent, string(diff))
	require.NoError(l.t, err)
	tree := parent.With(edits...)
	require.Len(l.t, tree.Files, len(parent.Files)+1)
	for path, text := range intended {
		f, ok := tree.Find(path)
		require.True(l.t, ok, path)
		require.Equal(l.t, text, string(f.Data), "%s is only a part of what the model wrote", path)
	}
}

func (l *lab) requireAccounts(servers []*llmtest.Server) {
	l.t.Helper()
	counted, asked := 0, 0
	for _, s := range servers {
		require.NoError(l.t, s.Idle(bounded(l.t)))
		stats := s.Stats()
		counted, asked = counted+stats.Prompt+stats.Output, asked+stats.Calls
	}
	var tokens int64
	for _, c := range l.calls() {
		require.Contains(l.t, []model.CallStatus{model.CallAnswered, model.CallFailed}, c.Status, "%+v", c)
		require.Equal(l.t, c.Status == model.CallFailed, c.Error != "")
		require.True(l.t, printable(c.Error), "%q", c.Error)
		require.False(l.t, c.Ended.Before(c.Started))
		require.GreaterOrEqual(l.t, c.Money, 0.0)
		tokens += c.Tokens()
	}
	spent, err := l.store.Spent(l.t.Context(), l.spec.Name)
	require.NoError(l.t, err)
	require.Equal(l.t, tokens, spent.Tokens)
	require.LessOrEqual(l.t, int64(counted), spent.Tokens, "the server counted more than the budget")
	require.LessOrEqual(l.t, len(l.calls()), asked+2, "calls that no server saw were counted")
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) })
}
