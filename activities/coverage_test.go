package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestJoinCoverageMergesWhatIsEqual(t *testing.T) {
	at := func(line int) model.Block { return model.Block{File: "a.go", StartLine: line, EndLine: line + 1} }
	a := model.Coverage{
		Blocks: []model.Block{at(9), at(1), at(5)},
		Hits:   map[string][]int{"x": {0, 1}, "gone": {2}}, Results: []model.Result{{Problem: "x"}, {Problem: "gone"}},
	}
	b := model.Coverage{Blocks: []model.Block{at(3), at(9)}, Hits: map[string][]int{"y": {0, 1}}, Results: []model.Result{{Problem: "y"}}}
	got := joinCoverage(without(a, []model.Problem{{ID: "gone"}}), b)
	require.Equal(t, []model.Block{at(1), at(3), at(9)}, got.Blocks)
	require.Equal(t, map[string][]int{"x": {0, 2}, "y": {1, 2}}, got.Hits)
	require.Equal(t, []model.Result{{Problem: "x"}, {Problem: "y"}}, got.Results)
}

func TestDiffering(t *testing.T) {
	a := model.Tree{}.With(model.Edit{Path: "same", Data: []byte("1")}, model.Edit{Path: "changed", Data: []byte("1")}, model.Edit{Path: "gone", Data: []byte("1")})
	b := a.With(model.Edit{Path: "changed", Data: []byte("2")}, model.Edit{Path: "gone", Delete: true}, model.Edit{Path: "new", Data: []byte("3")})
	require.Equal(t, []string{"changed", "gone", "new"}, differing(a, b))
}
