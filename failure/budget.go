package failure

import (
	"time"

	"millrace/event"
)

// Limits say how long a record that fails is tried.
type Limits struct {
	Attempts int           // charged ones
	RetryFor time.Duration // with an error that may pass, at least so long
	MaxAge   time.Duration // and at most so long
}

// Moment is what a sink's clock shows: a record's age is time in which the sink
// answered and the record did not pass.
type Moment struct {
	At      time.Time
	Effects uint64        // runs that took effect so far, or a part of them, whosever they were
	Lull    time.Duration // since the sink was last given a record that was new
	Paused  time.Duration // how long the sink has been paused so far
}

// Budget is what one record has used up. The zero value has used up nothing.
//
// A failed attempt is charged only if somebody else's run has taken effect
// since the one before. While a sink fails for everybody, nobody is charged,
// however long it lasts and whatever its errors are; the first attempt after
// an outage is charged for the time since the one before it, and not for the
// outage.
//
// A failure of unknown class is charged as well once nothing new has come for
// longLull: then there is nobody to compare with, and there may never be. A
// shard that has ended is not finished before its last record is settled, and
// until then nothing of its children is read.
type Budget struct {
	Charged int           // failed attempts
	Age     time.Duration // between them, without the sink's pauses

	last Moment // of the last failed attempt
}

// maxStep is the most that one attempt adds to the age: more than the longest
// pause between two attempts and a call together. A record that comes back later
// has waited for something else, as its event to be read again.
const maxStep = 2 * time.Minute

// longLull is long enough for an outage to meet another record, unless hardly
// anything is written: then a record too many is blocked, and redriven after it.
const longLull = 5 * time.Minute

// Fail notes a failed attempt of a class.
func (b Budget) Fail(class event.Class, now Moment) Budget {
	charges := class == event.Transient || class == event.Unknown || class == event.Batch
	answered := now.Effects > b.last.Effects || class == event.Unknown && now.Lull >= longLull
	if charges && !b.last.At.IsZero() && answered {
		b.Charged++
		b.Age += min(max(0, now.At.Sub(b.last.At)-(now.Paused-b.last.Paused)), maxStep)
	}
	b.last = now
	return b
}

// Exhausted reports whether a record that fails with a class is tried no more.
func (l Limits) Exhausted(class event.Class, b Budget) bool {
	switch class {
	case event.Permanent, event.Schema, event.Gap:
		return true // trying again is no use
	case event.Unknown:
		return b.Charged >= l.Attempts
	case event.Transient, event.Batch:
		return b.Charged >= l.Attempts && b.Age >= l.RetryFor || b.Age >= l.MaxAge
	default:
		return false // the record is not at fault
	}
}
