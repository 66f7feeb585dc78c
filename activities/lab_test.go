package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"ratchet/benchmarks"
	"ratchet/internal/artifact"
	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/internal/trial"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// partsSuite has a problem for each tests/<name>.txt, which passes when p/<name>.txt
// says "good". It runs nothing: these tests measure no tree in a box.
type partsSuite struct{ benchmarks.Suite }

func (partsSuite) Name() string            { return "unit" }
func (partsSuite) Harness(p string) bool   { return strings.HasPrefix(p, "tests/") }
func (partsSuite) Warm() []sandbox.Command { return nil }
func (partsSuite) Hide(t model.Tree, _ []model.Problem) (model.Tree, error) {
	return t, nil
}

func (partsSuite) Cover(_ context.Context, t benchmarks.Target, problems []model.Problem) (model.Coverage, error) {
	cov := model.Coverage{Hits: map[string][]int{}}
	for i, p := range problems {
		file := "p/" + p.Name + ".txt"
		f, _ := t.Code.Find(file)
		r := model.Result{Problem: p.ID, Outcome: model.Fail, Message: file + " is not good"}
		if strings.HasPrefix(string(f.Data), "good") {
			r = model.Result{Problem: p.ID, Outcome: model.Pass, Score: 1}
		}
		cov.Results = append(cov.Results, r)
		cov.Blocks = append(cov.Blocks, model.Block{File: file, StartLine: 1, StartCol: 1, EndLine: 2, EndCol: 1})
		cov.Hits[p.ID] = []int{i}
	}
	return cov, nil
}

// noBoxes is an engine for what runs in no box.
type noBoxes struct{}

func (noBoxes) Prepare(context.Context, docker.Target, func(string)) (docker.Image, error) {
	return docker.Image{ID: "none"}, nil
}

func (noBoxes) Open(context.Context, sandbox.Spec) (sandbox.Box, error) {
	return nil, sandbox.ErrNoImage
}

// lab is a campaign that has its baseline, in real stores and a real repository.
type lab struct {
	t     *testing.T
	cfg   Config
	acts  *Activities
	store *store.Store
	spec  campaign.Spec
	dir   string

	progress chan string // what ledgers of ledger tell
}

// labKey is a value of the environment that must not be found anywhere.
const labKey = "sk-lab-0123456789-secret"

func newLab(t *testing.T, edit func(*campaign.Spec), config func(*Config)) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), progress: make(chan string, 100)}
	var err error
	l.store, err = store.Open(t.Context(), store.Config{Path: filepath.Join(l.dir, "ratchet.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.store.Close()) })
	blobs, err := artifact.Open(filepath.Join(l.dir, "artifacts"))
	require.NoError(t, err)
	l.cfg = Config{
		Store: l.store, Artifacts: blobs, Boxes: noBoxes{}, Repos: filepath.Join(l.dir, "repos"),
		Suites: func(campaign.Spec) ([]benchmarks.Suite, error) { return []benchmarks.Suite{partsSuite{}}, nil },
	}
	if config != nil {
		config(&l.cfg)
	}
	l.restart()
	l.spec = labSpec(l.source("a", "b"))
	if edit != nil {
		edit(&l.spec)
	}
	require.NoError(t, l.spec.Validate())
	l.create(l.spec, model.Campaign{})
	l.baseline(l.spec.Name, "a", "b")
	return l
}

// restart makes the activities anew, as another process has them.
func (l *lab) restart() {
	l.t.Helper()
	pool, err := llm.NewPool(llm.PoolConfig{
		Backends: backends.All(), Getenv: func(name string) string { return map[string]string{"LAB_KEY": labKey}[name] },
		Retry: llm.RetryConfig{Attempts: 2, Backoff: time.Millisecond, Patience: 200 * time.Millisecond},
	})
	require.NoError(l.t, err)
	l.t.Cleanup(pool.Close)
	l.cfg.Models = pool
	l.acts, err = New(l.cfg)
	require.NoError(l.t, err)
}

// source makes a repository with broken parts.
func (l *lab) source(parts ...string) string {
	l.t.Helper()
	path := filepath.Join(l.dir, "source.git")
	require.NoError(l.t, repo.Init(l.t.Context(), path))
	r, err := repo.Open(l.t.Context(), path)
	require.NoError(l.t, err)
	defer r.Close()
	var edits []model.Edit
	for _, name := range parts {
		edits = append(edits, model.Edit{Path: "p/" + name + ".txt", Data: []byte("bad\n")},
			model.Edit{Path: "tests/" + name + ".txt", Data: []byte("p/" + name + " must be good\n")})
	}
	base, err := r.Commit(l.t.Context(), repo.CommitSpec{Edits: edits, Subject: "Begin", When: time.Unix(1_700_000_000, 0)})
	require.NoError(l.t, err)
	require.NoError(l.t, r.SetRef(l.t.Context(), "refs/heads/main", "", base.Hash))
	return path
}

func labSpec(source string) campaign.Spec {
	s := campaign.Default()
	s.Name, s.Repo, s.Base = "lab", source, "main"
	s.Paths = campaign.Paths{Allow: []string{"p/**"}, Deny: []string{}}
	s.Suites[0].Name = "unit"
	s.Search.Candidates = 4
	return s
}

// asking adds a model server and a proposer that asks it. Prices are a half and 1 for a token.
func asking(s *campaign.Spec, url string, searches bool) {
	s.Endpoints = []campaign.Endpoint{{
		Name: "gpu", Protocol: campaign.ProtocolOpenAI, URL: url, Model: "test-model", KeyEnv: "LAB_KEY", Context: 32768, Parallel: 4,
		Price: campaign.Price{Input: 5e5, Output: 1e6},
		Deadline: campaign.Deadlines{
			FirstToken: campaign.Duration(5 * time.Second), Stall: campaign.Duration(5 * time.Second), Total: campaign.Duration(10 * time.Second),
		},
	}}
	s.Proposers = []campaign.Proposer{{Kind: campaign.ProposerLLM, Samples: 2, Temperatures: []float64{0}, MaxTokens: 512, PromptTokens: 4096}}
	if searches {
		s.Proposers = append([]campaign.Proposer{{Kind: campaign.ProposerSearch}}, s.Proposers...)
	}
}

// server is a model server that knows the key of the lab.
func server(t *testing.T, script llmtest.Script) *llmtest.Server {
	t.Helper()
	return llmtest.Start(t, llmtest.Config{Script: script, Key: labKey})
}

// create stores a campaign and opens it.
func (l *lab) create(s campaign.Spec, row model.Campaign) protocol.OpenCampaignResult {
	l.t.Helper()
	data, err := json.Marshal(s)
	require.NoError(l.t, err)
	row.Name, row.Spec, row.Source, row.Created = s.Name, data, s.Repo, time.Now()
	require.NoError(l.t, l.store.CreateCampaign(l.t.Context(), row))
	return l.opened(s.Name)
}

func (l *lab) opened(name string) protocol.OpenCampaignResult {
	l.t.Helper()
	var out protocol.OpenCampaignResult
	require.NoError(l.t, l.run(l.acts.RegisterMain, protocol.OpenCampaign, protocol.OpenCampaignInput{Campaign: name}, &out))
	return out
}

// baseline stores that all parts fail.
func (l *lab) baseline(name string, parts ...string) {
	l.t.Helper()
	var problems []model.Problem
	rates := map[string]trial.Rate{}
	for _, p := range parts {
		problems = append(problems, model.Problem{ID: "unit/" + p, Suite: "unit", Package: ".", Name: p, Split: model.SplitSearch})
		rates["unit/"+p] = trial.Rate{Runs: 4}
	}
	require.NoError(l.t, l.store.SaveProblems(l.t.Context(), store.Fence{}, name, problems))
	ref, err := l.acts.putRates(l.t.Context(), rates)
	require.NoError(l.t, err)
	_, err = l.store.UpdateCampaign(l.t.Context(), store.Fence{}, name, func(c *model.Campaign) error {
		c.Rates, c.Baseline, c.Current = ref, &model.Score{Problems: len(parts)}, &model.Score{Problems: len(parts)}
		return nil
	})
	require.NoError(l.t, err)
}

// run runs one activity of the workers that with registers.
func (l *lab) run(with func(worker.ActivityRegistry), name string, in, out any) error {
	l.t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	with(env)
	v, err := env.ExecuteActivity(name, in)
	if err != nil {
		return err
	}
	return v.Get(out)
}

// diagnosed is the brief of a generation.
func (l *lab) diagnosed(n int) string {
	l.t.Helper()
	var out protocol.DiagnoseWeaknessResult
	in := protocol.DiagnoseWeaknessInput{Campaign: l.spec.Name, Generation: n}
	require.NoError(l.t, l.run(l.acts.RegisterSandbox, protocol.DiagnoseWeakness, in, &out))
	return out.Brief
}

func (l *lab) propose(n int) (out protocol.ProposeCandidatesResult, err error) {
	l.t.Helper()
	in := protocol.ProposeCandidatesInput{Campaign: l.spec.Name, Generation: n, Brief: l.diagnosed(n), Candidates: l.spec.Search.Candidates}
	err = l.run(l.acts.RegisterLLM, protocol.ProposeCandidates, in, &out)
	return out, err
}

func (l *lab) attempts(n int) []model.Attempt {
	l.t.Helper()
	rows, err := l.store.Attempts(l.t.Context(), l.spec.Name, n)
	require.NoError(l.t, err)
	return rows
}

func (l *lab) calls() []model.Call {
	l.t.Helper()
	rows, err := l.store.Calls(l.t.Context(), l.spec.Name)
	require.NoError(l.t, err)
	return rows
}

// clean fails when the key stands in any file of the lab.
func (l *lab) clean() {
	l.t.Helper()
	files := 0
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		require.NotContains(l.t, string(data), labKey, path)
		return err
	})
	require.NoError(l.t, err)
	require.Greater(l.t, files, 5)
}

// scripted is a proposer that rewrites parts, in as many ways as it is told to.
type scripted struct {
	ideas int
	asked *[]int // how many candidates it was asked for, each time
}

func (scripted) Name() string { return "search" }

func (s scripted) Propose(_ context.Context, r propose.Request) (propose.Proposal, error) {
	*s.asked = append(*s.asked, r.N)
	var out propose.Proposal
	for i := range s.ideas {
		edits := []model.Edit{{Path: "p/a.txt", Data: fmt.Appendf(nil, "idea %d\n", i)}}
		c := model.Candidate{Key: patch.Key(edits, r.Tree), Hypothesis: fmt.Sprint("idea ", i), Targets: []string{"unit/a"}, Edits: edits}
		if len(out.Candidates) < r.N && !r.Skip(c.Key) {
			out.Candidates = append(out.Candidates, c)
		}
	}
	return out, nil
}

// beside puts a scripted proposer in the place of the search.
func beside(s scripted) func(*Config) {
	return func(c *Config) {
		c.Proposers = func(spec campaign.Spec, callers Callers) ([]propose.Proposer, error) {
			var out []propose.Proposer
			for _, p := range spec.Proposers {
				if !p.Model() {
					out = append(out, s)
					continue
				}
				made, err := proposer(spec, p, callers)
				if err != nil {
					return nil, err
				}
				out = append(out, made)
			}
			return out, nil
		}
	}
}

// mend is a model's answer that mends a part.
func mend(part string) string {
	return fmt.Sprintf(`{"hypothesis": "part %s is bad", "expected_gain": 0.5, "targets": ["unit/%s"], "edits": [{"path": "p/%s.txt", "search": "bad", "replace": "good"}]}`, part, part, part)
}
