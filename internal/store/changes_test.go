package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func move(s *Store, id string, to model.ChangeState) (model.Change, error) {
	return s.MoveChange(context.Background(), Fence{}, id, nil, to, "ratchet", "why", at, nil)
}

var allStates = []model.ChangeState{
	model.ChangeProposed, model.ChangeAwaiting, model.ChangeApproved, model.ChangeRejected,
	model.ChangeApplied, model.ChangeProbation, model.ChangeKept, model.ChangeRolledBack,
}

// lives are all the ways to a state that differ in what may follow, and what may.
var lives = map[string]string{
	"proposed":                                                                   "approved awaiting_approval rejected",
	"proposed rejected":                                                          "",
	"proposed approved":                                                          "applied rejected",
	"proposed approved rejected":                                                 "",
	"proposed awaiting_approval":                                                 "approved rejected",
	"proposed awaiting_approval approved":                                        "applied rejected",
	"proposed awaiting_approval rejected":                                        "",
	"proposed approved applied":                                                  "on_probation rolled_back",
	"proposed approved applied rolled_back":                                      "",
	"proposed approved applied on_probation":                                     "awaiting_approval kept rolled_back",
	"proposed approved applied on_probation awaiting_approval":                   "kept rolled_back",
	"proposed approved applied on_probation kept":                                "",
	"proposed approved applied on_probation rolled_back":                         "",
	"proposed approved applied on_probation awaiting_approval kept":              "",
	"proposed approved applied on_probation awaiting_approval rolled_back":       "",
	"proposed awaiting_approval approved applied on_probation":                   "awaiting_approval kept rolled_back",
	"proposed awaiting_approval approved applied on_probation awaiting_approval": "kept rolled_back",
}

// Every pair of states, in every life.
func TestChangeLifeCycle(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		for life, allowed := range lives {
			path := strings.Fields(life)
			for _, to := range allStates {
				id := strings.Join(path, "-") + "-" + string(to)
				require.NoError(t, s.CreateChange(ctx, Fence{}, model.Change{ID: id}, "ratchet", ""))
				for _, state := range path[1:] {
					_, err := move(s, id, model.ChangeState(state))
					require.NoError(t, err, id)
				}
				here := model.ChangeState(path[len(path)-1])
				events := len(path)
				got, err := move(s, id, to)
				switch {
				case to == here:
					require.NoError(t, err, id)
					require.Equal(t, here, got.State)
				case contains(allowed, to):
					require.NoError(t, err, id)
					require.Equal(t, to, got.State)
					events++
				default:
					require.ErrorIs(t, err, ErrConflict, id)
				}
				trail, err := s.ChangeEvents(ctx, id)
				require.NoError(t, err)
				require.Len(t, trail, events, id)
				require.Equal(t, events, trail[events-1].Seq)
			}
			require.Equal(t, allowed == "", model.ChangeState(path[len(path)-1]).Final(), life)
		}
	})
}

func contains(list string, state model.ChangeState) bool {
	for _, s := range strings.Fields(list) {
		if s == string(state) {
			return true
		}
	}
	return false
}

func TestMoveChange(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		require.NoError(t, s.CreateChange(ctx, Fence{}, model.Change{ID: "x", Created: at}, "ratchet", "found"))
		from := []model.ChangeState{model.ChangeAwaiting}
		_, err := s.MoveChange(ctx, Fence{}, "x", from, model.ChangeApproved, "ann", "", at, nil)
		require.ErrorIs(t, err, ErrConflict, "legal, but not from there")

		later := at.Add(time.Minute)
		edit := func(c *model.Change) { c.Commit, c.ID, c.State = "abc", "y", model.ChangeKept }
		got, err := s.MoveChange(ctx, Fence{}, "x", []model.ChangeState{model.ChangeProposed}, model.ChangeApproved, "ann", "good", later, edit)
		require.NoError(t, err)
		require.Equal(t, model.Change{ID: "x", State: model.ChangeApproved, Commit: "abc", Created: at, Updated: later}, got)
		stored, err := s.Change(ctx, "x")
		require.NoError(t, err)
		require.Equal(t, got, stored)
		trail, err := s.ChangeEvents(ctx, "x")
		require.NoError(t, err)
		require.Equal(t, model.ChangeEvent{Change: "x", Seq: 2, State: model.ChangeApproved, By: "ann", Why: "good", At: later}, trail[1])

		again, err := s.MoveChange(ctx, Fence{}, "x", from, model.ChangeApproved, "bob", "", later.Add(1), func(*model.Change) { t.Error("edited twice") })
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

func TestCreateChangeAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		c := model.Change{ID: "x", Kind: model.ChangeCode, Campaign: "c", Generation: 3, Attempt: "k", Parent: "p"}
		require.NoError(t, s.CreateChange(ctx, Fence{}, c, "ratchet", ""))
		_, err := move(s, "x", model.ChangeApproved)
		require.NoError(t, err)
		require.NoError(t, s.CreateChange(ctx, Fence{}, c, "ratchet", ""))
		stored, err := s.Change(ctx, "x")
		require.NoError(t, err)
		require.Equal(t, model.ChangeApproved, stored.State, "a retried creation does not take it back")
		c.Parent = "q"
		require.ErrorIs(t, s.CreateChange(ctx, Fence{}, c, "ratchet", ""), ErrConflict)
		require.ErrorIs(t, s.CreateChange(ctx, Fence{}, model.Change{ID: "y", State: model.ChangeKept}, "", ""), ErrInvalid)
		require.ErrorIs(t, s.CreateChange(ctx, Fence{}, model.Change{}, "", ""), ErrInvalid)
	})
}

func TestChangesFilter(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		for i, id := range []string{"c", "b", "a"} {
			c := model.Change{ID: id, Campaign: map[bool]string{true: "one", false: "two"}[id != "b"], Created: at.Add(time.Duration(i) * time.Second)}
			require.NoError(t, s.CreateChange(ctx, Fence{}, c, "", ""))
		}
		_, err := move(s, "a", model.ChangeApproved)
		require.NoError(t, err)
		for _, c := range []struct {
			filter ChangeFilter
			want   []string
		}{
			{ChangeFilter{}, []string{"c", "b", "a"}},
			{ChangeFilter{Campaign: "one"}, []string{"c", "a"}},
			{ChangeFilter{Campaign: "one", States: []model.ChangeState{model.ChangeProposed}}, []string{"c"}},
			{ChangeFilter{States: []model.ChangeState{model.ChangeProposed, model.ChangeApproved}}, []string{"c", "b", "a"}},
			{ChangeFilter{Campaign: "none"}, []string{}},
		} {
			got, err := s.Changes(ctx, c.filter)
			require.NoError(t, err)
			ids := []string{}
			for _, x := range got {
				ids = append(ids, x.ID)
			}
			require.Equal(t, c.want, ids, "%+v", c.filter)
		}
	})
}

func TestEditChange(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		require.NoError(t, s.CreateChange(ctx, Fence{}, model.Change{ID: "x"}, "", ""))
		got, err := s.EditChange(ctx, Fence{}, "x", func(c *model.Change) { c.Commit, c.ID, c.State = "abc", "y", model.ChangeKept })
		require.NoError(t, err)
		stored, err := s.Change(ctx, "x")
		require.NoError(t, err)
		require.Equal(t, got, stored)
		require.Equal(t, model.Change{ID: "x", State: model.ChangeProposed, Commit: "abc"}, stored)
		trail, err := s.ChangeEvents(ctx, "x")
		require.NoError(t, err)
		require.Len(t, trail, 1, "it is no step of the life cycle")
	})
}
