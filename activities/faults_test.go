package activities

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/protocol"
)

// faultEnding is what a proposal comes to when the only server answers every call alike.
type faultEnding int

const (
	endsWhole   faultEnding = iota // with the intended change
	endsRefused                    // with answers that are no candidates
	endsNoted                      // with nothing but a note
	endsAway                       // with an error after which it is tried again
	endsFinal                      // with an error that is final
)

// serverFault is a way in which a server answers, by the constructor of llmtest that makes it.
type serverFault struct {
	of    string
	reply func(text string) llmtest.Reply
	alone faultEnding
	terms func(*campaign.Deadlines) // of the server's endpoint; nil for those that do not pass
	// only is the one form in which the answer is written; empty for any.
	only string
	// anthropic is the ending of the other protocol where it is another one.
	anthropic *faultEnding
}

const shortly = 150 * time.Millisecond

func firstShortly(d *campaign.Deadlines) { d.FirstToken = campaign.Duration(shortly) }
func stallShortly(d *campaign.Deadlines) { d.Stall = campaign.Duration(shortly) }
func totalShortly(d *campaign.Deadlines) { d.Total = campaign.Duration(2 * shortly) }

// always is a fault that has nothing to do with what the model would say.
func always(r llmtest.Reply) func(string) llmtest.Reply {
	return func(string) llmtest.Reply { return r }
}

func cutAt(share int) func(string) llmtest.Reply {
	return func(text string) llmtest.Reply { return llmtest.CutShort(text[:len(text)*share/100]) }
}

// afterLine cuts an answer behind one of its lines: what comes before is whole by itself.
func afterLine(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}

func ended(text, why string) llmtest.Reply {
	r := llmtest.Say(text)
	r.Finish = why
	return r
}

func serverFaults() []serverFault {
	hour, refused := time.Hour, endsRefused
	return []serverFault{
		{of: "Say", reply: llmtest.Say},
		{of: "NoDone", reply: llmtest.NoDone},
		{of: "NoUsage", reply: llmtest.NoUsage},
		{of: "WrongType", reply: llmtest.WrongType},
		{of: "Bytewise", reply: llmtest.Bytewise},
		{of: "CutUTF8", reply: llmtest.CutUTF8},
		{of: "Duplicated", reply: llmtest.Duplicated},
		{of: "SlowFirst", reply: func(s string) llmtest.Reply { return llmtest.SlowFirst(s, 5*time.Millisecond) }},
		{of: "Trickle", reply: func(s string) llmtest.Reply { return llmtest.Trickle(s, 10*time.Microsecond) }},
		{of: "CutShort", reply: llmtest.CutShort, only: "json"}, // at its very end

		{of: "Prose", reply: always(llmtest.Prose()), alone: endsRefused},
		{of: "WrongSchema", reply: always(llmtest.WrongSchema()), alone: endsRefused},
		{of: "Refusal", reply: always(llmtest.Refusal("I cannot help with that.")), alone: endsRefused},
		{of: "Refusal", reply: func(s string) llmtest.Reply { return llmtest.Refusal("\x1b[31mNo\u202e.\x07") }, alone: endsRefused},
		{of: "EmptyAnswer", reply: always(llmtest.EmptyAnswer()), alone: endsRefused},
		{of: "EmptyChoices", reply: always(llmtest.EmptyChoices()), alone: endsAway, anthropic: &refused},
		{of: "CutShort", reply: cutAt(20), alone: endsRefused},
		{of: "CutShort", reply: cutAt(50), alone: endsRefused},
		{of: "CutShort", reply: cutAt(99), alone: endsRefused},
		{of: "CutShort", reply: func(s string) llmtest.Reply { return llmtest.CutShort(afterLine(s, 1)) }, alone: endsRefused, only: "objects"},
		{of: "CutShort", reply: func(s string) llmtest.Reply { return llmtest.CutShort(afterLine(s, 8)) }, alone: endsRefused, only: "diff"},
		{of: "Say", reply: func(s string) llmtest.Reply { return ended(afterLine(s, 7), "content_filter") }, alone: endsRefused, only: "diff"},
		{of: "Say", reply: func(s string) llmtest.Reply { return ended(afterLine(s, 3), "abort") }, alone: endsRefused, only: "objects"},

		{of: "ContextLength", reply: always(llmtest.ContextLength(10)), alone: endsNoted},
		{of: "ContextLengthNew", reply: always(llmtest.ContextLengthNew(10)), alone: endsNoted},
		{of: "Unauthorized", reply: always(llmtest.Unauthorized()), alone: endsFinal},
		{of: "Forbidden", reply: always(llmtest.Forbidden()), alone: endsFinal},
		{of: "NoModel", reply: always(llmtest.NoModel()), alone: endsFinal},
		{of: "Unprocessable", reply: always(llmtest.Unprocessable()), alone: endsFinal},
		{of: "UnknownParameter", reply: always(llmtest.UnknownParameter("messages")), alone: endsFinal},
		{of: "Unscripted", reply: always(llmtest.Unscripted("nothing")), alone: endsFinal},
		{of: "Status", reply: always(llmtest.Status(400, "\x1b]0;pwned\x07\x1b[2JNo\u202e!")), alone: endsFinal},
		{of: "Body", reply: always(llmtest.Body(400, "text/plain", "\x1b[2J\x9b31m\u200bno\r\nFAKE LINE")), alone: endsFinal},
		{of: "Redirect", reply: always(llmtest.Redirect("file:///etc/passwd")), alone: endsFinal},

		{of: "TooMany", reply: always(llmtest.TooMany(0)), alone: endsAway},
		{of: "TooMany", reply: always(llmtest.TooMany(hour)), alone: endsAway},
		{of: "TooManyUntil", reply: always(llmtest.TooManyUntil(time.Now().Add(hour))), alone: endsAway},
		{of: "Unavailable", reply: always(llmtest.Unavailable(0)), alone: endsAway},
		{of: "Unavailable", reply: always(llmtest.Unavailable(hour)), alone: endsAway},
		{of: "Overloaded", reply: always(llmtest.Overloaded()), alone: endsAway},
		{of: "ServerError", reply: always(llmtest.ServerError()), alone: endsAway},
		{of: "ProxyPage", reply: always(llmtest.ProxyPage(502)), alone: endsAway},
		{of: "ProxyPage", reply: always(llmtest.ProxyPage(200)), alone: endsAway},
		{of: "MalformedBody", reply: always(llmtest.MalformedBody()), alone: endsAway},
		{of: "Reset", reply: always(llmtest.Reset()), alone: endsAway},
		{of: "Huge", reply: always(llmtest.Huge(5 << 20)), alone: endsAway},
		{of: "HugeLine", reply: always(llmtest.HugeLine(36 << 20)), alone: endsAway},

		{of: "ErrorChunk", reply: func(s string) llmtest.Reply { return llmtest.ErrorChunk(s, "\x1b[2JCUDA out of memory") }, alone: endsAway},
		{of: "Truncated", reply: llmtest.Truncated, alone: endsAway},
		{of: "ResetAfter", reply: llmtest.ResetAfter, alone: endsAway},
		{of: "CleanEnd", reply: llmtest.CleanEnd, alone: endsAway},
		{of: "NoFinish", reply: llmtest.NoFinish, alone: endsAway},
		{of: "MalformedChunk", reply: llmtest.MalformedChunk, alone: endsAway},
		{of: "NotStreamed", reply: llmtest.NotStreamed, alone: endsAway},

		{of: "Silence", reply: always(llmtest.Silence()), alone: endsAway, terms: firstShortly},
		{of: "Stall", reply: func(s string) llmtest.Reply { return llmtest.Stall(s, 0) }, alone: endsAway, terms: firstShortly},
		{of: "Stall", reply: func(s string) llmtest.Reply { return llmtest.Stall(s, 60) }, alone: endsAway, terms: stallShortly},
		{of: "KeepAlive", reply: func(s string) llmtest.Reply { return llmtest.KeepAlive(s, 0, time.Millisecond) }, alone: endsAway, terms: firstShortly},
		{of: "KeepAlive", reply: func(s string) llmtest.Reply { return llmtest.KeepAlive(s, 60, time.Millisecond) }, alone: endsAway, terms: stallShortly},
		{of: "SlowFirst", reply: func(s string) llmtest.Reply { return llmtest.SlowFirst(s, hour) }, alone: endsAway, terms: firstShortly},
		{of: "Trickle", reply: func(s string) llmtest.Reply { return llmtest.Trickle(s, 50*time.Millisecond) }, alone: endsAway, terms: totalShortly},
	}
}

// text is the intended change in a form that differs from case to case.
func (f serverFault) text(turn int) string {
	form := forms[turn%len(forms)]
	for _, x := range forms {
		if x.name == f.only {
			form = x
		}
	}
	return form.text()
}

// eachServerFault runs a test with each fault, in an order of forms of its own.
func eachServerFault(t *testing.T, shift int, test func(t *testing.T, i int, f serverFault, text string)) {
	t.Helper()
	for i, f := range serverFaults() {
		text := f.text(i + shift)
		t.Run(f.of+"/"+f.reply(text).Name(), func(t *testing.T) {
			t.Parallel()
			test(t, i, f, text)
		})
	}
}

func (f serverFault) endpoint(name string, p campaign.Protocol, s *llmtest.Server) campaign.Endpoint {
	e := faultEnd(name, p, s)
	if f.terms != nil {
		f.terms(&e.Deadline)
	}
	return e
}

// TestProposalOfAServerThatFails has one server that gives every call the same fault.
func TestProposalOfAServerThatFails(t *testing.T) {
	eachServerFault(t, 0, func(t *testing.T, i int, f serverFault, text string) {
		p, want := campaign.ProtocolOpenAI, f.alone
		if i%3 == 2 {
			p = campaign.ProtocolAnthropic
			if f.anthropic != nil {
				want = *f.anthropic
			}
		}
		s := server(t, f.reply(text))
		l := faultLab(t, f.endpoint("only", p, s))
		out, err := l.propose(1)
		l.audit(out, s)
		l.requireEnding(want, out, err)
		stored, lookup := l.store.Proposed(t.Context(), "lab", 1)
		require.NoError(t, lookup)
		require.Equal(t, err == nil, stored)
	})
}

func (l *lab) requireEnding(want faultEnding, out protocol.ProposeCandidatesResult, err error) {
	l.t.Helper()
	got := byProposer(l.attempts(1))
	if want == endsAway || want == endsFinal {
		kind, final := kindOfFailure(l.t, err)
		require.Equal(l.t, want == endsFinal, final)
		require.Equal(l.t, map[bool]string{false: protocol.ErrUnavailable, true: protocol.ErrBadInput}[final], kind)
		require.True(l.t, printable(err.Error()), "%q", err)
		require.NotContains(l.t, err.Error(), labKey)
		require.Empty(l.t, got)
		return
	}
	require.NoError(l.t, err)
	require.Equal(l.t, want == endsWhole, got["llm/proposed"] == 1, "%v, notes %v", got, out.Notes)
	require.Equal(l.t, want == endsRefused, got["llm/refused"] > 0, "%v, notes %v", got, out.Notes)
	require.Equal(l.t, want == endsNoted, len(out.Notes) > 0 && len(got) == 0, "%v, notes %v", got, out.Notes)
}

// TestProposalWithAHealthySecondEndpoint has somebody else to ask, with more room
// and in the other protocol.
func TestProposalWithAHealthySecondEndpoint(t *testing.T) {
	eachServerFault(t, 1, func(t *testing.T, i int, f serverFault, text string) {
		first, second := server(t, f.reply(text)), server(t, llmtest.Say(asJSON()))
		a, b := f.endpoint("first", campaign.ProtocolOpenAI, first), faultEnd("second", campaign.ProtocolAnthropic, second)
		b.Context *= 2
		l := faultLab(t, a, b)
		out, err := l.propose(1)
		require.NoError(t, err)
		l.audit(out, first, second)
		if f.alone == endsRefused {
			// A model that answered is believed to have said what it has to say.
			l.requireEnding(endsRefused, out, err)
			require.Zero(t, second.Stats().Calls)
			return
		}
		l.requireEnding(endsWhole, out, err)
		require.Equal(t, f.alone == endsWhole, second.Stats().Calls == 0)
	})
}

// seldom gives one sample, whose seed is seen first, a fault for ever, and all others an answer.
type seldom struct {
	mu            sync.Mutex
	seed          *int64
	fault, others llmtest.Reply
}

func (s *seldom) Decide(r llmtest.Request) llmtest.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seed == nil {
		s.seed = r.Seed
	}
	if *s.seed == *r.Seed {
		return s.fault
	}
	return s.others
}

// TestProposalWithOneSampleThatFails keeps what the other sample gave.
func TestProposalWithOneSampleThatFails(t *testing.T) {
	eachServerFault(t, 2, func(t *testing.T, i int, f serverFault, text string) {
		s := server(t, &seldom{fault: f.reply(text), others: llmtest.Say(asJSON())})
		e := f.endpoint("only", campaign.ProtocolOpenAI, s)
		if f.terms != nil { // the right answer must be in time
			e.Deadline.FirstToken, e.Deadline.Stall, e.Deadline.Total = 3*e.Deadline.FirstToken, 3*e.Deadline.Stall, 3*e.Deadline.Total
		}
		l := faultLab(t, e)
		out, err := l.propose(1)
		require.NoError(t, err)
		l.audit(out, s)
		got := byProposer(l.attempts(1))
		require.Equal(t, 1, got["llm/proposed"], "%v, notes %v", got, out.Notes)
		if f.alone == endsRefused {
			require.Equal(t, 1, got["llm/refused"], "%v, notes %v", got, out.Notes)
		} else {
			require.NotEmpty(t, out.Notes, "what became of the other sample")
		}
	})
}

// TestRedirectsAreNotFollowed has a server that would answer, if it were asked.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := llmtest.Start(t, llmtest.Config{Script: llmtest.Say(asJSON())})
	s := server(t, llmtest.Redirect(elsewhere.V1()+"/chat/completions"))
	l := faultLab(t, faultEnd("only", campaign.ProtocolOpenAI, s))
	out, err := l.propose(1)
	l.audit(out, s)
	l.requireEnding(endsFinal, out, err)
	require.Zero(t, elsewhere.Stats().Calls, "a key would have gone with the question")
}

// TestServersThatAreRestarted refuse one sample for good and the other for now.
func TestServersThatAreRestarted(t *testing.T) {
	for _, r := range []llmtest.Reply{llmtest.NoModel(), llmtest.Unauthorized(), llmtest.Forbidden()} {
		s := server(t, &seldom{fault: r, others: llmtest.Unavailable(0)})
		l := faultLab(t, faultEnd("only", campaign.ProtocolOpenAI, s))
		out, err := l.propose(1)
		l.audit(out, s)
		l.requireEnding(endsAway, out, err)
	}
}

// TestAbsurdUsageEndsNothing has a server claim more than sums can hold.
func TestAbsurdUsageEndsNothing(t *testing.T) {
	said, err := json.Marshal(asJSON())
	require.NoError(t, err)
	s := server(t, llmtest.Body(200, "text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":`+string(said)+`},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000}}`+"\n\ndata: [DONE]\n\n"))
	l := faultLab(t, faultEnd("only", campaign.ProtocolOpenAI, s))
	out, err := l.propose(1)
	l.audit(out, s)
	l.requireEnding(endsWhole, out, err)
	spent, err := l.store.Spent(t.Context(), "lab")
	require.NoError(t, err)
	require.Positive(t, spent.Tokens)
	require.Less(t, spent.Tokens, int64(20_000))
	calls := s.Stats().Calls
	_, err = l.ledger(2).Call(bounded(t), "k", question("why?"))
	require.NoError(t, err, "there is room for more")
	require.Equal(t, calls+1, s.Stats().Calls)
}

// TestEveryFaultIsInTheTable compares the table with what llmtest can do.
func TestEveryFaultIsInTheTable(t *testing.T) {
	want, have := map[string]bool{}, map[string]bool{}
	names, err := filepath.Glob("../internal/llm/llmtest/*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && givesReply(f.Type) {
				want[f.Name.Name] = true
			}
		}
	}
	for _, f := range serverFaults() {
		have[f.of] = true
	}
	require.Greater(t, len(want), 30)
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
}

func givesReply(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) != 1 {
		return false
	}
	name, ok := f.Results.List[0].Type.(*ast.Ident)
	return ok && name.Name == "Reply"
}
