package llm_test

import (
	"errors"
	"strings"
	"testing"

	"ratchet/internal/llm"
)

// Servers and proxies write what they were sent in their own case.
func TestKeysDoNotShowInAnotherCase(t *testing.T) {
	const key = `sk-Canary/9+xYz"k\e`
	s := llm.NewSecret(key).Scrubber()
	for _, form := range []string{
		strings.ToUpper(key), strings.ToLower(key), `SK-CANARY%2F9%2BXYZ%22K%5CE`, `sk-%43anary%2f9%2bxYz%22k%5ce`, `sk-%63anary%2f9%2bxYz%22k%5ce`,
		`SK-\u0043ANARY\/9+XYZ\"K\\E`, `SK-\U0063ANARY\/9+XYZ\"K\\E`,
	} {
		if got := s.Scrub("no key " + form + "."); got != "no key …." {
			t.Errorf("%s: %q", form, got)
		}
	}
	if got := s.Scrub("sk-Canary/8"); got != "sk-Canary/8" {
		t.Errorf("words that are no key became %q", got)
	}
}

// A key that cannot be one is refused, before anything is made of it.
func TestKeysAreBounded(t *testing.T) {
	one := newFake(t, ok)
	for size, want := range map[int]error{4 << 10: nil, 4<<10 + 1: llm.ErrAuth, 100 << 10: llm.ErrAuth} {
		key := strings.Repeat("sk-canary-", size)[:size]
		p := newPool(t, func(c *llm.PoolConfig) { c.Getenv = func(string) string { return key } })
		e := one.endpoint("one")
		e.KeyEnv = "MODEL_KEY"
		_, err := client(t, p, e).Complete(t.Context(), question(), nil)
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: error %v", size, err)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "MODEL_KEY") || !strings.Contains(err.Error(), "may have 4096")) {
			t.Errorf("%d bytes: error %.300s", size, err)
		}
	}
	if n := one.calls.Load(); n != 1 {
		t.Errorf("%d calls, want one", n)
	}
	long := strings.Repeat("sk-canary-", 500)
	if got := llm.NewSecret(long).Scrubber().Scrub("no " + strings.ToUpper(long)); got != "no …" {
		t.Errorf("%d bytes are left of a long key", len(got))
	}
}
