package memory

import (
	"math"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func near(t *testing.T, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func texts(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return out
}

func TestSimilarityOfEqualVectors(t *testing.T) {
	near(t, Similarity([]float64{1, 2, 3}, []float64{1, 2, 3}), 1)
}

func TestSimilarityIgnoresLength(t *testing.T) {
	near(t, Similarity([]float64{1, 1}, []float64{5, 5}), 1)
}

func TestSimilarityOfOpposites(t *testing.T) {
	near(t, Similarity([]float64{1, 0}, []float64{-2, 0}), -1)
}

func TestSimilarityOfUnrelated(t *testing.T) {
	near(t, Similarity([]float64{1, 0}, []float64{0, 1}), 0)
}

func TestSimilarityToNothing(t *testing.T) {
	near(t, Similarity([]float64{1, 2}, []float64{0, 0}), 0)
	near(t, Similarity([]float64{0, 0}, []float64{1, 2}), 0)
}

func TestWeightOfNewEntry(t *testing.T) {
	s := NewStore(time.Hour)
	near(t, s.Weight(Entry{Noted: noon}, noon), 1)
}

func TestWeightAfterOneHalfLife(t *testing.T) {
	s := NewStore(time.Hour)
	near(t, s.Weight(Entry{Noted: noon.Add(-time.Hour)}, noon), 0.5)
}

func TestWeightAfterTwoHalfLives(t *testing.T) {
	s := NewStore(time.Hour)
	near(t, s.Weight(Entry{Noted: noon.Add(-2 * time.Hour)}, noon), 0.25)
}

func TestRecallMostAlikeFirst(t *testing.T) {
	s := NewStore(time.Hour)
	hourAgo := noon.Add(-time.Hour)
	s.Add(Entry{Text: "far", Vector: []float64{0.1, 1}, Noted: hourAgo})
	s.Add(Entry{Text: "near", Vector: []float64{1, 0.1}, Noted: hourAgo})
	s.Add(Entry{Text: "nearer", Vector: []float64{1, 0}, Noted: hourAgo})
	got := texts(s.Recall([]float64{1, 0}, noon, 10))
	if want := []string{"nearer", "near", "far"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRecallWeighsLikenessAgainstAge(t *testing.T) {
	s := NewStore(time.Hour)
	s.Add(Entry{Text: "old", Vector: []float64{1, 0}, Noted: noon.Add(-3 * time.Hour)})
	s.Add(Entry{Text: "new, less alike", Vector: []float64{1, 5}, Noted: noon})
	s.Add(Entry{Text: "recent", Vector: []float64{1, 0}, Noted: noon.Add(-time.Hour)})
	got := texts(s.Recall([]float64{1, 0}, noon, 3))
	if want := []string{"recent", "new, less alike", "old"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRecallLeavesOutTheUnrelated(t *testing.T) {
	s := NewStore(time.Hour)
	s.Add(Entry{Text: "other", Vector: []float64{0, 1}, Noted: noon.Add(-time.Hour)})
	s.Add(Entry{Text: "opposite", Vector: []float64{-1, 0}, Noted: noon.Add(-time.Hour)})
	if got := s.Recall([]float64{1, 0}, noon, 10); len(got) != 0 {
		t.Errorf("got %q, want none", texts(got))
	}
}

func TestRecallIsLimited(t *testing.T) {
	s := NewStore(time.Hour)
	for range 5 {
		s.Add(Entry{Text: "x", Vector: []float64{1}, Noted: noon.Add(-time.Hour)})
	}
	if got := s.Recall([]float64{1}, noon, 3); len(got) != 3 || s.Len() != 5 {
		t.Errorf("got %d of %d", len(got), s.Len())
	}
}

func TestRecallFromEmptyStore(t *testing.T) {
	if got := NewStore(time.Hour).Recall([]float64{1}, noon, 3); len(got) != 0 {
		t.Errorf("got %q, want none", texts(got))
	}
}
