package model

import (
	"regexp"
	"strings"
)

// The addresses of repositories are stored, shown and logged, so none may hold
// a secret. (The syntax of URLs is RFC 3986; "user@host:path" is git's and scp's.)
var (
	urlAddress = regexp.MustCompile(`(?s)^([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/?#]*)@)?([^?#]*)(.*)$`)
	scpSecret  = regexp.MustCompile(`^([^/\s:@]*):[^/]*@`)
)

// SecretHint says how to give a credential otherwise.
const SecretHint = "remove it from the address; put a token into the environment variable RATCHET_GIT_TOKEN, or use ssh with an agent"

// AddressHoldsSecret says whether the address of a repository holds a password
// or a token: what stands before the @ of a URL, but for the user name of ssh,
// and what follows a ? or a #.
func AddressHoldsSecret(address string) bool {
	m := urlAddress.FindStringSubmatch(address)
	if m == nil {
		return scpSecret.MatchString(address)
	}
	return m[2] != "" && (!isSSH(m[1]) || strings.Contains(m[2], ":")) || isWeb(m[1]) && m[4] != ""
}

// RedactAddress puts xxxxx in the place of what AddressHoldsSecret finds.
func RedactAddress(address string) string { return withoutSecret(address, "xxxxx") }

// StripAddress removes what AddressHoldsSecret finds, and leaves the address
// under which the repository is known to others.
func StripAddress(address string) string { return withoutSecret(address, "") }

func withoutSecret(address, instead string) string {
	if !AddressHoldsSecret(address) {
		return address
	}
	m := urlAddress.FindStringSubmatch(address)
	if m == nil {
		return scpSecret.ReplaceAllString(address, "${1}"+before(":", instead)+"@")
	}
	user, _, _ := strings.Cut(m[2], ":")
	switch {
	case m[2] == "" || instead == "" && !isSSH(m[1]):
		user = ""
	case isSSH(m[1]):
		user += before(":", instead) + "@"
	default: // the user name may be the token
		user = instead + "@"
	}
	return m[1] + "://" + user + m[3]
}

func before(mark, s string) string {
	if s == "" {
		return ""
	}
	return mark + s
}

func isSSH(scheme string) bool { return strings.Contains(strings.ToLower(scheme), "ssh") }

func isWeb(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
