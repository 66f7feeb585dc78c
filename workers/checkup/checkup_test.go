package checkup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"

	"ratchet/activities"
	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/sandbox"
)

const gib = int64(1) << 30

func TestSpace(t *testing.T) {
	for _, x := range []struct {
		data, engine int64
		status       doctor.Status
	}{
		{90 * gib, 90 * gib, doctor.OK},
		{5 * gib, 90 * gib, doctor.OK},
		{5*gib - 1, 90 * gib, doctor.Warning},
		{90 * gib, 2 * gib, doctor.Warning},
		{gib, gib, doctor.Warning},
		{90 * gib, gib - 1, doctor.Failed},
		{0, 90 * gib, doctor.Failed},
	} {
		f := enoughSpace([]place{{"the data folder", space{Free: x.data}}, {"Docker", space{Free: x.engine}}}, "")
		require.Equal(t, x.status, f.Status, "%+v", x)
		require.Equal(t, x.status == doctor.OK, f.Hint == "", "%+v", x)
		require.Contains(t, f.Found, size(x.engine)+" for Docker")
	}
}

func TestMemory(t *testing.T) {
	require.Equal(t, doctor.OK, enoughMemory(2*gib, 2*gib, "2 boxes", "free are").Status)
	f := enoughMemory(2*gib, 2*gib-1, "2 boxes of 1GiB may use 2.0 GiB", "free are")
	require.Equal(t, doctor.Warning, f.Status)
	require.Contains(t, f.Hint, "search.parallel")
	free, err := freeMemory()
	require.NoError(t, err)
	require.Greater(t, free, int64(16<<20))
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{12: "12 B", 512 << 20: "512 MiB", 3 * gib / 2: "1.5 GiB", 2 << 40: "2.0 TiB"} {
		require.Equal(t, want, size(n))
	}
}

func TestSpaceOfAFileSystem(t *testing.T) {
	dir := t.TempDir()
	s, err := spaceAt(dir)
	require.NoError(t, err)
	require.Positive(t, s.Free)
	again, err := spaceAt(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, s.Device, again.Device)
	_, err = spaceAt(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	existing, info, err := nearest(filepath.Join(dir, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, dir, existing)
	require.True(t, info.IsDir())
}

func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	c := &checkup{Config: Config{Data: t.TempDir(), UIPort: port}}
	f := c.ports(t.Context())
	require.Equal(t, doctor.Warning, f.Status)
	require.Contains(t, f.Found, fmt.Sprint(port))
	require.Contains(t, f.Hint, "--ui-port")
	require.NoError(t, l.Close())
	require.Equal(t, doctor.OK, c.ports(t.Context()).Status)
}

func TestClocks(t *testing.T) {
	for _, x := range []struct {
		skew   time.Duration
		status doctor.Status
		text   string
	}{
		{300 * time.Millisecond, doctor.OK, "Docker agrees"},
		{-5 * time.Second, doctor.OK, "Docker is 5s behind this machine"},
		{10 * time.Second, doctor.OK, "ahead of"},
		{time.Minute, doctor.Warning, "Docker is 1m0s ahead of this machine"},
		{-time.Hour, doctor.Warning, "Docker is 1h0m0s behind this machine"},
	} {
		f := compared([]otherClock{{"Docker", x.skew, time.Millisecond, true}, {}}, "nobody keeps it")
		require.Equal(t, x.status, f.Status, x.text)
		require.Contains(t, f.Found, x.text)
		require.Contains(t, f.Found, "nobody keeps it")
	}
	require.Contains(t, compared([]otherClock{{}}, "").Found, "no other clock")
}

// TestDateOfAServer reads a real answer's header, also when the server refuses.
func TestDateOfAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Get("Authorization"))
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	o := dateOf(t.Context(), campaign.Endpoint{Name: "local", URL: server.URL + "/v1"})
	require.True(t, o.known)
	require.True(t, o.off())
	require.InDelta(t, -time.Hour.Seconds(), o.skew.Seconds(), 5)
	server.Close()
	require.False(t, dateOf(t.Context(), campaign.Endpoint{URL: server.URL}).known)
}

func TestSearchAttributesThatAreLacking(t *testing.T) {
	res := &operatorservice.ListSearchAttributesResponse{CustomAttributes: protocol.SearchAttributes()}
	require.Empty(t, lacking(res))
	delete(res.CustomAttributes, "RatchetPhase")
	res.CustomAttributes["RatchetKept"]++
	require.Equal(t, []string{"RatchetKept", "RatchetPhase"}, lacking(res))
}

func TestHints(t *testing.T) {
	for _, x := range []struct {
		err         error
		found, hint string
	}{
		{&sandbox.Error{Op: "reach", Object: "docker", Err: errors.New("down (x)"), Hint: "start it"}, "sandbox: reach docker: down (x)", "start it"},
		{fmt.Errorf("a: %w", &repo.Error{Op: "open", Object: "x", Err: repo.ErrEmpty, Hint: "commit"}), "a: git: open x: the repository has no commit", "commit"},
		{&activities.BadInput{Op: "read", Object: "x", Cause: "none", Hint: "fix"}, "read x: none", "fix"},
		{errors.New("it is held (stop process 1 (now))"), "it is held", "stop process 1 (now)"},
		{errors.New("plain"), "plain", "otherwise"},
	} {
		f := failed(x.err, "otherwise")
		require.Equal(t, x.found, f.Found)
		require.Equal(t, x.hint, f.Hint)
	}
	f := failed(fmt.Errorf("ask: %w", context.DeadlineExceeded), "wait")
	require.Equal(t, "wait", f.Hint)
	require.Contains(t, f.Found, "no answer in time")
}
