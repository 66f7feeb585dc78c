// Package pysearch finds mutations of Python functions that may repair them: the
// Python half of the search proposer, which ranks what it yields. It is pure; a
// Module may be used by one goroutine at a time.
//
// The parts: module.go reads a file and the literals around it; region.go what
// stands in one function; kinds.go guesses what values are; registry.go lists the
// families of mutations, which op_*.go implement; edit.go changes text.
package pysearch

import (
	"bytes"
	"errors"

	"ratchet/internal/pysrc"
)

// Change replaces the bytes [Start, End) of a file.
type Change struct {
	Start, End int
	Text       string
}

// Span is where a mutation is made: the suspected statement or expression, in bytes.
type Span struct{ Off, End int }

// Mutation is one way to change a region.
type Mutation struct {
	Site Span
	// Weight says how likely this change is among those of its family at its
	// site, 0..1: the nearest is 1.
	Weight  float64
	What    string // completes "file:line: …"
	Changes []Change
}

type emitter func(m Mutation)

// Valid says why changed source cannot be a repair of the file: it does not
// parse, or it means the same.
func (m *Module) Valid(data []byte) error {
	f, err := pysrc.Parse(data)
	if err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	if bytes.Equal([]byte(f.Canonical()), m.canonical) {
		return errors.New("means the same as the original")
	}
	return nil
}
