package protocol

// Types of application errors, as they appear in Temporal. Which of them are
// retried is decided in workflows/policies.go; activities/errors.go is the only
// place that makes them.
const (
	ErrBadInput    = "BadInput"    // the campaign or its repository cannot be worked with
	ErrConflict    = "Conflict"    // a ref or a row is not what it must be; a person has to look
	ErrFenced      = "Fenced"      // a newer attempt has taken over; this one's writes are void
	ErrUnavailable = "Unavailable" // Docker, disk or network: retried for long
	ErrWorkerLost  = "WorkerLost"  // the process that ran the activity has ended; it runs again
	ErrTampered    = "Tampered"    // the trusted commit itself cannot be measured
)
