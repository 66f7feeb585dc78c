package anthropic

import (
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"ratchet/internal/llm/wire"
)

// block is a part of an answer: text, or what a tool is given. Anthropic's servers
// begin it empty and send deltas; others begin with all of it, or with a part.
type block struct {
	text, input string          // that it began with
	said, given strings.Builder // in deltas
}

func (a *answer) open(call *wire.Call, b anthropic.ContentBlockStartEventContentBlockUnion) error {
	a.block.text = b.Text
	switch raw := b.JSON.Input.Raw(); raw {
	case "", "{}", "null":
	default:
		a.block.input = raw
	}
	return count(call, a.block.text, a.block.input, b.Thinking)
}

// close adds the block to the answer. Deltas may repeat what it began with.
func (a *answer) close() {
	said := a.block.said.String()
	if !strings.HasPrefix(said, a.block.text) {
		said = a.block.text + said
	}
	a.text.WriteString(said)
	given := a.block.given.String()
	if a.block.input != "" && (strings.TrimSpace(given) == "" || given == "{}") {
		given = a.block.input // a value of its own, to which nothing can be added
	}
	a.tool.WriteString(given)
	a.block = block{}
}
