package wire

import (
	"errors"
	"net/http"
)

// relayed is a failure of a request that went, or was to go, through a proxy.
type relayed struct {
	proxy string // its address, without a password
	cause error
}

func (r *relayed) Error() string { return r.cause.Error() }
func (r *relayed) Unwrap() error { return r.cause }

// errNoProxy stands for the words of the library, which repeat the address whole.
var errNoProxy = errors.New("the proxy of the environment has no valid address")

// relay says of a failure that a proxy had a part in it, where one did.
func relay(next http.RoundTripper, req *http.Request, cause error) error {
	t, ok := next.(*http.Transport)
	if !ok || t.Proxy == nil {
		return cause
	}
	u, err := t.Proxy(req)
	switch {
	case err != nil:
		return &relayed{cause: errNoProxy}
	case u == nil:
		return cause
	}
	return &relayed{proxy: " at " + u.Scheme + "://" + u.Host, cause: cause}
}
