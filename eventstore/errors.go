package eventstore

import (
	"fmt"

	"millrace/event"
)

// Conflict is a lost race: somebody else's event stands where ours should
// have gone. Nothing of the append took effect. Load again and decide again.
type Conflict struct {
	Aggregate string
	Expected  uint64     // the version our append was to follow
	Version   uint64     // the first of ours that another event took
	Stands    event.Item // that event; nil when it was gone before we could look
}

// Error tells who lost what.
func (c *Conflict) Error() string {
	return fmt.Sprintf("appending to %s after version %d: another event stands at version %d", c.Aggregate, c.Expected, c.Version)
}

// Unsettled is an append of which nobody knows whether it took effect: an
// answer was lost, and the budget or the caller ended before the store could
// be asked. It may even take effect later. To append the same events again
// under the same command id and the same expected version is safe; to decide
// anew is safe only after a load.
type Unsettled struct {
	Aggregate string
	Expected  uint64
	Events    int
	Err       error // the last attempt's
}

// Error tells what is not known, and why.
func (u *Unsettled) Error() string {
	return fmt.Sprintf("appending %d events to %s after version %d: it is not known whether they stand: %v", u.Events, u.Aggregate, u.Expected, u.Err)
}

// Unwrap returns the last attempt's error.
func (u *Unsettled) Unwrap() error { return u.Err }

// Refusal is a business rule's no to a command. It is never retried.
type Refusal struct {
	Aggregate string
	Version   uint64 // the version the rule decided on
	Err       error  // what the rule said
}

// Error tells what the rule said.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s refuses at version %d: %v", r.Aggregate, r.Version, r.Err)
}

// Unwrap returns what the rule said.
func (r *Refusal) Unwrap() error { return r.Err }

// Hole is a version that is missing although a later one stands, also for a
// read that no half-visible transaction can mislead. Its class is Gap.
type Hole struct {
	Aggregate string
	Version   uint64 // the first one missing
}

// Error tells which version is missing.
func (h *Hole) Error() string {
	return fmt.Sprintf("version %d of %s is missing and a later one stands", h.Version, h.Aggregate)
}

func (h *Hole) classed() error {
	return &event.Error{Class: event.Gap, Op: "loading " + h.Aggregate, Err: h, Hint: "its events were removed, or written by something that does not read before it writes"}
}
