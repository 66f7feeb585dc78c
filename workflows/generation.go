package workflows

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"ratchet/internal/protocol"
)

// Generation is one turn of the loop: diagnose, propose, screen, and for the best
// candidate the life of a change. It never waits for a person.
func Generation(ctx workflow.Context, in protocol.GenerationInput) (protocol.GenerationResult, error) {
	g := &generation{in: in, started: workflow.Now(ctx)}
	return g.run(ctx)
}

type generation struct {
	in      protocol.GenerationInput
	started time.Time
	spans   []protocol.Span
	sandbox time.Duration
	out     protocol.GenerationResult
	story   []string // what the UI shows, step by step
}

func (g *generation) run(ctx workflow.Context) (protocol.GenerationResult, error) {
	d, err := g.diagnose(ctx)
	if err != nil {
		return g.out, err
	}
	if !d.Settled && d.Change == "" {
		d.Change, err = g.search(ctx, d.Brief)
		if err != nil {
			return g.out, err
		}
	}
	pending := false
	if !d.Settled && d.Change != "" {
		if pending, err = g.try(ctx, d.Change); err != nil {
			return g.out, err
		}
	}
	g.reflect(ctx, d.Brief)
	return g.record(ctx, pending)
}

// diagnose localises the faults of the parent.
func (g *generation) diagnose(ctx workflow.Context) (protocol.DiagnoseWeaknessResult, error) {
	g.tell(ctx, "diagnosing: which problems fail, and which lines do they share?")
	var d protocol.DiagnoseWeaknessResult
	err := workflow.ExecuteActivity(sandboxed(ctx, "localise faults"), protocol.DiagnoseWeakness,
		protocol.DiagnoseWeaknessInput{Campaign: g.in.Campaign, Generation: g.in.N, Coverage: g.in.Coverage}).Get(ctx, &d)
	if err != nil {
		return d, err
	}
	g.out.Coverage = d.Coverage
	g.spend(d.Spans, d.Sandbox)
	g.tell(ctx, d.Summary)
	return d, nil
}

// search has candidates proposed and screened, and returns the change that the
// best of them becomes; none when nothing passed.
func (g *generation) search(ctx workflow.Context, brief string) (string, error) {
	var p protocol.ProposeCandidatesResult
	err := workflow.ExecuteActivity(g.proposing(ctx), protocol.ProposeCandidates,
		protocol.ProposeCandidatesInput{Campaign: g.in.Campaign, Generation: g.in.N, Brief: brief, Candidates: g.in.Candidates}).Get(ctx, &p)
	if err != nil {
		return "", err
	}
	g.spend(p.Spans, 0)
	g.proposed(ctx, p)
	if p.Candidates == p.Refused {
		return "", nil
	}
	if err := g.screen(ctx); err != nil {
		return "", err
	}
	var sel protocol.SelectCandidateResult
	err = workflow.ExecuteActivity(short(ctx, "best candidate"), protocol.SelectCandidate,
		protocol.SelectCandidateInput{Campaign: g.in.Campaign, Generation: g.in.N, Now: workflow.Now(ctx)}).Get(ctx, &sel)
	if err == nil && sel.Change != "" {
		g.tell(ctx, "best: "+sel.Hypothesis)
	}
	return sel.Change, err
}

// proposing is the context of the proposal: where a model is asked it may take hours.
func (g *generation) proposing(ctx workflow.Context) workflow.Context {
	summary := strings.Join(g.in.Proposers, ", ")
	if g.in.Model {
		return modelled(ctx, summary)
	}
	return short(ctx, summary)
}

// proposed puts what came of the proposal into the story.
func (g *generation) proposed(ctx workflow.Context, p protocol.ProposeCandidatesResult) {
	g.out.Exhausted = p.Exhausted
	for _, note := range p.Notes {
		g.tell(ctx, line(note))
	}
	if p.Exhausted {
		g.tell(ctx, "the budget has no room for another model call")
	}
	g.tell(ctx, fmt.Sprintf("%d candidates proposed, %d refused by the gates", p.Candidates, p.Refused))
}

// screen runs the candidates in shards, side by side.
func (g *generation) screen(ctx workflow.Context) error {
	shards := max(1, g.in.Parallel)
	futures := make([]workflow.Future, shards)
	for i := range futures {
		futures[i] = workflow.ExecuteActivity(sandboxed(ctx, fmt.Sprintf("shard %d of %d", i+1, shards)),
			protocol.ScreenCandidates, protocol.ScreenCandidatesInput{
				Campaign: g.in.Campaign, Generation: g.in.N, Shard: i, Shards: shards,
			})
	}
	screened, passed := 0, 0
	for _, f := range futures {
		var s protocol.ScreenCandidatesResult
		if err := f.Get(ctx, &s); err != nil {
			return err
		}
		screened, passed = screened+s.Screened, passed+s.Passed
		g.spend(s.Spans, s.Sandbox)
	}
	g.tell(ctx, fmt.Sprintf("%d screened, %d passed", screened, passed))
	return nil
}

// try follows the change until it is settled, or until it waits for a person:
// then it lives on without this generation.
func (g *generation) try(ctx workflow.Context, id string) (pending bool, err error) {
	g.out.Change = id
	in := protocol.ChangeInput{ID: id, Campaign: g.in.Campaign, Generation: g.in.N, Approval: g.in.Approval, Proposers: g.in.Proposers}
	child := workflow.ExecuteChildWorkflow(
		workflow.WithChildOptions(ctx, changeOptions(in, fmt.Sprintf("%s, change of generation %d", in.Campaign, in.Generation))),
		protocol.ChangeWorkflow, in)
	var done protocol.ChangeResult
	first := workflow.NewSelector(ctx)
	first.AddFuture(child, func(f workflow.Future) { err = f.Get(ctx, &done) })
	first.AddReceive(workflow.GetSignalChannel(ctx, protocol.SignalChangeAwaits), func(ch workflow.ReceiveChannel, _ bool) {
		var s protocol.ChangeAwaits
		ch.Receive(ctx, &s)
		pending = true
		g.spend(s.Spans, s.Sandbox)
	})
	first.Select(ctx)
	g.spend(done.Spans, done.Sandbox)
	return pending, err
}

// reflect has a model say what the turn taught. Nothing rests on that, so a turn
// goes on without it; one of a campaign that is being stopped has none.
func (g *generation) reflect(ctx workflow.Context, brief string) {
	if !g.in.Model || ctx.Err() != nil {
		return
	}
	var r protocol.ReflectGenerationResult
	err := workflow.ExecuteActivity(reflecting(ctx, "what is learnt from this turn"), protocol.ReflectGeneration,
		protocol.ReflectGenerationInput{Campaign: g.in.Campaign, Generation: g.in.N, Brief: brief, Now: workflow.Now(ctx)}).Get(ctx, &r)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the turn has no reflection", "campaign", g.in.Campaign, "generation", g.in.N, "cause", err)
		return
	}
	g.spend(r.Spans, 0)
	if r.Learnt != "" {
		g.tell(ctx, "learnt: "+line(r.Learnt))
	}
}

// record writes the generation's row. It does so even when the campaign is being
// stopped: a change that was landed has been settled by now.
func (g *generation) record(ctx workflow.Context, pending bool) (protocol.GenerationResult, error) {
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	now := workflow.Now(ctx)
	var out protocol.RecordGenerationResult
	err := workflow.ExecuteActivity(short(ctx, "write the record"), protocol.RecordGeneration,
		protocol.RecordGenerationInput{
			Campaign: g.in.Campaign, Generation: g.in.N, Started: g.started, Ended: now,
			Busy: union(g.spans), Sandbox: g.sandbox, Pending: pending,
		}).Get(ctx, &out)
	if err != nil {
		return g.out, err
	}
	g.out.Outcome, g.out.Note, g.out.Score, g.out.Sandbox = out.State, out.Note, out.Score, g.sandbox
	g.out.Tokens, g.out.Money = out.Tokens, out.Money
	if g.in.Model {
		g.tell(ctx, "models have cost so far: "+usage(out.Tokens, out.Money))
	}
	g.tell(ctx, fmt.Sprintf("%s: %s", out.State, out.Note.Reason))
	return g.out, nil
}

func (g *generation) spend(spans []protocol.Span, sandbox time.Duration) {
	g.spans = append(g.spans, spans...)
	g.sandbox += sandbox
}

func (g *generation) tell(ctx workflow.Context, line string) {
	g.story = append(g.story, "- "+shown(line))
	workflow.SetCurrentDetails(ctx, strings.Join(g.story, "\n"))
}

// union is the wall time that the spans cover together.
func union(spans []protocol.Span) time.Duration {
	s := append([]protocol.Span(nil), spans...)
	sort.Slice(s, func(i, j int) bool { return s[i].Start.Before(s[j].Start) })
	var total time.Duration
	var end time.Time
	for _, x := range s {
		if x.Start.Before(end) {
			x.Start = end
		}
		if x.End.After(x.Start) {
			total += x.End.Sub(x.Start)
			end = x.End
		}
	}
	return total
}
