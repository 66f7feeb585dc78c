package llmtest_test

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/llm/llmtest"
)

// A server that knows two files, is overloaded at first, and truncates each fifth
// of its other answers.
func Example() {
	parser := llmtest.Queue(
		llmtest.Unavailable(0),
		llmtest.Say("a wrong patch of parser.py"),
		llmtest.Say("a right patch of parser.py"),
	)
	s, err := llmtest.New(llmtest.Config{
		Context: 16384,
		Script: llmtest.First(
			llmtest.When("parser.py", "KeyError").Then(parser),
			llmtest.When("lexer.py").And(llmtest.When("parser.py").Not()).Then(llmtest.Prose()),
			llmtest.Otherwise(llmtest.Every(5, llmtest.Truncated("no idea"), llmtest.Say("no idea"))),
		),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		got := openAIStream(ctx, s, "mend the KeyError in parser.py")
		fmt.Printf("%d %q\n", got.status, got.text)
	}
	fmt.Printf("%q\n", openAIStream(ctx, s, "mend other.py").text)
	for _, r := range s.Requests() {
		fmt.Println(r.N, r.Reply)
	}
	// Output:
	// 503 ""
	// 0 "a wrong patch of parser.py"
	// 0 "a right patch of parser.py"
	// "no idea"
	// 0 unavailable
	// 1 answer
	// 2 answer
	// 3 answer
}

// Replies that wait until a test lets them go.
func ExampleHold() {
	gate := llmtest.NewGate()
	s, err := llmtest.New(llmtest.Config{Script: llmtest.Hold(gate, llmtest.Say("now"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	answer := make(chan string)
	go func() { answer <- openAIStream(ctx, s, "hello").text }()
	if err := s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }); err != nil {
		fmt.Println(err)
	}
	fmt.Println("held:", s.Stats().Held)
	gate.Open()
	fmt.Println(<-answer)
	// Output:
	// held: 1
	// now
}
