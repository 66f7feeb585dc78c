package repo

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"ratchet/internal/model"
)

// Variables of the environment with the credential for https. Addresses hold
// none, because they are stored and shown. For ssh there is the agent.
const (
	// TokenVariable holds a token or password. It is sent over https only, and
	// only to a server that asks for one.
	TokenVariable = "RATCHET_GIT_TOKEN"
	// UserVariable holds the user name that goes with it; defaultUser when empty.
	UserVariable = "RATCHET_GIT_USER"
	// HostVariable names the one host that may get it, as in the address; any when empty.
	HostVariable = "RATCHET_GIT_HOST"
)

// defaultUser is what servers that look at the token alone accept.
const defaultUser = "git"

// CheckAddress refuses the address of a repository that holds a password or a token. The error is ErrInvalid.
func CheckAddress(address string) error {
	if !model.AddressHoldsSecret(address) {
		return nil
	}
	return &Error{Op: "use address", Object: model.RedactAddress(address), Hint: model.SecretHint,
		Err: fmt.Errorf("%w: it holds a password or a token, and addresses are stored and shown", ErrInvalid)}
}

// signedIn calls do without a credential and, when the server asks for one, with
// that of the environment. A nil method leaves ssh to the agent.
func signedIn(address string, do func(transport.AuthMethod) error) error {
	err := do(nil)
	if !asksToSignIn(err) {
		return err
	}
	if basic := environmentAuth(address); basic != nil {
		return do(basic)
	}
	return err
}

func asksToSignIn(err error) bool {
	return errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)
}

// environmentAuth returns the credential for an address, nil when there is none.
func environmentAuth(address string) *githttp.BasicAuth {
	token, host := os.Getenv(TokenVariable), os.Getenv(HostVariable)
	u, err := url.Parse(address)
	if err != nil || token == "" || !strings.EqualFold(u.Scheme, "https") || host != "" && !strings.EqualFold(host, u.Host) {
		return nil
	}
	user := os.Getenv(UserVariable)
	if user == "" {
		user = defaultUser
	}
	return &githttp.BasicAuth{Username: user, Password: token}
}

// signInHint says how to give a credential for an address that was refused.
func signInHint(address string) string {
	switch u, err := url.Parse(address); {
	case err != nil || !strings.HasPrefix(strings.ToLower(u.Scheme), "http"):
		return "load a key that the server knows into the ssh agent: ssh-add"
	case !strings.EqualFold(u.Scheme, "https"):
		return "use https: the token in " + TokenVariable + " is never sent in the clear"
	case os.Getenv(TokenVariable) == "":
		return "put a token into the environment variable " + TokenVariable + ", or use ssh with an agent"
	case environmentAuth(address) == nil:
		return HostVariable + " names another host than " + u.Host
	}
	return "the server refuses the token in " + TokenVariable + "; does it need another user name, in " + UserVariable + "?"
}

// sshHint says what to do about a failure to set up an ssh connection, "" when
// it is none. The libraries have no typed errors for most of these.
func sshHint(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "SSH_AUTH_SOCK"), strings.Contains(text, "error creating SSH agent"):
		return "start an ssh agent and load a key: eval $(ssh-agent); ssh-add"
	case strings.Contains(text, "unable to authenticate"):
		return "load a key that the server knows into the ssh agent: ssh-add"
	case strings.Contains(text, "knownhosts: key is unknown"), strings.Contains(text, "known_hosts file"):
		return "the host is not known: compare its key with the one its operator publishes, then add it: ssh-keyscan HOST >> ~/.ssh/known_hosts"
	case strings.Contains(text, "knownhosts: key mismatch"):
		return "the host has another key than known_hosts says: somebody may be in between; ask its operator"
	}
	return ""
}
