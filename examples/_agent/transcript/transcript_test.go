package transcript

import (
	"slices"
	"testing"
)

func conversation(roles ...Role) []Message {
	var out []Message
	for i, r := range roles {
		out = append(out, Message{Role: r, Text: string(rune('a' + i)), Tokens: 10})
	}
	return out
}

func texts(messages []Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Text)
	}
	return out
}

func expect(t *testing.T, messages []Message, want ...string) {
	t.Helper()
	if got := texts(messages); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTokensAddUp(t *testing.T) {
	if got := Tokens(conversation(User, Assistant, User)); got != 30 {
		t.Errorf("got %d, want 30", got)
	}
}

func TestFitKeepsAll(t *testing.T) {
	expect(t, Fit(conversation(System, User, Assistant), 100), "a", "b", "c")
}

func TestFitDropsTheOldest(t *testing.T) {
	expect(t, Fit(conversation(User, Assistant, User, Assistant), 25), "c", "d")
}

func TestFitKeepsTheSystemMessage(t *testing.T) {
	expect(t, Fit(conversation(System, User, Assistant, User), 35), "a", "c", "d")
}

func TestFitUsesTheWholeWindow(t *testing.T) {
	expect(t, Fit(conversation(User, Assistant, User), 20), "b", "c")
}

func TestFitIntoItsOwnSize(t *testing.T) {
	expect(t, Fit(conversation(System, User, Assistant), 30), "a", "b", "c")
}

func TestFitDropsOrphanedResults(t *testing.T) {
	expect(t, Fit(conversation(User, Assistant, Tool, Tool, Assistant), 35), "e")
}

func TestFitKeepsResultsWithTheirCall(t *testing.T) {
	expect(t, Fit(conversation(User, Assistant, Tool, Assistant), 35), "b", "c", "d")
}

func TestFitIntoNothing(t *testing.T) {
	expect(t, Fit(conversation(System, User), 5), "a")
}

func TestFitLeavesItsInputAlone(t *testing.T) {
	in := conversation(System, User, Assistant)
	Fit(in, 25)
	expect(t, in, "a", "b", "c")
}

func TestCompactJoinsTheSameSpeaker(t *testing.T) {
	out := Compact(conversation(User, User, User))
	expect(t, out, "a\nb\nc")
	if Tokens(out) != 30 {
		t.Errorf("got %d tokens, want 30", Tokens(out))
	}
}

func TestCompactKeepsTurnsApart(t *testing.T) {
	expect(t, Compact(conversation(User, Assistant, User)), "a", "b", "c")
}

func TestCompactKeepsResultsApart(t *testing.T) {
	expect(t, Compact(conversation(Tool, Tool)), "a", "b")
}

func TestCompactNothing(t *testing.T) {
	expect(t, Compact(nil))
}
