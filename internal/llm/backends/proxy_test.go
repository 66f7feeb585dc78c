package backends_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ratchet/internal/llm"
)

// What a proxy does is not put down to the model server behind it, and its password
// is nobody's business.
func TestProxiesThatFail(t *testing.T) {
	const password = "proxy-canary"
	gone := httptest.NewServer(nil)
	gone.Close()
	refusing := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, c := range map[string]struct {
		proxy, server string
		kind          error
		hint          string
	}{
		"is not there":            {gone.URL, "http://127.0.0.1:1", llm.ErrUnavailable, "does the proxy at " + gone.URL + " run"},
		"is not there, for HTTPS": {gone.URL, "https://127.0.0.1:1", llm.ErrUnavailable, "does the proxy at " + gone.URL + " run"},
		"reaches nobody":          {refusing(502), "https://127.0.0.1:1", llm.ErrUnavailable, "let requests through to https://127.0.0.1:1/v1"},
		"wants a name":            {refusing(407), "http://127.0.0.1:1", llm.ErrAuth, "put a name and a password for the proxy"},
	} {
		each(t, func(t *testing.T, d dialect) {
			at, err := url.Parse(c.proxy)
			if err != nil {
				t.Fatal(err)
			}
			at.User = url.UserPassword("user", password)
			b := d.backend(t, c.server, func(cfg *llm.BackendConfig) { cfg.Transport.(*http.Transport).Proxy = http.ProxyURL(at) })
			_, asked := b.Complete(t.Context(), question(), nil)
			_, checked := b.Check(t.Context())
			for _, err := range []error{asked, checked} {
				var e *llm.Error
				if !errors.Is(err, c.kind) || !errors.As(err, &e) || !strings.Contains(e.Hint, c.hint) || strings.Contains(err.Error()+e.Hint, password) {
					t.Errorf("%s: error %v", name, err)
				}
			}
		})
	}
}

func TestProxiesWithoutAnAddress(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		bad := errors.New(`invalid proxy address "http://user:proxy-canary@[": parse error`)
		b := d.backend(t, "http://127.0.0.1:1", func(cfg *llm.BackendConfig) {
			cfg.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return nil, bad }
		})
		_, err := b.Complete(t.Context(), question(), nil)
		if !errors.Is(err, llm.ErrUnavailable) || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "the proxy of the environment has no valid address") {
			t.Errorf("error %v", err)
		}
	})
}
