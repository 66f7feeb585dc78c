package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "2000000": 2000000, "2e6": 2000000, "1.5e3": 1500, "9007199254740992": 1 << 53} {
		got, err := parseTokens(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
}

func FuzzLimits(f *testing.F) {
	for _, s := range []string{"0", "2e6", "-1", "1e400", "NaN", "0x1p-2", "8h", "1h30m", "-5m", "", "5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseTokens(text); err == nil {
			require.True(t, n >= 0 && n <= mostTokens)
		}
		if x, err := parseCost(text); err == nil {
			require.True(t, x >= 0 && !math.IsInf(x, 0))
		}
		if d, err := parseLimitTime(text); err == nil {
			require.GreaterOrEqual(t, d.Nanoseconds(), int64(0))
		}
	})
}
