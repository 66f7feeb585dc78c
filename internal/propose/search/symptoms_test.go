package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
)

func TestSymptomsAreRead(t *testing.T) {
	cases := []struct {
		message string
		raised  string // a family that comes first, "" for none
	}{
		{"panic: runtime error: index out of range [3] with length 3", "off by one"},
		{"panic: runtime error: integer divide by zero", "entry guard"},
		{"panic: assignment to entry in nil map", "idiom"},
		{"fatal error: all goroutines are asleep - deadlock!", "lock"},
		{"WARNING: DATA RACE", "lock"},
		{"p_test.go:9: got 3, want 4", "off by one"},
		{"p_test.go:9: F(2) = -4; want 4", "sign"},
		{"want 4 but got -4", "sign"},
		{"p_test.go:9: got true, want false", "relational operator"},
		{"Error: Not equal:\n  expected: 2.5\n  actual  : 2", "numeric conversion"},
		{"expected: \"ABC\"\nactual  : \"abc\"", "called function"},
		{"got [a b], want [a b c]", "repeated statement"},
		{"got [a b c], want [a b]", "early exit"},
		{"got <nil>, want an error", "unchecked error"},
		{"it is wrong", ""},
	}
	for _, c := range cases {
		got := readSymptoms(c.message)
		if c.raised == "" {
			require.Empty(t, got, c.message)
			continue
		}
		require.Greater(t, got[c.raised], 1.0, c.message)
	}
}

// TestSymptomsNameFamilies guards against a factor that no family reads.
func TestSymptomsNameFamilies(t *testing.T) {
	known := map[string]bool{}
	for _, f := range families() {
		known[f.name] = true
	}
	messages := []string{
		"index out of range", "nil pointer dereference", "integer divide by zero", "test timed out", "DATA RACE", "unlock of unlocked",
		"got true, want false", "got 1, want -1", "got 1, want 2", "got 0, want 9", "got 2, want 2.5", "got <nil>, want x", "got A, want a",
		"got ab, want abc", "got abc, want ab",
	}
	for _, m := range messages {
		for f := range readSymptoms(m) {
			require.True(t, known[f], "%q raises %q", m, f)
		}
	}
}

func TestSymptomsCountForTheirClusterAlone(t *testing.T) {
	s := newSymptoms([]diagnose.Weakness{{Cluster: 0, Message: "DATA RACE"}, {Cluster: 1, Message: "got 1, want 2"}}, readSymptoms)
	require.Greater(t, s.boost(0, "lock"), 1.0)
	require.Equal(t, 1.0, s.boost(1, "lock"))
	require.Equal(t, 1.0, s.boost(7, "lock"))
}
