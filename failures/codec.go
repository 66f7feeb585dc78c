package failures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"

	"ratchet/internal/natsx"
)

const (
	subjectRoot   = natsx.FailuresSubject
	contentHeader = "Content-Type"
	structured    = "application/cloudevents+json"
)

// Encode validates the event and returns it as a CloudEvent in structured mode.
func Encode(e Event) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	ce := event.New(event.CloudEventsVersionV1)
	ce.SetID(e.ID)
	ce.SetSource(e.Source)
	ce.SetType(Type)
	ce.SetTime(e.Time)
	if err := ce.SetData(event.ApplicationJSON, e); err != nil {
		return nil, fmt.Errorf("%w: data: %w", ErrInvalid, err)
	}
	data, err := ce.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%w: has %d bytes, at most %d are allowed: shorten the context", ErrInvalid, len(data), MaxSize)
	}
	return data, nil
}

// Decode reads an event from a message in structured mode, or in binary mode,
// where the attributes are headers that begin with ce-. Headers may be written in
// any case. Unknown attributes and fields of the data are ignored, so that later
// versions can add some; anything else that is not as it should be is refused
// with ErrInvalid.
func Decode(header map[string][]string, data []byte) (Event, error) {
	if len(data) > MaxSize {
		return Event{}, fmt.Errorf("%w: has %d bytes, at most %d are allowed", ErrInvalid, len(data), MaxSize)
	}
	read := readStructured
	if isBinary(header) {
		read = readBinary
	}
	ce, err := read(header, data)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fromCloudEvent(ce)
}

func isBinary(header map[string][]string) bool {
	media, _, _ := mime.ParseMediaType(natsx.HeaderGet(header, contentHeader))
	return media != structured && natsx.HeaderGet(header, "ce-specversion") != ""
}

// attribute returns the header of a CloudEvents attribute, percent-decoded as the
// NATS binding asks for; a value that is no such encoding is taken as it is.
func attribute(header map[string][]string, name string) string {
	v := natsx.HeaderGet(header, "ce-"+name)
	if decoded, err := url.PathUnescape(v); err == nil {
		return decoded
	}
	return v
}

func readStructured(_ map[string][]string, data []byte) (event.Event, error) {
	var ce event.Event
	// The library's parser stops after the first value and accepts some that are
	// not JSON.
	if !json.Valid(data) {
		return ce, errors.New("is neither a CloudEvent in JSON nor one with ce- headers")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return ce, errors.New("is not a JSON object")
	}
	return ce, ce.UnmarshalJSON(data)
}

func readBinary(header map[string][]string, data []byte) (event.Event, error) {
	var ce event.Event
	if v := attribute(header, "specversion"); v != event.CloudEventsVersionV1 {
		return ce, fmt.Errorf("specversion: %.20q is not supported, use %q", v, event.CloudEventsVersionV1)
	}
	ce = event.New(event.CloudEventsVersionV1)
	w := ce.Context
	set := map[string]func(string) error{
		"id": w.SetID, "source": w.SetSource, "type": w.SetType, "subject": w.SetSubject, "dataschema": w.SetDataSchema,
		"time": func(s string) error { return setTime(w, s) },
	}
	var errs []error
	for name, f := range set {
		if v := attribute(header, name); v != "" {
			if err := f(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	ce.SetDataContentType(natsx.HeaderGet(header, contentHeader))
	ce.DataEncoded = data
	return ce, errors.Join(errs...)
}

func setTime(w event.EventContext, s string) error {
	t, err := types.ParseTime(s)
	if err != nil {
		return err
	}
	return w.SetTime(t)
}

// fromCloudEvent checks the envelope and reads the data.
func fromCloudEvent(ce event.Event) (Event, error) {
	var e Event
	errs := []error{checkEnvelope(ce)}
	if err := json.Unmarshal(ce.Data(), &e); err != nil {
		errs = append(errs, fmt.Errorf("data: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	e.ID, e.Source, e.Time = ce.ID(), ce.Source(), ce.Time()
	if e.Time.IsZero() {
		e.Time = time.Now() // it is optional in CloudEvents
	}
	e.Time = e.Time.UTC()
	if err := e.Validate(); err != nil {
		return Event{}, err
	}
	return e, nil
}

func checkEnvelope(ce event.Event) error {
	var errs []error
	if v := ce.SpecVersion(); v != event.CloudEventsVersionV1 {
		errs = append(errs, fmt.Errorf("specversion: %.20q is not supported, use %q", v, event.CloudEventsVersionV1))
	}
	if ce.Type() != Type {
		errs = append(errs, fmt.Errorf("type: %.80q is not %q", ce.Type(), Type))
	}
	if ce.ID() == "" {
		// One that is made up here would differ at each delivery.
		errs = append(errs, errors.New("id: is empty"))
	}
	if ce.Source() == "" {
		errs = append(errs, errors.New("source: is empty"))
	}
	if err := checkMedia(ce.DataContentType()); err != nil {
		errs = append(errs, fmt.Errorf("datacontenttype: %w", err))
	}
	return errors.Join(errs...)
}

func checkMedia(contentType string) error {
	if contentType == "" {
		return nil // JSON is the default
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("%.80q: %w", contentType, err)
	}
	if media != event.ApplicationJSON && !strings.HasSuffix(media, "+json") {
		return fmt.Errorf("%.80q is not JSON", contentType)
	}
	return nil
}
