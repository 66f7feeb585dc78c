package failures_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"ratchet/failures"
)

// An agent reports that a tool call came to nothing.
func Example() {
	ctx := context.Background()
	p, err := failures.Connect(ctx, failures.Config{URL: "nats://127.0.0.1:4222", Name: "support-bot"})
	if err != nil {
		log.Print(err) // the agent works on without it
		return
	}
	defer p.Close()
	_, err = p.Publish(ctx, failures.Event{
		ID:       "run-4711-step-3", // from the agent's own run: publishing it again has no effect
		Agent:    "support/mail-bot/search",
		Repo:     "https://git.example.com/support/mail-bot",
		Task:     "find the customer's last order",
		Expected: "one order",
		Actual:   "timeout after 30 s, the answer was made up",
		Severity: failures.High,
		Context:  json.RawMessage(`{"tool": "order-search", "attempts": 3}`),
	})
	if err != nil {
		log.Print(err)
	}
}

func ExampleSubject() {
	s, _ := failures.Subject(failures.Critical, "support/mail-bot")
	fmt.Println(s)
	// Output: ratchet.failures.critical.support.mail-bot
}
