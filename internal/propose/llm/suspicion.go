package llm

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

// What source that is not itself suspect counts, on the scale of suspicion, 0..1.
const (
	scoreTest     = 0.6  // the test of a weak problem, for the worst of each cluster
	scoreOther    = 0.3  // the tests of other weak problems
	scoreMention  = 0.15 // what a report from production names
	scoreHeader   = 0.6  // times the file's score: its first lines, with the imports
	scoreBetween  = 0.4  // times the file's score: types, constants, variables
	scoreSibling  = 0.3  // times the file's score: other functions
	scoreNear     = 0.1  // times the folder's score: files beside
	scoreAnything = 0.01 // where nothing is suspect
)

const (
	maxSources = 300 // files that are taken apart
	maxTests   = 40  // weak problems whose tests are looked for
)

// suspicion is the source of a tree that a prompt may show, scored.
type suspicion struct {
	tree    model.Tree
	sources map[string]*source
	files   map[string]float64 // the score of a file's worst region
}

func newSuspicion(r propose.Request, editable func(string) bool) *suspicion {
	s := &suspicion{tree: r.Tree, sources: map[string]*source{}, files: map[string]float64{}}
	for _, x := range r.Brief.Suspects {
		s.raise(x.File, x.StartLine, x.EndLine, x.Score)
	}
	s.mentions(r.Brief.Failures, editable)
	s.neighbours(r.Brief.Weakest, editable)
	s.tests(r.Brief.Weakest, editable)
	if len(s.files) == 0 {
		s.anything(editable)
	}
	s.spread()
	return s
}

// source takes a file apart, once; nil when it is not text or too many were.
func (s *suspicion) source(name string) *source {
	if got, known := s.sources[name]; known {
		return got
	}
	f, ok := s.tree.Find(name)
	if !ok || !readable(f) || len(s.sources) >= maxSources {
		return nil
	}
	s.sources[name] = newSource(f)
	return s.sources[name]
}

func (s *suspicion) raise(file string, first, last int, score float64) {
	src := s.source(file)
	if src == nil {
		return
	}
	score = min(max(score, 0), 1)
	src.suspect(first, max(first, last), score)
	s.files[file] = max(s.files[file], score)
}

// mentions takes up what reports from production name, as "file" or "file:function".
func (s *suspicion) mentions(failures []diagnose.FailureNote, editable func(string) bool) {
	for _, f := range failures {
		for _, m := range f.Mentions {
			file, fn, _ := strings.Cut(m, ":")
			src := s.source(file)
			if src == nil || !editable(file) {
				continue
			}
			s.files[file] = max(s.files[file], scoreMention)
			for _, r := range src.regions {
				if fn != "" && r.name == fn {
					r.score = max(r.score, scoreMention)
				}
			}
		}
	}
}

// neighbours takes up the source files beside suspects and weak problems.
func (s *suspicion) neighbours(weakest []diagnose.Weakness, editable func(string) bool) {
	folders, kinds := map[string]float64{}, map[string]bool{}
	for file, score := range s.files {
		folders[path.Dir(file)] = max(folders[path.Dir(file)], score)
		kinds[path.Ext(file)] = true
	}
	if len(kinds) == 0 {
		return
	}
	for _, w := range weakest {
		dir := path.Clean(w.Package)
		folders[dir] = max(folders[dir], scoreMention)
	}
	for _, f := range s.tree.Files {
		score, near := folders[path.Dir(f.Path)]
		if _, known := s.files[f.Path]; known || !near || !kinds[path.Ext(f.Path)] || !editable(f.Path) {
			continue
		}
		if s.source(f.Path) != nil {
			s.files[f.Path] = scoreNear * score
		}
	}
}

// anything takes up every text that a candidate may change.
func (s *suspicion) anything(editable func(string) bool) {
	for _, f := range s.tree.Files {
		if editable(f.Path) && s.source(f.Path) != nil {
			s.files[f.Path] = scoreAnything
		}
	}
}

// spread gives each region that has no score of its own a share of its file's.
func (s *suspicion) spread() {
	for file, score := range s.files {
		for i, r := range s.sources[file].regions {
			share := scoreSibling
			switch {
			case i == 0 && r.name == "":
				share = scoreHeader
			case r.name == "":
				share = scoreBetween
			}
			r.score = max(r.score, share*score)
		}
	}
}

// item is what is shown or left out as a whole.
type item struct {
	regions []*region
	score   float64
	weight  int
}

// items lists what can be shown, by suspicion for its weight: the square of the
// score, so that a function must be much smaller, not just a little, to come
// before one that is more suspicious.
func (s *suspicion) items() []item {
	var out []item
	for _, src := range s.sources {
		if src.weight <= smallFile && s.files[src.path] > 0 {
			out = append(out, newItem(src.regions, max(s.files[src.path], src.score())))
			continue
		}
		for _, r := range src.regions {
			if r.score > 0 {
				out = append(out, newItem([]*region{r}, r.score))
			}
		}
	}
	slices.SortFunc(out, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.density(), a.density()),
			cmp.Compare(a.regions[0].src.path, b.regions[0].src.path), cmp.Compare(a.regions[0].first, b.regions[0].first))
	})
	return out
}

func newItem(regions []*region, score float64) item {
	it := item{regions: regions, score: score}
	for _, r := range regions {
		it.weight += r.src.weigh(r.first, r.last)
	}
	return it
}

func (it item) density() float64 {
	return it.score * it.score / float64(it.weight+fileWeight)
}

func (s *source) score() float64 {
	most := 0.0
	for _, r := range s.regions {
		most = max(most, r.score)
	}
	return most
}
