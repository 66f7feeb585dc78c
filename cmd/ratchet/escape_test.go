package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

// TestNothingReachesTheTerminal: what a terminal would obey is written as an escape,
// in text and in JSON.
func TestNothingReachesTheTerminal(t *testing.T) {
	const bad = "a\x1b[2Jb\u009b31mc\x7fd\re\u202ef"
	require.Equal(t, `a\u001b[2Jb\u009b31mc\u007fd\u000de\u202ef`, escaped(bad))
	require.Equal(t, "tab\tand\nline, é 李 \xff", escaped("tab\tand\nline, é 李 \xff"))
	require.Equal(t, `one\ncell\t`, cell("one\ncell\t"))
	c := newCLI(t)
	c.withStore(func(ctx context.Context, s *store.Store) {
		require.NoError(t, s.CreateCampaign(ctx, model.Campaign{Name: "x", Spec: []byte(`{"name":"x","repo":"/src"}`), Source: bad, Phase: bad}))
	})
	for _, args := range [][]string{{"campaign", "list"}, {"campaign", "show", "x"}, {"campaign", "list", "--json"}} {
		r := c.run(args...)
		require.NotContains(t, r.stdout+r.stderr, "\x1b", args)
		require.Less(t, strings.IndexFunc(r.stdout+r.stderr, obeyed), 0, args)
	}
	var list []campaignLine
	c.document(&list, "campaign", "list")
	require.Equal(t, bad, list[0].Repo, "the escapes are those of JSON")
	r := c.run("campaign", "show", "\x1b[2J")
	require.NotContains(t, r.stderr, "\x1b")
}
