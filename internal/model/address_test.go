package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestAddresses(t *testing.T) {
	for address, redacted := range map[string]string{
		"https://user:secret@example.com/a.git":   "https://xxxxx@example.com/a.git",
		"https://secret@example.com/a.git":        "https://xxxxx@example.com/a.git",
		"HTTPS://u:secret@example.com":            "HTTPS://xxxxx@example.com",
		"http://u:secret%40@example.com:80/a":     "http://xxxxx@example.com:80/a",
		"https://u:se@secret@example.com/a":       "https://xxxxx@example.com/a",
		"https://u:secret\x01@example.com/%zz":    "https://xxxxx@example.com/%zz",
		"https://example.com/a.git?token=secret":  "https://example.com/a.git",
		"https://example.com/a.git#secret":        "https://example.com/a.git",
		"https://u:secret@example.com/a?x=secret": "https://xxxxx@example.com/a",
		"ssh://git:secret@example.com/a.git":      "ssh://git:xxxxx@example.com/a.git",
		"git+ssh://git:secret@example.com:22/a":   "git+ssh://git:xxxxx@example.com:22/a",
		"ftp://secret@example.com/a":              "ftp://xxxxx@example.com/a",
		"git:secret@example.com:a.git":            "git:xxxxx@example.com:a.git",
		"git:secret@more@example.com:a.git":       "git:xxxxx@example.com:a.git",
		"https://example.com/a.git":               "",
		"https://example.com:8443/a@b.git":        "",
		"ssh://git@example.com/a.git":             "",
		"ssh://example.com:22/a@b:c":              "",
		"git@example.com:owner/a.git":             "",
		"example.com:owner/a@b.git":               "",
		"file:///srv/a.git":                       "",
		"file:///srv/what?#.git":                  "",
		"/srv/a:b@c":                              "",
		"./a:b@c":                                 "",
		"":                                        "",
	} {
		require.Equal(t, redacted != "", model.AddressHoldsSecret(address), address)
		if redacted == "" {
			redacted = address
		}
		require.Equal(t, redacted, model.RedactAddress(address), address)
		bare := strings.NewReplacer(":xxxxx@", "@", "xxxxx@", "").Replace(redacted)
		require.Equal(t, bare, model.StripAddress(address), address)
		require.False(t, model.AddressHoldsSecret(bare), address)
	}
}

func FuzzRedactAddress(f *testing.F) {
	for _, secret := range []string{"secret", "a:b", "a@b", "\n", "\xff", ""} {
		f.Add(secret)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		if strings.ContainsAny(secret, "/?#") { // must be escaped in a URL
			t.Skip()
		}
		require.Equal(t, "https://xxxxx@example.com/a.git", model.RedactAddress("https://user:"+secret+"@example.com/a.git"))
		require.Equal(t, "https://example.com/a.git", model.RedactAddress("https://example.com/a.git?"+secret))
		require.Equal(t, "ssh://git:xxxxx@example.com/a.git", model.RedactAddress("ssh://git:"+secret+"@example.com/a.git"))
	})
}
