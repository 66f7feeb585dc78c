package llmtest

import (
	"container/list"
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tokenBytes = 4  // most bytes of a token, but for one rune that is longer and a leading space
	blockSize  = 16 // tokens of a block of the prefix cache, as vLLM has them
)

// Tokens splits a text into the server's tokens, which make up the text again: words
// with the space before them, blanks and punctuation, each in pieces of four bytes.
// No rune is cut.
func Tokens(text string) []string {
	var out []string
	for len(text) > 0 {
		n := tokenLength(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// CountTokens is how many tokens the server counts in a text.
func CountTokens(text string) int { return len(Tokens(text)) }

// PromptTokens is how many tokens the server counts in a conversation, with what its
// chat template adds.
func PromptTokens(messages []Message) int { return CountTokens(template(messages)) }

// template renders a conversation as a model would see it.
func template(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<|" + m.Role + "|>\n" + m.Text + "\n")
	}
	b.WriteString("<|assistant|>\n")
	return b.String()
}

func tokenLength(text string) int {
	n := 0
	if text[0] == ' ' && len(text) > 1 && class(text[1:]) == word {
		n = 1
	}
	first, start := class(text[n:]), n
	for n < len(text) && class(text[n:]) == first {
		_, size := utf8.DecodeRuneInString(text[n:])
		if n > start && n+size-start > tokenBytes {
			break
		}
		n += size
	}
	return n
}

const (
	word = iota
	blank
	mark
)

// class says what the first rune of a text is.
func class(text string) int {
	r, _ := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
		return word
	case unicode.IsSpace(r):
		return blank
	}
	return mark
}

// prefixCache is the set of blocks that the server has computed, the least recently
// used of them leaving first. A block is known by all tokens up to its end. It is
// not safe for concurrent use.
type prefixCache struct {
	capacity int
	order    *list.List // of block hashes, latest first
	blocks   map[[sha256.Size]byte]*list.Element
}

func newPrefixCache(capacity int) *prefixCache {
	return &prefixCache{capacity: capacity, order: list.New(), blocks: map[[sha256.Size]byte]*list.Element{}}
}

// lookup counts the tokens of a prompt that need not be computed: whole blocks, and
// never the last token, which the model needs to go on from.
func (c *prefixCache) lookup(tokens []string) int {
	n := 0
	for _, h := range hashes(tokens) {
		if _, ok := c.blocks[h]; !ok || (n+1)*blockSize >= len(tokens) {
			break
		}
		n++
	}
	return n * blockSize
}

// add keeps the whole blocks of a sequence.
func (c *prefixCache) add(tokens []string) {
	for _, h := range hashes(tokens) {
		if e, ok := c.blocks[h]; ok {
			c.order.MoveToFront(e)
			continue
		}
		c.blocks[h] = c.order.PushFront(h)
	}
	for c.order.Len() > c.capacity {
		e := c.order.Back()
		delete(c.blocks, c.order.Remove(e).([sha256.Size]byte))
	}
}

// hashes names the whole blocks of a sequence, each by everything up to its end.
func hashes(tokens []string) [][sha256.Size]byte {
	var out [][sha256.Size]byte
	var last [sha256.Size]byte
	for ; len(tokens) >= blockSize; tokens = tokens[blockSize:] {
		last = sha256.Sum256(append(last[:], strings.Join(tokens[:blockSize], "\x00")...))
		out = append(out, last)
	}
	return out
}
