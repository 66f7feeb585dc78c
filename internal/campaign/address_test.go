package campaign

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepoHoldsNoSecret(t *testing.T) {
	for _, address := range []string{
		"https://me:s3cret@example.org/a.git", "https://s3cret@example.org/a.git", "ssh://git:s3cret@example.org/a.git",
		"git:s3cret@example.org:a.git", "https://example.org/a.git?token=s3cret",
	} {
		_, err := Parse([]byte("name: a\nrepo: "+address+"\n"), ParseOptions{Dir: "/srv"})
		require.ErrorContains(t, err, "RATCHET_GIT_TOKEN", address)
		require.NotContains(t, err.Error(), "s3cret")
		_, err = FromJSON([]byte(`{"name":"a","repo":"` + address + `"}`))
		require.ErrorContains(t, err, "RATCHET_GIT_TOKEN", address)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, address := range []string{"https://example.org/a.git", "ssh://git@example.org/a.git", "git@example.org:a.git", "/srv/a:b@c"} {
		_, err := Parse([]byte("name: a\nrepo: "+address+"\n"), ParseOptions{Dir: "/srv"})
		require.NoError(t, err, address)
	}
}
