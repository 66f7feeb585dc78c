package backends_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratchet/internal/llm"
)

// Nothing of the environment reaches a server, and the library's retries are off.
func TestEnvironmentStaysOut(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE",
	} {
		t.Setenv(name, "leaked-canary")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: leaked-canary")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: leaked-canary")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leaked-canary")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/leaked-canary")
	each(t, func(t *testing.T, d dialect) {
		var seen bytes.Buffer
		b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			_ = r.Write(&seen)
			stream(w, d.start, d.text("x"), d.end)
		})
		if _, err := b.Complete(t.Context(), question(), nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(seen.String(), "canary") || seen.Len() == 0 {
			t.Errorf("the server saw\n%s", &seen)
		}
		for _, h := range []string{"Authorization", "X-Api-Key", "Openai-Organization"} {
			if strings.Contains(seen.String(), "\n"+h+":") {
				t.Errorf("header %s without a key", h)
			}
		}
	})
}

const canary = `sk-canary/+"key\1234567890`

func withKey(cfg *llm.BackendConfig) {
	cfg.Key, cfg.Endpoint.KeyEnv = llm.NewSecret(canary), "MODEL_KEY"
}

// clean fails when the key shows, in whichever form.
func clean(t *testing.T, what string, v any) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v", v, v, v)
	if e := (*llm.Error)(nil); errors.As(asError(v), &e) {
		text += fmt.Sprintf("%+v", *e)
	}
	for _, part := range []string{"canary", "1234567890", "0063anary"} {
		if strings.Contains(strings.ToLower(text), part) {
			t.Errorf("%s shows the key: %s", what, text)
		}
	}
}

func asError(v any) error { err, _ := v.(error); return err }

func TestKeysDoNotShow(t *testing.T) {
	escaped := strings.Trim(quote(canary), `"`)
	forms := []string{
		canary, escaped, strings.Trim(quote(escaped), `"`), strings.ReplaceAll(escaped, "/", `\/`),
		"sk-%63anary%2F%2B%22key%5C%31234567890", "sk-%63anary%2f%2b%22key%5c1234567890", "sk-\\u0063anary\\u002f\\u002B\\u0022key\\u005c1234567890",
	}
	for _, form := range forms {
		each(t, func(t *testing.T, d dialect) {
			status := 401
			b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.Header.Get(d.header), canary) {
					t.Errorf("the server did not get the key")
				}
				w.Header().Set("X-Echo", form)
				if status == 200 {
					stream(w, d.start, d.text("your key is "+form[:5]), d.text(form[5:]+" !"), d.end)
					return
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"message":`+quote("no such key: "+form)+`,"code":`+quote(form)+`}}`)
			}, withKey)
			for _, status = range []int{401, 404, 400, 500} {
				_, err := b.Complete(t.Context(), question(), nil)
				clean(t, "error", err)
				_, err = b.Check(t.Context())
				clean(t, "error of check", err)
			}
			status = 200
			a, err := b.Complete(t.Context(), question(), nil)
			if err != nil || !strings.HasPrefix(a.Text, "your key is …") || !strings.HasSuffix(a.Text, " !") {
				t.Errorf("answer %q, error %v", a.Text, err)
			}
			clean(t, "answer", a)
		})
	}
}

func TestRedirectsDoNotGetTheKey(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			reached := false
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			b := d.serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) }, withKey)
			_, err := b.Complete(t.Context(), question(), nil)
			_, checked := b.Check(t.Context())
			other.Close()
			if reached || !errors.Is(err, llm.ErrNoModel) || checked == nil {
				t.Errorf("%d: the other server was reached: %v, error %v, check %v", status, reached, err, checked)
			}
		}
	})
}
