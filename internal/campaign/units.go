package campaign

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that is written like 60s, 1h30m or 8h.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d as UnmarshalText reads it, without zero units: 8h, not 8h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes d as a campaign file does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads. It fails with a message
// that says what is expected.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return &unitError{what: "a duration", text: string(text), hint: durationHint(string(text))}
	}
	*d = Duration(v)
	return nil
}

// durationHint guesses what was meant by text.
func durationHint(text string) string {
	if _, err := strconv.Atoi(text); err == nil {
		return "add a unit: " + text + "s, " + text + "m or " + text + "h"
	}
	for unit, hours := range map[string]int{"d": 24, "w": 168} {
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(text, unit)))
		if err == nil && strings.HasSuffix(text, unit) && n > 0 && n < 10_000 {
			return fmt.Sprintf("hours are the largest unit: %dh", n*hours)
		}
	}
	return "write it like 60s, 90m or 8h, at most about 290 years"
}

// Size is a number of bytes that is written like 512MiB or 1GiB.
type Size int64

// units of Size, largest first; each is 1024 times the next.
var sizeUnits = []string{"TiB", "GiB", "MiB", "KiB", "B"}

// String writes s in the largest unit that needs no fraction.
func (s Size) String() string {
	factor := int64(1) << 40
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%factor == 0 {
			return strconv.FormatInt(int64(s)/factor, 10) + u
		}
		factor >>= 10
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes s as a campaign file does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a number with one of the units B, KiB, MiB, GiB and TiB.
// It fails with a message that says what is expected.
func (s *Size) UnmarshalText(text []byte) error {
	factor := float64(1 << 40)
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(string(text), u); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || v*factor >= math.MaxInt64 || v*factor <= math.MinInt64 || v != v {
				break
			}
			*s = Size(v * factor)
			return nil
		}
		factor /= 1024
	}
	return &unitError{what: "a size", text: string(text), hint: sizeHint(string(text))}
}

// sizeHint guesses what was meant by text.
func sizeHint(text string) string {
	number := strings.TrimRight(text, "BbKkMmGgTtIi ")
	letter := strings.ToUpper(strings.TrimLeft(text[len(number):], " "))
	if _, err := strconv.ParseFloat(number, 64); err != nil || len(number) > 12 {
		return "write it like 512MiB or 1GiB"
	}
	if letter == "" {
		return "add a unit: " + number + "MiB or " + number + "GiB"
	}
	if strings.ContainsRune("KMGT", rune(letter[0])) {
		return "write " + number + letter[:1] + "iB"
	}
	return "write it like 512MiB or 1GiB"
}

// unitError is text that is not in the form of its type.
type unitError struct{ what, text, hint string }

func (e *unitError) Error() string {
	return fmt.Sprintf("expected %s, found %s (%s)", e.what, quote(e.text), e.hint)
}
