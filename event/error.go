package event

import (
	"context"
	"errors"
	"fmt"
)

// Class says what an error means for the record that met it.
type Class uint8

// The error classes.
const (
	// Unknown errors are tried a few times and are permanent then.
	Unknown Class = iota
	// Transient: a throttle, a time-out, a 5xx; the same call can succeed.
	Transient
	// Permanent: decoding, a rule, a refusal; trying again is no use.
	Permanent
	// Gap: a version is missing in the event store.
	Gap
	// Stopping: our own stop cut the call short; never counts as a failure.
	Stopping
	// Fenced: somebody else holds the lease now; never counts as a failure.
	Fenced
	// Batch: the whole call failed and it is not known which run is to blame.
	Batch
	// Superseded: a newer sink version owns the target; the sink must stop.
	Superseded
	// Unavailable: the target refuses everybody, for want of a permission, of
	// credentials or of the table. Somebody has to put that right, but no record
	// is at fault.
	Unavailable
	// Crash: workers died while they applied the event. No call returns it.
	Crash
	// Decode: a record names no aggregate or no version, so that nobody can
	// apply it. No call returns it.
	Decode
	// Schema: the event is of a shape that is newer than the fold knows; a newer
	// build may. As permanent as Permanent for this one.
	Schema
	// Foreign: what the target holds is somebody else's, another group's, source's
	// or sink's, or another version's of this one. The configuration is to blame
	// and no record: to block aggregates for it would be to block all of them.
	Foreign
)

var classNames = [...]string{"unknown", "transient", "permanent", "gap", "stopping", "fenced", "batch", "superseded", "unavailable", "crash", "decode", "schema", "foreign"}

// String returns the class's name as it stands in metrics, letters and logs.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Error is an error whose class somebody knew. It wraps the cause.
type Error struct {
	Class Class
	Op    string // a gerund phrase: "writing the read model"
	Err   error
	Hint  string // what an operator can do, if anything
}

// Error tells the operation, the cause and the hint.
func (e *Error) Error() string {
	text := e.Op
	if e.Err != nil {
		text = fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf finds the class of an error. A panic is permanent. A cancelled or expired context counts
// as Stopping and Transient: whoever set the deadline meant the call, not the
// record.
func ClassOf(err error) Class {
	var classed *Error
	var panicked *Panic
	switch {
	case errors.As(err, &classed):
		return classed.Class
	case errors.As(err, &panicked):
		return Permanent
	case errors.Is(err, context.Canceled):
		return Stopping
	case errors.Is(err, context.DeadlineExceeded):
		return Transient
	}
	return Unknown
}

var errNotText = errors.New("it is neither a string nor a number")
