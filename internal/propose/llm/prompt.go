package llm

import (
	"fmt"
	"strings"
	"sync"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
)

// minPrompt is the fewest tokens that a prompt needs to say anything.
const minPrompt = 1024

// A part of a prompt's tokens is kept for the turn in which an answer is repaired:
// one in repairShare, and what its words need.
const (
	repairShare = 8
	leastRepair = 256
)

// prompts writes the prompts of one request, in any size. It is safe for
// concurrent use.
type prompts struct {
	cfg       Config
	request   propose.Request
	editable  func(string) bool
	suspicion *suspicion
	items     []item
	groups    []group
	foci      []focus

	mu   sync.Mutex
	made map[int]*prompt
}

// prompt is what is asked at one size: the same words for all samples, then each
// one's own.
type prompt struct {
	limit  int // tokens
	marker string
	system string
	shared string
	foci   []string
}

func newPrompts(cfg Config, r propose.Request, n int) *prompts {
	p := &prompts{cfg: cfg, request: r, editable: newEditable(r), made: map[int]*prompt{}}
	p.suspicion = newSuspicion(r, p.editable)
	p.items = p.suspicion.items()
	p.groups = groups(r.Brief, p.suspicion)
	p.foci = focuses(p.groups, n, r.Brief.Generation)
	return p
}

// newEditable says which files of the tree a candidate may change. The gate is
// asked with an edit that changes nothing, because Allowed does not know the
// files of the grader.
func newEditable(r propose.Request) func(string) bool {
	known := map[string]bool{}
	var mu sync.Mutex
	return func(path string) bool {
		mu.Lock()
		defer mu.Unlock()
		may, ok := known[path]
		if !ok {
			may = mayEdit(r, path)
			known[path] = may
		}
		return may
	}
}

func mayEdit(r propose.Request, path string) bool {
	f, ok := r.Tree.Find(path)
	if !ok || f.Mode == model.ModeSymlink || r.Allowed != nil && !r.Allowed(path) {
		return false
	}
	if r.Gate == nil {
		return true
	}
	no := r.Gate(model.Candidate{Edits: []model.Edit{{Path: path, Data: f.Data}}})
	if no == nil {
		return true
	}
	switch no.Rule {
	case patch.RulePath, patch.RuleMode, patch.RuleHarness, patch.RuleDenied:
		return false
	}
	return true
}

// of is the prompt of at most limit tokens.
func (p *prompts) of(limit int) *prompt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made[limit] == nil {
		p.made[limit] = p.write(limit)
	}
	return p.made[limit]
}

func (p *prompts) write(limit int) *prompt {
	system := p.cfg.system()
	room := weightOf(limit-max(limit/repairShare, leastRepair)) - system.weight() - focusWeight - 2*messageWeight
	shared := p.shared(max(room, 0))
	foci := make([]document, len(p.foci))
	for i, f := range p.foci {
		foci[i] = f.document()
	}
	name := p.request.Brief.Campaign + "\x00" + p.request.Brief.ParentTree
	marker := pickMarker(name, append([]document{system, shared}, foci...)...)
	out := &prompt{limit: limit, marker: marker, system: withMarker(system, marker), shared: shared.render(marker)}
	for _, f := range foci {
		out.foci = append(out.foci, f.render(marker))
	}
	return out
}

// shared writes what all samples see, from what changes least to what changes
// most, so that a server finds the beginning in its cache. Each section has a
// bound that does not depend on later ones, and what it leaves goes to them.
func (p *prompts) shared(room int) document {
	b := p.request.Brief
	var d document
	upTo := func(percent int) int { return room*percent/100 - d.weight() }
	p.files(&d, upTo(10))
	p.source(&d, upTo(65))
	d.section(weakHeading(b.Measured), "problems", problems(b.Weakest), upTo(85), false)
	d.section("# Reports from production", "reports", reports(b.Failures), upTo(89), true)
	d.section("# Past attempts and what became of them", "past attempts", attempts(b.Tried), upTo(94), true)
	d.section("# Lessons from earlier generations", "lessons", lessons(b.Reflections), upTo(96), true)
	hints, _ := fit(advice(b.Hints), upTo(100)-weigh(adviceHeading))
	if len(hints) > 0 {
		d.say(adviceHeading + strings.Join(hints, ""))
	}
	return d
}

// weakHeading tells what mending one problem is worth.
func weakHeading(measured int) string {
	if measured <= 0 {
		return "# Weak problems"
	}
	return fmt.Sprintf("# Weak problems\n\n%d problems are measured: mending one gains about %.2g.", measured, 1/float64(measured))
}

const adviceHeading = "\n# Advice\n\nFrom the people who run this campaign, the latest first:\n"

func (p *prompts) files(d *document, room int) {
	const heading = "# Files\n"
	if list := listing(p.request.Tree, p.editable, room-fenceWeight-len(heading)); list != "" && room > fenceWeight {
		d.say(heading)
		d.quote("files", list)
	}
}

func (p *prompts) source(d *document, room int) {
	const heading = "\n# Source\n"
	var musts []*region
	for _, g := range p.groups {
		if len(g.places) > 0 && len(musts) < maxMusts {
			musts = append(musts, g.places[0])
		}
	}
	chosen := choose(p.items, musts, room-len(heading))
	if len(chosen.lines) > 0 {
		d.say(heading)
		chosen.quote(d, p.editable)
	}
}

// messages is the question that sample i is asked first.
func (p *prompt) messages(i int) []llm.Message {
	return []llm.Message{
		{Role: llm.RoleSystem, Text: p.system},
		{Role: llm.RoleUser, Text: p.shared + p.foci[i]},
	}
}

// repair goes on after an answer that could not be used: the answer, cut to what
// room there is, and why. what is a sentence of ours.
func (p *prompt) repair(i int, answered, what, reason string) []llm.Message {
	asked := p.messages(i)
	room := weightOf(p.limit) - 4*messageWeight
	for _, m := range asked {
		room -= weigh(m.Text)
	}
	reason = head(strings.TrimSpace(clean(reason)), room/2)
	words := fmt.Sprintf("Your answer was not used. %s\n%s%s", what, fenced("reason", reason, p.marker), repairWords)
	answered = middle(strings.TrimSpace(clean(answered)), room-weigh(words))
	if answered == "" {
		answered = "(nothing)"
	}
	return append(asked, llm.Message{Role: llm.RoleAssistant, Text: answered}, llm.Message{Role: llm.RoleUser, Text: words})
}

const repairWords = "Answer once more, with one whole JSON object of the same form and nothing else. Search text must be copied from the source above, exactly.\n"

// size is how many tokens the largest first question may be.
func (p *prompt) size() int {
	most := 0
	for _, f := range p.foci {
		most = max(most, weigh(f))
	}
	return tokens(weigh(p.system) + weigh(p.shared) + most + 2*messageWeight)
}
