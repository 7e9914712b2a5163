package projection

import "millrace/event"

// Filter makes a projection that takes only some of an aggregate's events. The
// others move the position and change nothing: a version that was left out
// before the order was proved would look like one that is missing. passes must
// be pure and safe for concurrent use; its errors are permanent unless they
// carry a class.
func Filter(p Projection, passes func(event.Event) (bool, error)) Projection {
	return filtered{p, passes}
}

type filtered struct {
	Projection
	passes func(event.Event) (bool, error)
}

// Start starts the inner projection's state.
func (f filtered) Start(item event.Item) (State, error) {
	inner, err := f.Projection.Start(item)
	if err != nil {
		return nil, err
	}
	return filteredState{inner, f.passes}, nil
}

type filteredState struct {
	State
	passes func(event.Event) (bool, error)
}

// Apply hands on what passes.
func (s filteredState) Apply(e event.Event) error {
	ok, err := s.takes(e)
	if err != nil {
		return permanent("filtering", err)
	}
	if !ok {
		return nil
	}
	return s.State.Apply(e)
}

// takes asks the filter. Its panic is this event's failure, and not that of the
// first one of a run.
func (s filteredState) takes(e event.Event) (ok bool, err error) {
	defer event.Catch(&err)
	return s.passes(e)
}
