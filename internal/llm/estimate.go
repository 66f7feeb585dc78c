package llm

import "sync"

const (
	// startBytes is how many bytes make a token before a server has said anything.
	startBytes = 3.5
	// leastBytes and mostBytes bound what is believed of a server: code and prose
	// have 2 to 5 bytes a token, digits and other scripts can have one.
	leastBytes, mostBytes = 1.0, 8.0
	// guessBytes is how many bytes a token is taken to have where a server has never
	// said: dense code and other scripts have about so many.
	guessBytes = 2.0
	// guessShare is what a guess adds to what the server's counts so far come to.
	guessShare = 1.1
	// forget is the weight of what was known when a new call is counted.
	forget = 0.9
	// marginMessage covers the marks that a chat template puts round a message, and
	// marginCall what a server adds to a prompt: its preamble, instructions for tools.
	marginMessage, marginCall = 16, 1024
)

// Calibration knows how many bytes make a token at one server. It is safe for
// concurrent use; the zero value has seen nothing.
type Calibration struct {
	mu            sync.Mutex
	bytes, tokens float64 // weighted sums
}

// Observe tells that a prompt of so many bytes had so many tokens.
func (c *Calibration) Observe(bytes int, tokens int64) {
	if bytes <= 0 || tokens <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = c.bytes*forget + float64(bytes)
	c.tokens = c.tokens*forget + float64(tokens)
}

// BytesPerToken is from 1 to 8.
func (c *Calibration) BytesPerToken() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tokens == 0 {
		return startBytes
	}
	return min(max(c.bytes/c.tokens, leastBytes), mostBytes)
}

// Tokens is how many tokens a text of so many bytes is likely to have.
func (c *Calibration) Tokens(bytes int) int64 {
	if bytes <= 0 {
		return 0
	}
	return int64(float64(bytes)/c.BytesPerToken()) + 1
}

// Guess is how many tokens to count of a text that a server has computed and not
// counted: rather too many than too few, because a budget rests on it.
func (c *Calibration) Guess(bytes int) int64 {
	if bytes <= 0 {
		return 0
	}
	c.mu.Lock()
	seen := c.tokens > 0
	c.mu.Unlock()
	per := guessBytes
	if seen {
		per = max(c.BytesPerToken()/guessShare, leastBytes)
	}
	return int64(float64(bytes)/per) + 1
}

// Estimate is what r is likely to use up and what it can at most: a token has at
// least one byte, and a server stops at MaxTokens.
func (c *Calibration) Estimate(r Request) Estimate {
	bytes := r.Bytes()
	most := int64(bytes) + int64(len(r.Messages))*marginMessage + marginCall
	likely := min(c.Tokens(bytes), most)
	out := int64(r.MaxTokens)
	return Estimate{
		Likely: Usage{Input: likely, Output: out, Guessed: true},
		Most:   Usage{Input: most, Output: out, Guessed: true},
	}
}

// Bytes is the size of the prompt: its messages and its schema.
func (r Request) Bytes() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Text)
	}
	if r.Schema != nil {
		n += len(r.Schema.Name) + len(r.Schema.JSON)
	}
	return n
}
