package repo_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/stretchr/testify/require"

	"ratchet/internal/repo"
)

// privateServer is git's own server behind TLS, which wants a token. It notes
// what it was sent.
type privateServer struct {
	url string
	mu  sync.Mutex
	got []string // "user token" of each request, "-" for none
}

func (p *privateServer) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.got...)
}

func private(t testing.TB, bare, user, token string) *privateServer {
	t.Helper()
	git(t, bare, "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(git(t, bare, "--exec-path"), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	p := &privateServer{}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, pw, sent := r.BasicAuth()
		note := "-"
		if sent {
			note = u + " " + pw
		}
		p.mu.Lock()
		p.got = append(p.got, note)
		p.mu.Unlock()
		if u != user || pw != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	trust(t, srv)
	p.url = srv.URL + "/" + filepath.Base(bare)
	return p
}

// trust makes git's https transport accept the test server's certificate.
func trust(t testing.TB, srv *httptest.Server) {
	old := client.Protocols["https"]
	client.InstallProtocol("https", githttp.NewClient(srv.Client()))
	t.Cleanup(func() { client.InstallProtocol("https", old) })
}

func environment(t *testing.T, user, token, host string) {
	t.Setenv(repo.UserVariable, user)
	t.Setenv(repo.TokenVariable, token)
	t.Setenv(repo.HostVariable, host)
}

func TestPrivateRepositoryOverHTTPS(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	bare := mirror(t, src)
	srv := private(t, bare, "git", "s3cret")
	environment(t, "", "s3cret", "")
	r := importTo(t, srv.url, repo.ImportOptions{})
	fsck(t, r.Path())
	tip := git(t, src, "rev-parse", "main")
	got, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	require.Equal(t, tip, got)
	require.Equal(t, "-", srv.requests()[0], "the token is sent when it is asked for")
	require.Contains(t, srv.requests(), "git s3cret")

	c := commit(t, r, tip, "more", "new.txt", "new\n")
	require.NoError(t, r.SetRef(ctx, "refs/heads/story", "", c.Hash))
	require.NoError(t, r.Push(ctx, srv.url, "refs/heads/story", "refs/heads/ratchet/x", ""))
	require.Equal(t, c.Hash, git(t, bare, "rev-parse", "refs/heads/ratchet/x"))
	config := git(t, r.Path(), "config", "--list")
	require.NotContains(t, config, "s3cret", "nothing is stored")
}

func TestCredentialsThatDoNotFit(t *testing.T) {
	srv := private(t, mirror(t, workTree(t)), "me", "s3cret")
	host := strings.TrimPrefix(srv.url, "https://")
	host = host[:strings.IndexByte(host, '/')]
	for name, c := range map[string]struct{ user, token, host, says string }{
		"none":                        {says: "put a token into the environment variable RATCHET_GIT_TOKEN"},
		"wrong token":                 {user: "me", token: "wr0ng", says: "refuses the token in RATCHET_GIT_TOKEN"},
		"wrong user":                  {token: "s3cret", says: "RATCHET_GIT_USER"},
		"the token is for other ones": {user: "me", token: "s3cret", host: "example.com", says: "RATCHET_GIT_HOST names another host than " + host},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.user, c.token, c.host)
			err := repo.Import(context.Background(), srv.url, filepath.Join(t.TempDir(), "r.git"), repo.ImportOptions{})
			require.ErrorIs(t, err, repo.ErrSignIn)
			require.ErrorContains(t, err, c.says)
			for _, secret := range []string{"s3cret", "wr0ng"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
	require.NotContains(t, srv.requests(), "me s3cret", "not even where it would do, for a host that it is not for")
	environment(t, "me", "s3cret", strings.ToUpper(host))
	require.NoError(t, repo.Import(context.Background(), srv.url, filepath.Join(t.TempDir(), "r.git"), repo.ImportOptions{}))
}

// TestTokenStaysOffPlainHTTP also covers servers that send a client elsewhere.
func TestTokenStaysOffPlainHTTP(t *testing.T) {
	environment(t, "", "s3cret", "")
	var mu sync.Mutex
	var sent []string
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if h := r.Header.Get("Authorization"); h != "" {
			sent = append(sent, h)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
	plain := httptest.NewServer(http.HandlerFunc(note))
	t.Cleanup(plain.Close)
	err := repo.Import(context.Background(), plain.URL+"/x.git", filepath.Join(t.TempDir(), "r.git"), repo.ImportOptions{})
	require.ErrorIs(t, err, repo.ErrSignIn)
	require.ErrorContains(t, err, "use https")

	asked := 0
	away := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, plain.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(away.Close)
	trust(t, away)
	err = repo.Import(context.Background(), away.URL+"/x.git", filepath.Join(t.TempDir(), "r.git"), repo.ImportOptions{})
	require.Error(t, err)
	require.Empty(t, sent)
	require.Greater(t, asked, 1)
}

func TestAddressesWithSecretsAreRefused(t *testing.T) {
	r := importTo(t, workTree(t), repo.ImportOptions{})
	for _, address := range []string{
		"https://user:s3cret@example.com/x.git", "https://s3cret@example.com/x.git", "http://u:s3cret@example.com/x",
		"ssh://git:s3cret@example.com/x.git", "git:s3cret@example.com:x.git", "https://example.com/x.git?private_token=s3cret",
	} {
		dst := filepath.Join(t.TempDir(), "r.git")
		for op, err := range map[string]error{
			"import": repo.Import(context.Background(), address, dst, repo.ImportOptions{}),
			"push":   r.Push(context.Background(), address, "refs/heads/main", "refs/heads/x", ""),
		} {
			require.ErrorIs(t, err, repo.ErrInvalid, op)
			require.ErrorContains(t, err, "RATCHET_GIT_TOKEN", op)
			require.NotContains(t, err.Error(), "s3cret", op)
		}
		require.NoDirExists(t, dst)
	}
}
