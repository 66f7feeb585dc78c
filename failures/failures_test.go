package failures_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/failures"
	"ratchet/internal/natsx"
	"ratchet/internal/natsx/natstest"
)

func valid() failures.Event {
	return failures.Event{
		ID: "run-1", Source: "/agents/team/bot", Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC),
		Agent: "team/bot", Repo: "./agent", Task: "add 1 and 1", Expected: "2", Actual: "3\n(three)",
		Severity: failures.High, Context: json.RawMessage(`{"log":["a","b"]}`),
	}
}

func TestEncodedEventDecodesToTheSame(t *testing.T) {
	data, err := failures.Encode(valid())
	require.NoError(t, err)
	var wire map[string]any
	require.NoError(t, json.Unmarshal(data, &wire))
	require.Equal(t, map[string]any{
		"specversion": "1.0", "id": "run-1", "source": "/agents/team/bot", "type": "dev.ratchet.failure.v1",
		"time": "2026-01-02T03:04:05.0000006Z", "datacontenttype": "application/json",
		"data": map[string]any{
			"agent_id": "team/bot", "repo": "./agent", "task": "add 1 and 1", "expected_outcome": "2",
			"actual_outcome": "3\n(three)", "severity": "high", "context": map[string]any{"log": []any{"a", "b"}},
		},
	}, wire)
	got, err := failures.Decode(map[string][]string{"content-type": {"application/cloudevents+json; charset=utf-8"}}, data)
	require.NoError(t, err)
	require.Equal(t, valid(), got)
}

func TestDecodeBinaryModeInAnyCase(t *testing.T) {
	data, err := json.Marshal(valid())
	require.NoError(t, err)
	for name, up := range map[string]func(string) string{"lower": strings.ToLower, "upper": strings.ToUpper, "mixed": func(s string) string { return s }} {
		t.Run(name, func(t *testing.T) {
			header := map[string][]string{
				up("ce-SpecVersion"): {"1.0"}, up("ce-Id"): {"run%2D1"}, up("Ce-Source"): {"/agents/team/bot"},
				up("CE-Type"): {failures.Type}, up("ce-Time"): {"2026-01-02T04:04:05.0000006+01:00"},
				up("ce-Extra"): {"ignored"}, up("Content-Type"): {"application/json"},
			}
			got, err := failures.Decode(header, data)
			require.NoError(t, err)
			require.Equal(t, valid(), got)
		})
	}
}

func TestDecodeSetsAMissingTime(t *testing.T) {
	got, err := failures.Decode(nil, []byte(envelope(`"id":"1","source":"/s"`)))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), got.Time, time.Hour)
}

func envelope(attributes string) string {
	return `{"specversion":"1.0","type":"dev.ratchet.failure.v1",` + attributes +
		`,"data":{"agent_id":"a","task":"t","actual_outcome":"x","severity":"low","later":"field"}}`
}

func TestDecodeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		header map[string][]string
		data   string
		want   []string
	}{
		"empty":            {data: "", want: []string{"neither"}},
		"not JSON":         {data: "boom", want: []string{"neither"}},
		"trailing garbage": {data: envelope(`"id":"1","source":"/s"`) + "x", want: []string{"neither"}},
		"not an object":    {data: "[1]", want: []string{"not a JSON object"}},
		"no envelope":      {data: `{"agent_id":"a"}`, want: []string{"specversion"}},
		"every error at once": {
			data: `{"specversion":"1.0","type":"other","datacontenttype":"text/plain","data":"{}"}`,
			want: []string{`"other" is not`, "id: is empty", "source: is empty", `"text/plain" is not JSON`},
		},
		"older CloudEvents": {data: `{"specversion":"0.3","id":"1","source":"/s","type":"dev.ratchet.failure.v1","data":{}}`, want: []string{"specversion"}},
		"no data":           {data: `{"specversion":"1.0","id":"1","source":"/s","type":"dev.ratchet.failure.v1"}`, want: []string{"data"}},
		"every field at once": {
			data: `{"specversion":"1.0","id":"1","source":"/s","type":"dev.ratchet.failure.v1","data":{"agent_id":"Team/x","severity":"bad"}}`,
			want: []string{`level "Team"`, "task: is empty", "actual_outcome: is empty", `"bad" is not one of`},
		},
		"binary, bad attributes": {
			header: map[string][]string{"ce-specversion": {"1.0"}, "ce-time": {"yesterday"}}, data: "{}",
			want: []string{"time"},
		},
		"binary, other version": {header: map[string][]string{"ce-specversion": {"2.0"}}, data: "{}", want: []string{"specversion"}},
		"too large":             {data: strings.Repeat(" ", failures.MaxSize+1), want: []string{"at most"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := failures.Decode(tt.header, []byte(tt.data))
			require.ErrorIs(t, err, failures.ErrInvalid)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, valid().Validate())
	for want, change := range map[string]func(*failures.Event){
		"id: is empty":                     func(e *failures.Event) { e.ID = "" },
		"id: has control characters":       func(e *failures.Event) { e.ID = "a\nb" },
		"id: has 257 bytes":                func(e *failures.Event) { e.ID = strings.Repeat("x", 257) },
		"source: is not a URI reference":   func(e *failures.Event) { e.Source = ":" },
		"time: is not set":                 func(e *failures.Event) { e.Time = time.Time{} },
		"time: year 10000":                 func(e *failures.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"agent_id: is empty":               func(e *failures.Event) { e.Agent = "" },
		`agent_id: level ""`:               func(e *failures.Event) { e.Agent = "a//b" },
		`agent_id: level "*"`:              func(e *failures.Event) { e.Agent = "a/*" },
		`agent_id: level "a.b"`:            func(e *failures.Event) { e.Agent = "a.b" },
		"agent_id: has 9 levels":           func(e *failures.Event) { e.Agent = "a/a/a/a/a/a/a/a/a" },
		"repo: is not valid UTF-8":         func(e *failures.Event) { e.Repo = "\xff" },
		"task: is empty":                   func(e *failures.Event) { e.Task = " \n" },
		"expected_outcome: has a NUL":      func(e *failures.Event) { e.Expected = "\x00" },
		"actual_outcome: is not valid UTF": func(e *failures.Event) { e.Actual = "\xff" },
		`severity: "HIGH" is not one of`:   func(e *failures.Event) { e.Severity = "HIGH" },
		"context: is not valid JSON":       func(e *failures.Event) { e.Context = json.RawMessage("{") },
	} {
		t.Run(want, func(t *testing.T) {
			e := valid()
			change(&e)
			err := e.Validate()
			require.ErrorIs(t, err, failures.ErrInvalid)
			require.ErrorContains(t, err, want)
			_, encodeErr := failures.Encode(e)
			require.Equal(t, err, encodeErr)
		})
	}
}

func TestEncodeRefusesWhatIsTooLarge(t *testing.T) {
	e := valid()
	e.Actual = strings.Repeat("x", failures.MaxSize)
	_, err := failures.Encode(e)
	require.ErrorIs(t, err, failures.ErrInvalid)
	require.ErrorContains(t, err, "shorten the context")
}

func TestSubject(t *testing.T) {
	for _, s := range failures.Severities() {
		got, err := failures.Subject(s, "a/b-c/d_1")
		require.NoError(t, err)
		require.Equal(t, "ratchet.failures."+string(s)+".a.b-c.d_1", got)
	}
	_, err := failures.Subject("bad", "a.>")
	require.ErrorContains(t, err, `"bad"`)
	require.ErrorContains(t, err, `"a.>"`)
}

func TestPublishIsIdempotentByEvent(t *testing.T) {
	url := natstest.Start(t).URL
	p, err := failures.Connect(t.Context(), failures.Config{URL: url})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	_, err = p.Publish(t.Context(), valid())
	require.ErrorContains(t, err, "ratchet dev", "nobody has made the stream yet")

	c, err := natsx.Connect(t.Context(), natsx.Config{URL: url})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.EnsureStreams(t.Context()))
	e := valid()
	e.ID, e.Source, e.Time = "", "", time.Time{}
	sent, err := p.Publish(t.Context(), e)
	require.NoError(t, err)
	require.NotEmpty(t, sent.ID)
	require.Equal(t, "/agents/team/bot", sent.Source)
	_, err = p.Publish(t.Context(), sent)
	require.NoError(t, err)
	sent.Source = "/elsewhere" // the same id from another source is another event
	_, err = p.Publish(t.Context(), sent)
	require.NoError(t, err)
	n, err := c.Pending(t.Context(), natsx.FailuresStream)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)

	_, err = p.Publish(t.Context(), failures.Event{})
	require.ErrorIs(t, err, failures.ErrInvalid)
	var none *failures.Publisher
	none.Close()
}

// Whatever Decode accepts is valid, encodes again, and stays the same.
func FuzzDecode(f *testing.F) {
	data, err := failures.Encode(valid())
	require.NoError(f, err)
	f.Add("", "", "", data)
	f.Add("1.0", "run-1", "2026-01-02T03:04:05Z", []byte(`{"agent_id":"a","task":"t","actual_outcome":"x","severity":"low"}`))
	f.Add("", "", "", []byte(envelope(`"id":"1","source":"/s"`)))
	f.Add("", "", "", []byte(`{"data_base64":"e30=","specversion":"1.0","id":"1","source":"%","type":"dev.ratchet.failure.v1"}`))
	f.Fuzz(func(t *testing.T, version, id, at string, data []byte) {
		header := map[string][]string{"ce-source": {"/s"}, "ce-type": {failures.Type}, "ce-id": {id}, "ce-time": {at}}
		if version != "" {
			header["ce-specversion"] = []string{version}
		}
		e, err := failures.Decode(header, data)
		if err != nil {
			require.ErrorIs(t, err, failures.ErrInvalid)
			return
		}
		require.NoError(t, e.Validate())
		_, err = failures.Subject(e.Severity, e.Agent)
		require.NoError(t, err)
		again, err := failures.Encode(e)
		if errors.Is(err, failures.ErrInvalid) && len(data) > failures.MaxSize/8 {
			return // escapes may make it larger than it came
		}
		require.NoError(t, err)
		got, err := failures.Decode(nil, again)
		require.NoError(t, err)
		require.True(t, e.Time.Equal(got.Time))
		if len(e.Context) > 0 {
			require.JSONEq(t, string(e.Context), string(got.Context))
		}
		e.Time, e.Context, got.Time, got.Context = time.Time{}, nil, time.Time{}, nil
		require.Equal(t, e, got)
	})
}
