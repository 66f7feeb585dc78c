package llm

import "time"

// Teach has the servers of c be known as quick: each has answered a few calls at once.
func (c *Client) Teach() {
	for _, s := range c.spots {
		for range paceLeast {
			s.server.pace.observe(silences{bytes: 1000})
		}
	}
}

// Patience is how long calls of the endpoint may be silent, 0 while nobody knows.
func (c *Client) Patience(i int) (first, gap time.Duration) {
	return c.spots[i].server.pace.patience(c.spots[i].endpoint, 1)
}
