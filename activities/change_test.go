package activities

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestBestAttempt(t *testing.T) {
	at := func(key, patch string, order int, score float64, status model.AttemptStatus) model.Attempt {
		return model.Attempt{Key: key, Patch: patch, Order: order, Score: score, Status: status}
	}
	low, high := at("low", "p1", 0, 0.5, model.AttemptPassed), at("high", "p2", 1, 0.7, model.AttemptPassed)
	twin := at("twin", "p3", 2, 0.7, model.AttemptPassed)
	failed := at("failed", "p4", 3, 0.9, model.AttemptFailed)
	landed := at("landed", "p5", 4, 0.1, model.AttemptLanded)
	tests := map[string]struct {
		rows   []model.Attempt
		undone map[string]bool
		want   string
	}{
		"the highest score":                   {[]model.Attempt{low, high, failed}, nil, "high"},
		"of equals the first":                 {[]model.Attempt{twin, high}, nil, "high"},
		"one that was reverted comes last":    {[]model.Attempt{low, high}, map[string]bool{"p2": true}, "low"},
		"but it comes when there is no other": {[]model.Attempt{high, failed}, map[string]bool{"p2": true}, "high"},
		"one that is landed already":          {[]model.Attempt{low, high, landed}, nil, "landed"},
		"none passed":                         {[]model.Attempt{failed}, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := bestAttempt(tt.rows, tt.undone)
			require.Equal(t, tt.want != "", ok)
			require.Equal(t, tt.want, got.Key)
		})
	}
}

func TestSubjectIsShortAndWhole(t *testing.T) {
	require.Equal(t, "short", subject("short"))
	long := subject(strings.Repeat("é", 100))
	require.Equal(t, 72, utf8.RuneCountInString(long))
	require.True(t, utf8.ValidString(long))
}

func TestChangeIDFollowsFromWhatIsChanged(t *testing.T) {
	id := changeID("demo", 3, "k")
	require.Equal(t, id, changeID("demo", 3, "k"))
	require.NotEqual(t, id, changeID("demo", 4, "k"))
	require.NotEqual(t, id, changeID("demo2", 3, "k"))
}
