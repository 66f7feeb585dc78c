// Package memory ranks what an agent remembers by how like the question it is
// and how long ago it was noted.
package memory

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Entry is one thing that is remembered.
type Entry struct {
	Text   string
	Vector []float64 // what the text means, as an embedding
	Noted  time.Time
}

// Store holds entries. It is not safe for concurrent use.
type Store struct {
	entries  []Entry
	halfLife time.Duration
}

// NewStore returns a store in which an entry loses half its weight every halfLife.
func NewStore(halfLife time.Duration) *Store { return &Store{halfLife: halfLife} }

// Add notes an entry.
func (s *Store) Add(e Entry) { s.entries = append(s.entries, e) }

// Len is the number of entries.
func (s *Store) Len() int { return len(s.entries) }

// Recall returns at most limit entries, best first: those with the highest
// product of similarity and recency. Entries that are not alike at all are left out.
func (s *Store) Recall(question []float64, now time.Time, limit int) []Entry {
	type scored struct {
		entry Entry
		score float64
	}
	var found []scored
	for _, e := range s.entries {
		score := Similarity(question, e.Vector) * s.Weight(e, now)
		if score > 0 {
			found = append(found, scored{e, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []Entry
	for _, f := range found[:min(limit, len(found))] {
		out = append(out, f.entry)
	}
	return out
}

// Weight is the recency of an entry: 1 when it is new, towards 0 with age.
func (s *Store) Weight(e Entry, now time.Time) float64 {
	age := now.Sub(e.Noted)
	return decay(s.halfLife, age)
}

// decay halves with every halfLife that age holds.
func decay(age, halfLife time.Duration) float64 {
	return math.Exp2(-age.Seconds() / halfLife.Seconds())
}

// Similarity is the cosine of the angle between two vectors, -1 to 1. A vector
// without length is like nothing: the similarity is 0.
func Similarity(a, b []float64) float64 {
	dot, lengthA, lengthB := 0.0, 0.0, 0.0
	for i := range min(len(a), len(b)) {
		dot += a[i] * b[i]
		lengthA += a[i] * a[i]
		lengthB += b[i] * b[i]
	}
	if lengthA == 0 && lengthB == 0 {
		return 0
	}
	return dot / math.Sqrt(lengthA*lengthB)
}
