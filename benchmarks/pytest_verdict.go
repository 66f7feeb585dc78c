package benchmarks

import (
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// pyVerdict is what one run of the driver showed.
type pyVerdict struct {
	// settled says that results holds one for each node asked. Otherwise the
	// driver ended early, and they must run again in smaller companies.
	settled  bool
	results  map[string]model.Result // by node id
	tampered []string
	running  string // when not settled: what ran last
}

// pyChild is what the driver reports of one process that ran tests.
type pyChild struct {
	ids     []string
	results map[string][]pyFrame
	begun   map[string]bool
	broken  map[string]pyFrame // by file
	changes []string           // what was tampered with
	exit    *pyFrame
}

// judge reads the outcome of a run of the driver. Of the children that ran a
// problem the last one counts, and it is believed only when it got to its end and
// its canaries ended as they must.
func (r *pyRun) judge(p pyProcess, o sandbox.Outcome, key []byte) pyVerdict {
	frames, complete := parsePyFrames(o.Stdout, key)
	children := pyChildren(frames)
	v := pyVerdict{results: map[string]model.Result{}}
	for _, c := range children {
		v.tampered = append(v.tampered, c.changes...)
		v.tampered = append(v.tampered, r.misjudged(c)...)
	}
	complete = complete && !o.TimedOut
	if !complete && !p.alone() {
		v.running = lastRunning(frames)
		return v
	}
	v.settled = true
	for _, node := range p.nodes {
		if complete {
			v.results[node] = lastOf(children, node).result(node, o.OutOfMemory)
		} else {
			v.results[node] = lost(o)
		}
	}
	return v
}

// pyChildren sorts frames by child.
func pyChildren(frames []pyFrame) []*pyChild {
	var out []*pyChild
	for _, f := range frames {
		if f.Kind == "child" {
			out = append(out, &pyChild{ids: f.IDs, results: map[string][]pyFrame{}, begun: map[string]bool{}, broken: map[string]pyFrame{}})
			continue
		}
		if len(out) == 0 {
			continue
		}
		out[len(out)-1].take(f)
	}
	return out
}

func (c *pyChild) take(f pyFrame) {
	switch f.Kind {
	case "begin":
		c.begun[f.ID] = true
	case "result":
		c.results[f.ID] = append(c.results[f.ID], f)
	case "broken":
		c.broken[f.File] = f
	case "tampered":
		c.changes = append(c.changes, f.Why)
	case "exit":
		c.exit = &f
	}
}

// done reports whether the child got to its end.
func (c *pyChild) done() bool { return c != nil && c.exit != nil && c.exit.Done }

// lastOf is the last child that ran a node, or nil.
func lastOf(children []*pyChild, node string) *pyChild {
	for i := len(children) - 1; i >= 0; i-- {
		for _, id := range children[i].ids {
			if id == node {
				return children[i]
			}
		}
	}
	return nil
}

// lastRunning is the node that was running when the frames end.
func lastRunning(frames []pyFrame) string {
	running := ""
	for _, f := range frames {
		switch f.Kind {
		case "begin":
			running = f.ID
		case "result", "child", "exit":
			running = ""
		}
	}
	return running
}

// misjudged says which canaries of a child that got to its end were reported
// otherwise than they must, and one that was where a child did not.
func (r *pyRun) misjudged(c *pyChild) []string {
	var out []string
	seen := map[string]bool{}
	for _, id := range c.ids {
		dir := path.Dir(nodeFile(id))
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, node := range r.canaries[dir].nodes {
			if why := c.misreported(node, r.canaries[dir].words[node]); why != "" {
				out = append(out, fmt.Sprintf("folder %s: %s", dir, why))
				break
			}
		}
	}
	return out
}

// misreported says what is wrong with the report of one canary, or nothing.
func (c *pyChild) misreported(node, words string) string {
	got := c.results[node]
	switch {
	case len(got) == 0 && !c.done():
		return ""
	case len(got) == 0:
		return "a canary was not reported"
	case len(got) > 1:
		return "a canary was reported more than once"
	case words == "" && got[0].Outcome != "pass":
		return "a canary that passes was reported as " + got[0].Outcome + ": " + got[0].Message
	case words != "" && got[0].Outcome != "fail":
		return "a canary that must fail was reported as " + got[0].Outcome
	case words != "" && !strings.Contains(got[0].Message, words):
		return "a canary that must fail was reported with the wrong words"
	}
	return ""
}

// result is that of a node in the child that counts for it. memory says that
// some process ran out of it.
func (c *pyChild) result(node string, memory bool) model.Result {
	switch {
	case c == nil:
		return model.Result{Outcome: model.Missing, Message: "it was not run"}
	case !c.done():
		return c.early(node, memory)
	}
	if f, ok := c.broken[nodeFile(node)]; ok && len(c.of(node)) == 0 {
		if f.Skipped {
			return model.Result{Outcome: model.Skip, Message: f.Message}
		}
		return model.Result{Outcome: model.BuildFailed, Message: f.Message}
	}
	return believed(c.of(node))
}

// of are the reports of a node: its own, or those of all its parameters.
func (c *pyChild) of(node string) []pyFrame {
	if own := c.results[node]; len(own) > 0 || strings.HasSuffix(node, "]") {
		return own
	}
	var out []pyFrame
	for id, frames := range c.results {
		if strings.HasPrefix(id, node+"[") {
			out = append(out, frames...)
		}
	}
	return out
}

// believed sums up reports of one problem: it has passed when all have.
func believed(reports []pyFrame) model.Result {
	if len(reports) == 0 {
		return model.Result{Outcome: model.Missing, Message: "pytest did not collect it"}
	}
	res := model.Result{Outcome: model.Pass, Score: 1}
	for _, f := range reports {
		res.Wall += time.Duration(f.Wall * float64(time.Second))
		switch {
		case f.Outcome == "fail":
			res.Outcome, res.Score, res.Message = model.Fail, 0, f.Message
		case f.Outcome != "pass" && res.Outcome == model.Pass:
			res.Outcome, res.Score, res.Message = model.Skip, 0, f.Message
		}
	}
	res.Message = tailOf([]byte(res.Message))
	return res
}

// early is the result of a problem whose child ended before it was done.
func (c *pyChild) early(node string, memory bool) model.Result {
	res := model.Result{Outcome: model.Missing}
	if c.exit == nil {
		res.Message = "the process that ran it was lost"
		return res
	}
	at := "while it ran"
	if !c.begun[node] {
		at = "before it ran"
	}
	switch x := c.exit; {
	case x.Why == "timeout":
		res.Outcome, res.TimedOut = model.Timeout, true
		res.Message = "took too long: killed " + at
	case memory && x.Status == -int(syscall.SIGKILL):
		res.Outcome = model.OutOfMemory
		res.Message = "ran out of memory: killed " + at
	case x.Status < 0:
		res.Outcome = model.Crashed
		res.Message = fmt.Sprintf("its process ended on signal %d %s\n%s", -x.Status, at, x.Message)
	case len(c.begun) == 0:
		res.Outcome = model.BuildFailed
		res.Message = fmt.Sprintf("its process ended with exit status %d while tests were collected\n%s", x.Status, x.Message)
	default:
		res.Message = fmt.Sprintf("its process ended with exit status %d %s\n%s", x.Status, at, x.Message)
	}
	res.Message = tailOf([]byte(res.Message))
	return res
}

// lost is the result of a problem alone in a run of the driver that ended early.
func lost(o sandbox.Outcome) model.Result {
	res := model.Result{Outcome: earlyEnd(o), Wall: o.Wall, Message: tailOf(o.Stderr)}
	res.TimedOut = res.Outcome == model.Timeout
	if res.Message == "" {
		res.Message = "the process ended early"
	}
	return res
}

// broke is the verdict on a process that took its box down.
func (r *pyRun) broke(p pyProcess, err error) pyVerdict {
	if !p.alone() {
		return pyVerdict{}
	}
	return pyVerdict{settled: true, results: map[string]model.Result{
		p.nodes[0]: {Outcome: model.Crashed, Message: "the sandbox ended while it ran: " + err.Error()},
	}}
}
