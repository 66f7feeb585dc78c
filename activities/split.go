package activities

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

// Split marks the held-out problems: those that are listed, or a share of each
// suite by a stable hash of their ids, so that the choice is the same on every
// run and does not move when a test is added. Problems of one group, such as the
// cases of one parametrised test, are held out together or not at all. The last
// failing problem stays visible, or there would be nothing to search for.
func Split(spec campaign.Spec, problems []model.Problem, failing map[string]bool) []model.Problem {
	out := append([]model.Problem(nil), problems...)
	for _, s := range spec.Suites {
		holdOut(s, spec.Seed, out)
	}
	visible, last := false, -1
	for i, p := range out {
		if !failing[p.ID] {
			continue
		}
		visible = visible || p.Split == model.SplitSearch
		if last < 0 || rank(spec.Seed, p.GroupID()) > rank(spec.Seed, out[last].GroupID()) {
			last = i
		}
	}
	if !visible && last >= 0 {
		show(out, out[last])
	}
	return out
}

// show makes the group of a problem visible.
func show(problems []model.Problem, shown model.Problem) {
	for i, p := range problems {
		if p.Suite == shown.Suite && p.GroupID() == shown.GroupID() {
			problems[i].Split = model.SplitSearch
		}
	}
}

func holdOut(s campaign.Suite, seed int64, problems []model.Problem) {
	groups, total := map[string][]int{}, 0
	for i, p := range problems {
		if p.Suite == s.Name {
			problems[i].Split = model.SplitSearch
			groups[p.GroupID()] = append(groups[p.GroupID()], i)
			total++
		}
	}
	hide := func(group string) {
		for _, i := range groups[group] {
			problems[i].Split = model.SplitHeldout
		}
	}
	if len(s.Heldout.Problems) > 0 {
		for id, members := range groups {
			if slices.ContainsFunc(members, func(i int) bool { return listed(s, problems[i]) }) {
				hide(id)
			}
		}
		return
	}
	room := int(s.Heldout.Share * float64(total))
	for _, id := range ranked(seed, groups) {
		if n := len(groups[id]); n <= room {
			hide(id)
			room -= n
		}
	}
}

// ranked lists groups by chance, the same way on every run.
func ranked(seed int64, groups map[string][]int) []string {
	ids := make([]string, 0, len(groups))
	for id := range groups {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(seed, a), rank(seed, b)), strings.Compare(a, b))
	})
	return ids
}

// rank orders problems by chance, the same way on every run.
func rank(seed int64, id string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, id))
	return binary.BigEndian.Uint64(sum[:8])
}

func listed(s campaign.Suite, p model.Problem) bool {
	return slices.ContainsFunc(s.Heldout.Problems, func(name string) bool { return names(s.Name, name, p) })
}

// names says whether a name in a campaign file means a problem of a suite, or its
// group: by its id, with or without the suite, or by its name alone, or, for a
// test in a file, by the name of the function.
func names(suite, name string, p model.Problem) bool {
	if p.Suite != suite {
		return false
	}
	group := strings.TrimPrefix(p.GroupID(), suite+"/")
	return slices.Contains([]string{
		p.ID, p.Name, strings.TrimPrefix(p.ID, suite+"/"),
		p.GroupID(), group, path.Base(group), group[strings.LastIndex(group, ":")+1:],
	}, name)
}

// weights are those of the suites, by name.
func weights(spec campaign.Spec) map[string]float64 {
	out := map[string]float64{}
	for _, s := range spec.Suites {
		out[s.Name] = s.Weight
	}
	return out
}
