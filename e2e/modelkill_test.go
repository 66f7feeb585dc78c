package e2e

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/artifact"
	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
)

// modelTurns are the generations of campaigns with a model here.
const modelTurns = 5

// plenty is more calls than any campaign here makes.
const plenty = 1000

// death is one end of a process of a campaign with a model: at a point of its own,
// or from outside, with calls in flight.
type death struct {
	point  string // where it kills itself
	let    int    // otherwise: how many calls are answered and written down first,
	held   int    // and how many at least are in flight then
	forget bool   // Temporal's database is deleted after it
}

// Nothing of a campaign depends on how often its process dies in the middle of
// model calls, and an answer that was written down is never paid for again.
func TestModelCallsExactlyOnce(t *testing.T) {
	needDocker(t)
	server := llmtest.Start(t, llmtest.Config{Script: llmtest.Func(oracle)})
	src := source(t, parts())
	spec := modelSpec(t, src, modelTurns, server)
	want := modelEnd(t, spec, t.TempDir())
	requireModelEnd(t, want, len(server.Requests()))
	for name, deaths := range map[string][]death{
		"in flight": {
			// The first proposal, one answer of which is repaired, and its reflection.
			{held: 4}, {let: 2, held: 2}, {let: 1, held: 1}, {held: 1}, {let: 2, held: 1},
			// That once more, and the second proposal.
			{let: 2, held: 2}, {held: 2},
		},
		"at points": {
			{point: "ProposeCandidates/begin#1"}, {let: 3, held: 1}, {point: "ProposeCandidates/attempts#1"}, {point: "ProposeCandidates/end#1"},
			{point: "ReflectGeneration/begin#1"}, {held: 1}, {point: "ReflectGeneration/end#1"}, {point: "ProposeCandidates/attempts#1"},
		},
		"before the row is settled": {
			{point: "ProposeCandidates/answered#1"}, {point: "ProposeCandidates/written#1"}, {point: "ProposeCandidates/settled#1"},
			{point: "ProposeCandidates/answered#2"}, {point: "ReflectGeneration/answered#1"}, {point: "ReflectGeneration/written#1", forget: true},
			{point: "ReflectGeneration/settled#1"}, {point: "ProposeCandidates/written#2", forget: true},
		},
		"Temporal is lost": {
			{let: 2, held: 2, forget: true}, {point: "ProposeCandidates/attempts#1", forget: true}, {held: 1, forget: true},
			{point: "ReflectGeneration/end#1", forget: true}, {let: 1, held: 2, forget: true}, {point: "RecordGeneration/end#1", forget: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMortal(t, spec)
			for _, d := range deaths {
				c.die(d)
			}
			c.valve.let(plenty)
			run(t, c.job)
			got := costless(read(t, c.job.Data, spec.Name))
			require.Equal(t, want, got)
			c.requireAccounts()
		})
	}
}

// modelEnd runs a campaign undisturbed.
func modelEnd(t *testing.T, s campaign.Spec, dir string) state {
	t.Helper()
	data, err := campaign.JSON(s)
	require.NoError(t, err)
	run(t, job{Data: dir, Spec: data})
	return costless(read(t, dir, s.Name))
}

// requireModelEnd makes sure that the campaign is one in which there is something
// to lose: changes kept and reverted, answers repaired and refused.
func requireModelEnd(t *testing.T, s state, calls int) {
	t.Helper()
	outcomes, statuses := map[model.GenerationOutcome]int{}, map[model.AttemptStatus]int{}
	for i, g := range s.Generations {
		outcomes[g.Outcome]++
		for _, at := range s.Attempts[i] {
			statuses[at.Status]++
		}
	}
	require.Positive(t, outcomes[model.OutcomeKept])
	require.Positive(t, outcomes[model.OutcomeReverted])
	require.Positive(t, statuses[model.AttemptRefused])
	require.Positive(t, statuses[model.AttemptFailed])
	require.Greater(t, calls, 4*modelTurns)
}

// costless leaves out what calls have cost: those that were lost count too.
func costless(s state) state {
	s.Campaign.Cost.Tokens, s.Campaign.Cost.Money, s.Campaign.Cost.Calls = 0, 0, 0
	// The address of the server is the only part of the file that tells campaigns apart.
	s.Campaign.Spec = nil
	return s
}

// mortal is a campaign with a model whose process is killed again and again. Its
// model server is the test's, and outlives it.
type mortal struct {
	t      *testing.T
	name   string
	job    job
	server *llmtest.Server
	valve  *valve
	// settled are the conversations whose answers were written down when a process
	// died, by how many requests had come until then.
	settled []paid
	flying  int // rows that were in flight at the deaths
	// Deaths between the server's last byte and the row leave tokens that the server
	// has counted and no row has.
	torn   bool
	beyond int64
}

type paid struct {
	requests      int
	conversations map[string]bool
}

func newMortal(t *testing.T, s campaign.Spec) *mortal {
	t.Helper()
	c := &mortal{t: t, name: s.Name, valve: newValve(llmtest.Func(oracle))}
	c.server = llmtest.Start(t, llmtest.Config{Script: c.valve})
	s.Endpoints = slices.Clone(s.Endpoints)
	s.Endpoints[0].URL = c.server.V1()
	data, err := campaign.JSON(s)
	require.NoError(t, err)
	c.job = job{Data: t.TempDir(), Spec: data}
	return c
}

// die has the campaign go on until its process ends as d says.
func (c *mortal) die(d death) {
	c.t.Helper()
	c.job.Kill = d.point
	if d.point != "" {
		c.valve.let(plenty)
		begin(c.t, c.job).die(d.point)
	} else {
		c.killInFlight(d)
	}
	c.job.Kill = ""
	ctx, cancel := context.WithTimeout(c.t.Context(), childLimit)
	defer cancel()
	require.NoError(c.t, c.server.Idle(ctx), "nobody holds a connection of the process any more")
	c.witness(d)
	if d.forget {
		forget(c.t, c.job.Data)
		c.job.Recover = true
	}
}

// killInFlight kills the process while calls are under way.
func (c *mortal) killInFlight(d death) {
	c.t.Helper()
	before := 0
	if len(c.settled) > 0 {
		before = len(c.settled[len(c.settled)-1].conversations)
	}
	c.valve.let(d.let)
	p := begin(c.t, c.job)
	ctx, cancel := context.WithTimeout(c.t.Context(), childLimit)
	defer cancel()
	require.NoError(c.t, c.server.Await(ctx, func(s llmtest.Stats) bool { return s.Held >= d.held }))
	db := open(c.t, c.job.Data)
	require.Eventually(c.t, func() bool {
		rows, err := db.Calls(ctx, c.name)
		return err == nil && len(byStatus(rows)[model.CallAnswered]) == before+d.let
	}, childLimit, 20*time.Millisecond, "what was answered is written down")
	require.NoError(c.t, p.cmd.Process.Kill())
	_, _ = io.ReadAll(p.out)
	require.Error(c.t, p.cmd.Wait())
	require.GreaterOrEqual(c.t, len(c.calls()[model.CallReserved]), d.held)
}

// calls are the campaign's calls as they are stored, by status.
func (c *mortal) calls() map[model.CallStatus][]model.Call {
	c.t.Helper()
	rows, err := open(c.t, c.job.Data).Calls(c.t.Context(), c.name)
	require.NoError(c.t, err)
	return byStatus(rows)
}

func byStatus(rows []model.Call) map[model.CallStatus][]model.Call {
	out := map[model.CallStatus][]model.Call{}
	for _, r := range rows {
		out[r.Status] = append(out[r.Status], r)
	}
	return out
}

// witness notes what is paid for and what is in flight now that a process is dead.
func (c *mortal) witness(d death) {
	c.t.Helper()
	blobs, err := artifact.Open(filepath.Join(c.job.Data, "artifacts"))
	require.NoError(c.t, err)
	rows := c.calls()
	p := paid{requests: len(c.server.Requests()), conversations: map[string]bool{}}
	for _, r := range rows[model.CallAnswered] {
		text, err := blobs.Get(c.t.Context(), r.Answer)
		require.NoError(c.t, err)
		name := conversationName.FindString(string(text))
		require.NotEmpty(c.t, name, string(text))
		p.conversations[name] = true
	}
	require.Len(c.t, p.conversations, len(rows[model.CallAnswered]), "no two answers to one question")
	stats := c.server.Stats()
	c.torn = c.torn || torn(d)
	if c.torn {
		beyond := int64(stats.Prompt+stats.Output) - tokens(rows[model.CallAnswered])
		require.GreaterOrEqual(c.t, beyond, c.beyond)
		c.beyond = beyond
	}
	c.settled = append(c.settled, p)
	c.flying += len(rows[model.CallReserved])
}

// requireAccounts holds the rows against what the model server has seen.
func (c *mortal) requireAccounts() {
	c.t.Helper()
	requests, rows := c.server.Requests(), c.calls()
	for i, p := range c.settled {
		for _, r := range requests[p.requests:] {
			require.NotContains(c.t, p.conversations, conversation(r), "an answer that was written down before death %d is paid for again", i+1)
		}
	}
	require.Empty(c.t, rows[model.CallReserved])
	require.Empty(c.t, rows[model.CallFailed])
	require.Len(c.t, rows[model.CallLost], c.flying, "what was in flight at a death is lost")
	all := len(rows[model.CallAnswered]) + len(rows[model.CallLost])
	require.LessOrEqual(c.t, len(requests), all, "each request has a row")
	require.GreaterOrEqual(c.t, len(requests), len(rows[model.CallAnswered]), "a row without a request is one that was about to be sent at a death")

	spent, err := open(c.t, c.job.Data).Spent(c.t.Context(), c.name)
	require.NoError(c.t, err)
	stats := c.server.Stats()
	for _, r := range rows[model.CallLost] {
		require.Positive(c.t, r.Tokens())
	}
	answered, lost := tokens(rows[model.CallAnswered]), tokens(rows[model.CallLost])
	require.EqualValues(c.t, stats.Prompt+stats.Output, answered+c.beyond, "as the server counted them")
	require.Equal(c.t, answered+lost, spent.Tokens, "calls that were lost count as spent")
	require.EqualValues(c.t, all, spent.Calls)
}

// torn says that a process dies while calls are being settled.
func torn(d death) bool {
	_, point, _ := strings.Cut(d.point, "/")
	return strings.HasPrefix(point, "answered") || strings.HasPrefix(point, "written") || strings.HasPrefix(point, "settled")
}

func tokens(calls []model.Call) (n int64) {
	for _, c := range calls {
		n += c.Tokens()
	}
	return n
}
