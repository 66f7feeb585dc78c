package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// column ties one column to one field of a record, for reading and writing: a
// record's columns are listed once, in one function.
type column struct {
	name string
	cell cell
}

// cell encodes a field as a database value (int64, float64, string or nil) and back.
type cell interface {
	Value() (driver.Value, error)
	Scan(src any) error
}

func text[T ~string](p *T) cell        { return textCell[T]{p} }
func name[T ~string](p *T) cell        { return nameCell[T]{p} }
func raw(p *[]byte) cell               { return rawCell{p} }
func whole[T ~int | ~int64](p *T) cell { return intCell[T]{p} }
func real(p *float64) cell             { return realCell{p} }
func flag(p *bool) cell                { return flagCell{p} }
func moment(p *time.Time) cell         { return timeCell{p} }
func optMoment(p **time.Time) cell     { return optTimeCell{p} }
func list[T any](p *[]T) cell          { return listCell[T]{p} }
func document[T any](p *T) cell        { return docCell[T]{p} }
func optDocument[T any](p **T) cell    { return optDocCell[T]{p} }

// textCell is prose. PostgreSQL stores neither NUL nor broken UTF-8, which output
// cut at a cap may well contain, so both become U+FFFD in either database.
type textCell[T ~string] struct{ p *T }

func (c textCell[T]) Value() (driver.Value, error) { return clean(string(*c.p)), nil }
func (c textCell[T]) Scan(src any) error           { return scanText(src, c.p) }

// nameCell is an identifier: replacing bytes in it could make two of them equal, so
// one that cannot be stored is refused.
type nameCell[T ~string] struct{ p *T }

func (c nameCell[T]) Value() (driver.Value, error) { return storable(string(*c.p)) }
func (c nameCell[T]) Scan(src any) error           { return scanText(src, c.p) }

func storable(s string) (driver.Value, error) {
	if clean(s) != s {
		return nil, fmt.Errorf("%w: the identifier %q has bytes that are not UTF-8 text", ErrInvalid, s)
	}
	return s, nil
}

// rawCell is a JSON document of the caller's, kept byte for byte.
type rawCell struct{ p *[]byte }

func (c rawCell) Value() (driver.Value, error) {
	if len(*c.p) > 0 && (!json.Valid(*c.p) || !utf8.Valid(*c.p)) {
		return nil, fmt.Errorf("%w: not a JSON document in UTF-8", ErrInvalid)
	}
	return string(*c.p), nil
}

func (c rawCell) Scan(src any) error {
	var s string
	if err := scanText(src, &s); err != nil {
		return err
	}
	*c.p = nil
	if s != "" {
		*c.p = []byte(s)
	}
	return nil
}

// intCell is an integer, or a duration in nanoseconds.
type intCell[T ~int | ~int64] struct{ p *T }

func (c intCell[T]) Value() (driver.Value, error) { return int64(*c.p), nil }
func (c intCell[T]) Scan(src any) error           { return scanInt(src, c.p) }

// realCell is a floating-point number. Infinities are kept; NaN, which SQLite would
// read as NULL and which equals nothing, is refused.
type realCell struct{ p *float64 }

func (c realCell) Value() (driver.Value, error) {
	if math.IsNaN(*c.p) {
		return nil, fmt.Errorf("%w: not a number (NaN)", ErrInvalid)
	}
	return *c.p, nil
}

func (c realCell) Scan(src any) error {
	switch v := src.(type) {
	case float64:
		*c.p = v
	case int64: // a whole number in a column of SQLite
		*c.p = float64(v)
	default:
		return badCell("a number", src)
	}
	return nil
}

type flagCell struct{ p *bool }

func (c flagCell) Value() (driver.Value, error) {
	if *c.p {
		return int64(1), nil
	}
	return int64(0), nil
}

func (c flagCell) Scan(src any) error {
	var n int64
	err := scanInt(src, &n)
	*c.p = n != 0
	return err
}

// timeCell is a time in microseconds UTC; finer parts are cut off, and 0 is the zero time.
type timeCell struct{ p *time.Time }

func (c timeCell) Value() (driver.Value, error) { return micros(*c.p), nil }

func (c timeCell) Scan(src any) error {
	var n int64
	err := scanInt(src, &n)
	*c.p = fromMicros(n)
	return err
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// optTimeCell is a time that may be missing, as NULL.
type optTimeCell struct{ p **time.Time }

func (c optTimeCell) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return micros(**c.p), nil
}

func (c optTimeCell) Scan(src any) error {
	*c.p = nil
	if src == nil {
		return nil
	}
	t := new(time.Time)
	*c.p = t
	return timeCell{t}.Scan(src)
}

// listCell is a slice as a JSON array. A nil slice is stored as an empty one and
// comes back empty, not nil, so that JSON made of it shows [] and not null.
type listCell[T any] struct{ p *[]T }

func (c listCell[T]) Value() (driver.Value, error) {
	if *c.p == nil {
		return "[]", nil
	}
	return encode(*c.p)
}

func (c listCell[T]) Scan(src any) error {
	*c.p = []T{}
	return scanJSON(src, c.p)
}

// docCell is a nested record as a JSON object.
type docCell[T any] struct{ p *T }

func (c docCell[T]) Value() (driver.Value, error) { return encode(*c.p) }

func (c docCell[T]) Scan(src any) error {
	*c.p = *new(T)
	return scanJSON(src, c.p)
}

// optDocCell is a nested record that may be missing, as NULL.
type optDocCell[T any] struct{ p **T }

func (c optDocCell[T]) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return encode(**c.p)
}

func (c optDocCell[T]) Scan(src any) error {
	*c.p = nil
	if src == nil {
		return nil
	}
	*c.p = new(T)
	return scanJSON(src, *c.p)
}

func encode(v any) (driver.Value, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return string(data), nil
}

func scanJSON(src, into any) error {
	var s string
	if err := scanText(src, &s); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return fmt.Errorf("%w: stored JSON: %w", ErrCorrupt, err)
	}
	return nil
}

func scanText[T ~string](src any, p *T) error {
	switch v := src.(type) {
	case string:
		*p = T(v)
	case []byte:
		*p = T(v)
	default:
		return badCell("text", src)
	}
	return nil
}

func scanInt[T ~int | ~int64](src any, p *T) error {
	v, ok := src.(int64)
	if !ok {
		return badCell("an integer", src)
	}
	*p = T(v)
	return nil
}

func badCell(want string, got any) error {
	return fmt.Errorf("%w: a cell that should hold %s holds %T", ErrCorrupt, want, got)
}

func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
