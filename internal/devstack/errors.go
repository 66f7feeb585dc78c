package devstack

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrPortBusy: a port that was asked for by number is taken.
	ErrPortBusy = errors.New("port is busy")
	// ErrLocked: another process holds the data folder.
	ErrLocked = errors.New("data folder is in use")
	// ErrSchema: the Temporal database was made by a version that this one cannot open.
	ErrSchema = errors.New("database is of another Temporal version")
)

// PortBusyError is an ErrPortBusy with its details.
type PortBusyError struct {
	Service string
	Port    int
	Cause   error
}

func (e *PortBusyError) Error() string {
	return fmt.Sprintf("%s cannot listen on 127.0.0.1:%d: %v (stop what uses the port, choose another, or use 0 for any free one)",
		e.Service, e.Port, e.Cause)
}

func (e *PortBusyError) Unwrap() []error { return []error{ErrPortBusy, e.Cause} }

// LockedError is an ErrLocked that says who holds the lock, as far as is known.
type LockedError struct {
	Path  string
	Pid   int       // 0 when it is not known
	Since time.Time // zero when it is not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Pid != 0 {
		who = fmt.Sprintf("process %d, since %s", e.Pid, e.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("%s is held by %s (stop that process, or use another data folder)", e.Path, who)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// SchemaError is an ErrSchema with its details.
type SchemaError struct {
	Path        string
	Found, Want string
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s was made by %s, this is %s, and the embedded server cannot migrate it "+
		"(move the file away; campaigns are rebuilt from the store with `ratchet campaign recover`)", e.Path, e.Found, e.Want)
}

func (e *SchemaError) Unwrap() error { return ErrSchema }
