package failure

import (
	"errors"
	"fmt"
	"time"

	"millrace/event"
)

// Fingerprint names a kind of failure, so that a thousand aggregates with one
// cause are one line on an operator's screen: the sink, the error's type, the
// place in our own code or the fold's rule, and the event's type. Never the
// error's text, which quotes payloads and differs each time.
func Fingerprint(sink, errorType, place, eventType string) string {
	return digest(sink, errorType, place, eventType)[:12]
}

// Placed is an error that knows where it came from: the innermost call first.
type Placed interface{ Places() []string }

// CauseOf is a marker's account of an error, with its fingerprint.
func CauseOf(err error, sink, eventType string, attempts int, first, last time.Time) Cause {
	c := Cause{
		Class: event.ClassOf(err).String(), Type: typeOf(err), Text: Truncate(err.Error()),
		Attempts: attempts, First: first, Last: last,
	}
	place := ""
	var placed Placed
	if errors.As(err, &placed) {
		if c.Frames = placed.Places(); len(c.Frames) > 0 {
			place = c.Frames[0]
		}
	}
	c.Fingerprint = Fingerprint(sink, c.Type, place, eventType)
	return c
}

// typeOf is the type of the error below all wrapping. What wraps it names
// aggregates and versions and would give each its own fingerprint.
func typeOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
