// Package failures lets the agents of a production system tell ratchet what went
// wrong. An agent publishes an Event; ratchet stores it exactly once, and the
// campaigns of the agent's repository take it into account.
//
// Events travel as CloudEvents 1.0 over NATS JetStream, so that agents in other
// languages need no more than a CloudEvents and a NATS library: type Type, data
// in JSON as Event describes it, in structured or in binary mode, on the subject
// that Subject names.
package failures

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"ratchet/internal/model"
)

// Type is the CloudEvents type of a failure.
const Type = "dev.ratchet.failure.v1"

// Limits on an event. Those of text are in bytes.
const (
	MaxSize   = 256 << 10 // of the whole event, encoded
	MaxLevels = 8         // of an agent's hierarchy
	maxID     = 256
	maxSource = 1024
	maxRepo   = 1024
)

// Severity says how bad a failure is.
type Severity string

// The severities, in ascending order.
const (
	Low      Severity = "low"
	Medium   Severity = "medium"
	High     Severity = "high"
	Critical Severity = "critical"
)

// Severities returns all of them, in ascending order.
func Severities() []Severity { return []Severity{Low, Medium, High, Critical} }

// Event is one failure of one agent. The fields with JSON names are the data of
// the CloudEvent, the others are its attributes.
type Event struct {
	// ID is unique with Source: publishing the same pair again has no effect, so
	// an agent that derives it from its own run may publish as often as it likes.
	// A random one is set when it is empty.
	ID string `json:"-"`
	// Source is a URI reference to where the event comes from, by default
	// "/agents/" and the agent.
	Source string `json:"-"`
	// Time of the failure, by default the time of publishing.
	Time time.Time `json:"-"`

	// Agent is a hierarchy of up to MaxLevels segments such as "team/bot/tool",
	// each of 1 to 64 of the characters a-z, 0-9, _ and -.
	Agent string `json:"agent_id"`
	// Repo is the repository that the agent runs from, as in the campaign file;
	// it may be empty.
	Repo string `json:"repo,omitempty"`
	// Task is what the agent was to do.
	Task string `json:"task"`
	// Expected and Actual are what should have come out, and what did.
	Expected string   `json:"expected_outcome"`
	Actual   string   `json:"actual_outcome"`
	Severity Severity `json:"severity"`
	// Context is any JSON that helps to understand the failure: a log, a trace, a
	// prompt. It must not hold secrets; it is shown to whoever fixes the agent,
	// who may be a model.
	Context json.RawMessage `json:"context,omitempty"`
}

// WithDefaults returns the event with ID, Source and Time set, and without a
// password or token in Repo.
func (e Event) WithDefaults() Event {
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	if e.Source == "" {
		e.Source = "/agents/" + e.Agent
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	e.Repo = model.StripAddress(e.Repo) // agents read it from their remote, which may hold a token
	return e
}

// Failure is the event as ratchet stores it.
func (e Event) Failure() model.Failure {
	return model.Failure{
		ID: e.ID, Source: e.Source, Agent: e.Agent, Repo: model.StripAddress(e.Repo), Task: e.Task,
		Expected: e.Expected, Actual: e.Actual, Severity: string(e.Severity), Context: e.Context, At: e.Time,
	}
}

// ErrInvalid is in every error that says that an event can never be accepted.
var ErrInvalid = errors.New("invalid failure event")

var segment = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// Validate reports everything that is wrong with the event, in one error.
func (e Event) Validate() error {
	var errs []error
	add := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	add("id", checkText(e.ID, maxID, true))
	add("source", checkSource(e.Source))
	if e.Time.IsZero() {
		add("time", errors.New("is not set"))
	} else if y := e.Time.Year(); y < 1 || y > 9999 {
		add("time", fmt.Errorf("year %d is not between 1 and 9999", y))
	}
	add("agent_id", checkAgent(e.Agent))
	add("repo", checkText(e.Repo, maxRepo, false))
	add("task", checkProse(e.Task, true))
	add("expected_outcome", checkProse(e.Expected, false))
	add("actual_outcome", checkProse(e.Actual, true))
	add("severity", checkSeverity(e.Severity))
	add("context", checkContext(e.Context))
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(errs...))
}

// checkText checks one line of text without control characters.
func checkText(s string, limit int, required bool) error {
	switch {
	case s == "" && required:
		return errors.New("is empty")
	case len(s) > limit:
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("has control characters")
	}
	return nil
}

// checkProse checks text of any number of lines.
func checkProse(s string, required bool) error {
	switch {
	case required && strings.TrimSpace(s) == "":
		return errors.New("is empty")
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return errors.New("has a NUL character")
	}
	return nil
}

func checkSource(s string) error {
	if err := checkText(s, maxSource, true); err != nil {
		return err
	}
	if _, err := url.Parse(s); err != nil {
		return fmt.Errorf("is not a URI reference: %w", err)
	}
	return nil
}

func checkAgent(agent string) error {
	if agent == "" {
		return errors.New(`is empty: name the agent, for example "team/bot/tool"`)
	}
	levels := strings.Split(agent, "/")
	if len(levels) > MaxLevels {
		return fmt.Errorf("has %d levels, at most %d are allowed", len(levels), MaxLevels)
	}
	for _, s := range levels {
		if !segment.MatchString(s) {
			return fmt.Errorf("level %.80q does not match [a-z0-9_-]{1,64}", s)
		}
	}
	return nil
}

func checkSeverity(s Severity) error {
	for _, known := range Severities() {
		if s == known {
			return nil
		}
	}
	return fmt.Errorf("%.40q is not one of low, medium, high, critical", string(s))
}

func checkContext(c json.RawMessage) error {
	if len(c) > 0 && !json.Valid(c) {
		return errors.New("is not valid JSON")
	}
	return nil
}

// Subject is the NATS subject of an agent's failures of one severity:
// "ratchet.failures.<severity>.<segment>.<segment>…". Subscribing to
// "ratchet.failures.critical.team.>" follows the critical ones of a whole team.
func Subject(severity Severity, agent string) (string, error) {
	if err := errors.Join(checkSeverity(severity), checkAgent(agent)); err != nil {
		return "", fmt.Errorf("%w: subject: %w", ErrInvalid, err)
	}
	return subjectRoot + "." + string(severity) + "." + strings.ReplaceAll(agent, "/", "."), nil
}
