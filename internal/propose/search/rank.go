package search

import (
	"fmt"
	"go/ast"
	"hash/fnv"
	"math"
	"regexp"
	"sort"
	"strings"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
)

// Exponents of the ranking. A defect is somewhere with a probability that grows
// with suspicion; given where, it is of some family with that family's mass,
// and the mass is shared by the family's sites there. Sharing is less than full,
// since a function with ten comparisons is likelier to have a wrong one than a
// function with one.
const (
	placePower  = 1.5 // of suspicion
	sharePower  = 0.6 // of the sum of suspicions over a family's sites
	fairPower   = 0.7 // of how much was taken from a region or cluster already
	fairAfter   = 6.0 // candidates after which a region yields to others
	tieJitter   = 0.02
	otherDecays = 0.12 // by how much each mutation of one site lowers the next
	triedFactor = 0.2  // for what failed on an earlier parent
)

// ranked is a mutation with its place in the order.
type ranked struct {
	mutation
	family   string
	ground   ground
	score    float64
	cluster  int
	problems []string
}

// collect makes the mutations of a ground, each scored.
func (q *query) collect(g ground) []ranked {
	var out []ranked
	g.families(func(name string, mass float64, mutate func(emitter)) {
		out = append(out, q.score(g, name, mass, mutate)...)
	})
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return settle(out)
}

// score ranks what one family yields on a ground.
func (q *query) score(g ground, family string, mass float64, mutate func(emitter)) []ranked {
	var out []ranked
	sites := map[ast.Node]float64{}
	mutate(func(m mutation) {
		if len(out) >= q.cfg.MaxPerFamily || m.weight <= 0 {
			return
		}
		s, suspect := g.suspicionAt(m.site)
		place := math.Pow(s, placePower)
		sites[m.site] = place
		score := place * m.weight * g.plausible(m.site)
		out = append(out, ranked{
			mutation: m, family: family, ground: g, score: score,
			cluster: suspect.Cluster, problems: suspect.Problems,
		})
	})
	total := 0.0
	for _, m := range out { // in order, so that the sum is the same on every run
		if place, ok := sites[m.site]; ok {
			total += place
			delete(sites, m.site)
		}
	}
	for i := range out {
		scale := mass * g.symptoms(q).boost(out[i].cluster, family) / math.Pow(max(total, 1e-9), sharePower)
		out[i].score *= scale * (1 + tieJitter*q.jitter(out[i]))
		if q.tried[idea(g.file(), out[i].what)] {
			out[i].score *= triedFactor
		}
	}
	return out
}

// idea identifies what a mutation would do, wherever in the file its line is now.
func idea(path, what string) string { return path + "\x00" + what }

// triedIdeas are what past attempts of this search tried without gain, on any
// parent. On another parent they may still be right, since defects interact, but
// what has not been tried at all comes first.
func triedIdeas(notes []diagnose.TriedNote) map[string]bool {
	out := map[string]bool{}
	for _, n := range notes {
		if n.Outcome != string(model.AttemptFailed) {
			continue
		}
		m := hypothesisPattern.FindStringSubmatch(n.Hypothesis)
		if m == nil {
			continue
		}
		what := m[2]
		if i := strings.LastIndex(what, "; "); i >= 0 {
			what = what[:i]
		}
		out[idea(m[1], what)] = true
	}
	return out
}

var hypothesisPattern = regexp.MustCompile(`^(.+?\.(?:go|py)):\d+: (.*)$`)

// settle lowers a site's later mutations, so that one rich expression does not
// take all the first places, and sorts anew.
func settle(list []ranked) []ranked {
	taken := map[ast.Node]int{}
	for i := range list {
		list[i].score /= 1 + otherDecays*float64(taken[list[i].site])
		taken[list[i].site]++
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].score > list[j].score })
	return list
}

// jitter is a number of [0, 1) that depends on the seed and the mutation alone.
func (q *query) jitter(m ranked) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", q.seed, m.ground.file(), m.family)
	for _, c := range m.changes {
		fmt.Fprintf(h, " %d %d %s", c.start, c.end, c.text)
	}
	return float64(h.Sum64()>>11) / (1 << 53)
}

// plausible lowers what stands in messages, logs and panics, whose text tests
// seldom look at.
func (r *region) plausible(n ast.Node) float64 {
	for ; n != nil; n = r.parents[n] {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch r.text(c.Fun) {
		case "panic", "fmt.Errorf", "errors.New", "log.Printf", "log.Println", "log.Print", "log.Fatal", "log.Fatalf":
			return 0.25
		}
	}
	return 1
}

// stream hands out ranked mutations of all regions, the best first, such that
// regions and clusters that had their turn yield to others.
type stream struct {
	queues   [][]ranked
	perQueue []int
	cluster  map[int]int
}

func newStream(queues [][]ranked) *stream {
	return &stream{queues: queues, perQueue: make([]int, len(queues)), cluster: map[int]int{}}
}

func (s *stream) next() (ranked, bool) {
	best, bestScore := -1, 0.0
	for i, queue := range s.queues {
		if len(queue) == 0 {
			continue
		}
		had := float64(s.perQueue[i])
		shared := float64(s.cluster[queue[0].cluster])
		score := queue[0].score / math.Pow(1+had/fairAfter, fairPower) / math.Pow(1+shared/fairAfter, fairPower)
		if best < 0 || score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return ranked{}, false
	}
	m := s.queues[best][0]
	s.queues[best] = s.queues[best][1:]
	s.perQueue[best]++
	s.cluster[m.cluster]++
	return m, true
}
