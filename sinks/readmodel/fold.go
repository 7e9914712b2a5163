package readmodel

import (
	"fmt"

	"millrace/event"
)

// fold makes what the target shall hold next. With an error, which is that of
// the first event that cannot be folded, it returns what stands before that
// event.
func (s *Sink) fold(base held, events []event.Event) (held, error) {
	next, err := s.foldAll(base, events)
	if err == nil {
		return next, nil
	}
	// One by one, each from an item: a fold that failed may have left its state
	// half changed, and an item that cannot be encoded does not say since when.
	for i := range events {
		next, err := s.foldAll(base, events[i:i+1])
		if err != nil {
			return base, err
		}
		base = next
	}
	return base, nil
}

func (s *Sink) foldAll(base held, events []event.Event) (held, error) {
	state, err := s.options.Projection.Start(base.own)
	if err != nil {
		return base, err
	}
	for _, e := range events {
		if err := state.Apply(e); err != nil {
			return base, err
		}
	}
	own, err := state.Item()
	if err != nil {
		return base, err
	}
	for name := range own {
		if s.reserved[name] {
			return base, &event.Error{
				Class: event.Permanent, Op: "folding for read model " + s.options.Table,
				Err:  fmt.Errorf("the fold writes attribute %q, which is not its own", name),
				Hint: "rename the attribute, or configure another key, position or stamp",
			}
		}
	}
	return held{position: base.position + uint64(len(events)), own: own}, nil
}

// answer is what a read found for one aggregate.
type answer struct {
	held   held
	placed bool // the position is known, whatever the error says
	err    error
}

// holding takes a stored item for what it says about this sink. Only the
// fold's attributes are kept: what the fold reads out of the item is what it
// wrote.
func (s *Sink) holding(item event.Item) answer {
	position, err := s.position(item)
	if err != nil {
		return answer{err: err}
	}
	if position == 0 {
		return answer{placed: true}
	}
	found := answer{held: held{position: position}, placed: true}
	state, err := s.options.Projection.Start(item)
	if err == nil {
		found.held.own, err = state.Item()
	}
	found.err = err
	return found
}
