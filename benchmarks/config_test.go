package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewRefusesBadConfig(t *testing.T) {
	ok := Config{Name: "unit", Kind: KindGoTest}
	for name, change := range map[string]func(*Config){
		"no name":         func(c *Config) { c.Name = "" },
		"slash in name":   func(c *Config) { c.Name = "a/b" },
		"unknown kind":    func(c *Config) { c.Kind = "pytests" },
		"root leaves":     func(c *Config) { c.Root = "../x" },
		"absolute root":   func(c *Config) { c.Root = "/x" },
		"negative time":   func(c *Config) { c.Timeout = -time.Second },
		"plain pattern":   func(c *Config) { c.Packages = []string{"internal/..."} },
		"pattern leaves":  func(c *Config) { c.Packages = []string{"./../x"} },
		"option as packs": func(c *Config) { c.Packages = []string{"-exec=x"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := ok
			change(&c)
			_, err := New(c)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}

func TestNewNamesKnownKinds(t *testing.T) {
	_, err := New(Config{Name: "unit", Kind: "nope"})
	require.ErrorContains(t, err, `unknown kind "nope" (known kinds: gotest, pytest, junit, exec, metric)`)
}

func TestNewDefaults(t *testing.T) {
	s := suite(t, Config{})
	require.Equal(t, "unit", s.Name())
	require.Equal(t, DefaultLimit, s.cfg.Timeout)
	require.Equal(t, ".", s.cfg.Root)
	require.Equal(t, DefaultLimit, Target{}.limit(s.cfg))
	require.Equal(t, time.Second, Target{Limit: time.Second}.limit(s.cfg))
}
