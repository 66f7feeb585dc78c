package doctor_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/doctor"
)

const long = time.Minute

func check(name string, probe func(context.Context) doctor.Finding) doctor.Check {
	return doctor.Check{Name: name, Limit: long, Late: "wake " + name, Probe: probe}
}

func always(name string, f doctor.Finding) doctor.Check {
	return check(name, func(context.Context) doctor.Finding { return f })
}

// TestSideBySide: each probe waits for all others, and the order stays.
func TestSideBySide(t *testing.T) {
	var all sync.WaitGroup
	names := []string{"c", "a", "b"}
	all.Add(len(names))
	var checks []doctor.Check
	for _, n := range names {
		checks = append(checks, check(n, func(context.Context) doctor.Finding {
			all.Done()
			all.Wait()
			return doctor.Fine("%s is well", n)
		}))
	}
	r := doctor.Run(t.Context(), checks, 0)
	require.True(t, r.OK)
	for i, n := range names {
		require.Equal(t, n, r.Checks[i].Name)
		require.Equal(t, n+" is well", r.Checks[i].Found)
	}
}

func TestWhatIsWell(t *testing.T) {
	warn, skip := doctor.Warn("free some", "little is left"), doctor.Skip("give a file", "no file")
	r := doctor.Run(t.Context(), []doctor.Check{always("disk", warn), always("file", skip)}, 0)
	require.True(t, r.OK, "a warning is no failure")
	require.Equal(t, doctor.Warning, r.Checks[0].Status)
	require.Equal(t, "free some", r.Checks[0].Hint)
	require.Equal(t, doctor.Skipped, r.Checks[1].Status)

	bad := doctor.Fail("correct it", "the name is wrong")
	bad.Input = true
	r = doctor.Run(t.Context(), []doctor.Check{always("file", bad), always("Docker", doctor.Fail("start it", "it is down")), always("disk", warn)}, 0)
	require.False(t, r.OK)
	require.Equal(t, []string{"file"}, r.Failed(true))
	require.Equal(t, []string{"Docker"}, r.Failed(false))
}

// TestHangingProbes: neither one that heeds its context nor one that does not holds up the others.
func TestHangingProbes(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	deaf := check("deaf", func(context.Context) doctor.Finding { <-forever; return doctor.Fine("never") })
	polite := check("polite", func(ctx context.Context) doctor.Finding {
		<-ctx.Done()
		return doctor.Fail("look at the server", "it has said nothing")
	})
	deaf.Limit = 20 * time.Millisecond
	r := doctor.Run(t.Context(), []doctor.Check{deaf, polite, always("quick", doctor.Fine("here"))}, 30*time.Millisecond)
	require.Equal(t, doctor.Failed, r.Checks[0].Status)
	require.Equal(t, "no answer within 20ms", r.Checks[0].Found)
	require.Equal(t, "wake deaf", r.Checks[0].Hint)
	require.Equal(t, "it has said nothing", r.Checks[1].Found, "capped, and it tells more itself")
	require.Equal(t, doctor.OK, r.Checks[2].Status)
	require.False(t, r.OK)
}

// TestCleaningUp: a probe that has made something may remove it.
func TestCleaningUp(t *testing.T) {
	removed := false
	c := check("box", func(ctx context.Context) doctor.Finding {
		<-ctx.Done()
		time.Sleep(400 * time.Millisecond) // longer than a probe gets that cleans nothing up
		removed = true
		return doctor.Fail("look", "it did not start")
	})
	c.Limit, c.Grace = 10*time.Millisecond, long
	require.Equal(t, "it did not start", doctor.Run(t.Context(), []doctor.Check{c}, 0).Checks[0].Found)
	require.True(t, removed)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	r := doctor.Run(ctx, []doctor.Check{check("deaf", func(context.Context) doctor.Finding {
		cancel()
		<-forever
		return doctor.Fine("never")
	})}, 0)
	require.Equal(t, doctor.Skipped, r.Checks[0].Status)
	require.Equal(t, "it was interrupted", r.Checks[0].Found)
}

func TestOneLineWithoutSecrets(t *testing.T) {
	f := doctor.Fail("unset sk-123", "the server said:\nsk-123 is wrong\r\n")
	f.Details = []string{"key sk-123\nagain"}
	r := doctor.Run(t.Context(), []doctor.Check{always("model", f)}, 0, "", "sk-123")
	require.Equal(t, "the server said:; … is wrong", r.Checks[0].Found)
	require.Equal(t, "unset …", r.Checks[0].Hint)
	require.Equal(t, []string{"key …; again"}, r.Checks[0].Details)
}

func TestDocument(t *testing.T) {
	r := doctor.Run(t.Context(), []doctor.Check{always("git", doctor.Fine("built in"))}, 0)
	r.Checks[0].Seconds = 0.5
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"ok":true,"checks":[{"name":"git","status":"ok","found":"built in","seconds":0.5}]}`, string(data))
}
