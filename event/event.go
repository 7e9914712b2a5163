package event

import (
	"errors"
	"strconv"
	"time"
)

// Event is a record that belongs to an aggregate and has a version. It comes
// from the stream or, where the stream is late, from the event store: both
// are the same event.
type Event struct {
	Aggregate string
	Version   uint64 // 1 is the first
	Image     Image  // the event item; absent while the payload is let go
	Layout    *Layout
}

// Type reads the event's type; empty when the layout has none.
func (e Event) Type() (string, error) { return e.text(e.Layout.Type) }

// Time reads when the event happened; zero when the layout has no time.
func (e Event) Time() (time.Time, error) {
	text, err := e.text(e.Layout.Time)
	if err != nil || text == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, &Error{Class: Permanent, Op: "reading the time of an event", Err: err}
	}
	return at, nil
}

// Schema reads the version of the event's shape: 1 where the layout, or the
// event, says nothing.
func (e Event) Schema() (uint64, error) {
	if e.Layout.Schema == "" {
		return 1, nil
	}
	v, err := e.Image.Get(e.Layout.Schema)
	if v == nil || err != nil {
		return 1, err
	}
	n, _ := v.(Number)
	version, err := strconv.ParseUint(string(n), 10, 63)
	if err != nil || version == 0 {
		return 0, &Error{Class: Permanent, Op: "reading attribute " + e.Layout.Schema, Err: errNoSchema}
	}
	return version, nil
}

func (e Event) text(attribute string) (string, error) {
	if attribute == "" {
		return "", nil
	}
	v, err := e.Image.Get(attribute)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case String:
		return string(v), nil
	case Number:
		return string(v), nil
	case nil:
		return "", nil
	}
	return "", &Error{Class: Permanent, Op: "reading attribute " + attribute, Err: errNotText}
}

var errNoSchema = errors.New("a schema version is a whole number from 1 on")

// Position says how far one aggregate has come in one sink. The zero value
// means that nothing was applied.
type Position struct {
	Version uint64
}

// Run is consecutive events of one aggregate, handed to a sink together.
type Run struct {
	Aggregate string
	After     Position // the guard: the target must hold exactly this
	Events    []Event  // After.Version+1 and so on, at least one
	// Recheck says that After may have been passed by somebody else since the
	// sink last heard of it: a part of the run came from the event store, the
	// last answer was no success, a shard has changed hands, or it is a redrive.
	// A sink without a guard asks its target again before it sends; to one with a
	// guard it means nothing.
	Recheck bool
}

// Last is the position that the target holds when the whole run took effect.
func (r Run) Last() Position { return Position{Version: r.After.Version + uint64(len(r.Events))} }

// Outcome is a sink's answer to one run.
type Outcome struct {
	// Position is what the target is known to hold now; it may lie beyond the
	// run when somebody else applied it, and below it when the run was cut
	// short or the target forgot.
	Position Position
	// Known is false when the answer was lost: the target must be asked for
	// its position before the next run of this aggregate.
	Known bool
	// Err says why the event after Position is not in effect; nil when the
	// whole run is, and when the target forgot: Position then lies below
	// Run.After, and what lies between must be applied again. An *Error carries
	// the class.
	Err error
}
