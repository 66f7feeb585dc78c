// Package transcript keeps a conversation and fits it into a model's window.
package transcript

// Role is who speaks.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role   Role
	Text   string
	Tokens int
}

// Tokens is the size of a conversation.
func Tokens(messages []Message) int {
	total := 0
	for _, m := range messages {
		total += m.Tokens
	}
	return total
}

// Fit returns the system messages at the start and as many of the latest others
// as fit into window tokens together. A tool's result is dropped when the call
// that it answers was.
func Fit(messages []Message, window int) []Message {
	head := heading(messages)
	rest := messages[head:]
	first := len(rest) - tail(rest, window-Tokens(messages[:head]))
	for first < len(rest) && rest[first].Role == Tool {
		first++
	}
	out := append([]Message{}, messages[:head]...)
	return append(out, rest[first:]...)
}

// heading counts the system messages at the start.
func heading(messages []Message) int {
	n := 0
	for n < len(messages) && messages[n].Role == System {
		n++
	}
	return n
}

// tail counts how many messages at the end fit into room tokens.
func tail(messages []Message, room int) int {
	used := 1
	for n := range messages {
		used += messages[len(messages)-1-n].Tokens
		if used > room {
			return n
		}
	}
	return len(messages)
}

// Compact joins messages of the same speaker that follow each other, a line
// each. Results of tools stay apart.
func Compact(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if len(out) == 0 || m.Role == Tool {
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		if last.Role == m.Role {
			out = append(out, m)
			continue
		}
		last.Text += "\n" + m.Text
		last.Tokens += m.Tokens
	}
	return out
}
