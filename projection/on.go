package projection

import (
	"fmt"

	"millrace/event"
)

// On is a fold's table of handlers by event type. Its Apply method is a
// Fold's Apply: a type without a handler is refused.
type On[S any] map[string]func(state S, e event.Event) (S, error)

// Apply hands the event to the handler of its type.
func (on On[S]) Apply(state S, e event.Event) (S, error) {
	kind, err := e.Type()
	if err != nil {
		return state, err
	}
	handle := on[kind]
	if handle == nil {
		return state, UnknownType(e)
	}
	next, err := handle(state, e)
	if err != nil {
		return state, fmt.Errorf("applying %s: %w", kind, err)
	}
	return next, nil
}

// UnknownType is the permanent error for an event whose type a fold does not
// know.
func UnknownType(e event.Event) error {
	kind, err := e.Type()
	if err != nil {
		return err
	}
	return &event.Error{
		Class: event.Permanent,
		Op:    "choosing how to fold",
		Err:   fmt.Errorf("event type %q is unknown to the fold", kind),
		Hint:  "add this type to the fold, to be applied or to be ignored",
	}
}
