package projection

import (
	"errors"
	"fmt"
	"time"

	"millrace/event"
)

// Fold is a projection in Go, for a state of your own type. Its functions are
// pure and safe for concurrent use; the zero S is the state before version 1.
type Fold[S any] struct {
	// Apply returns the state after an event. Its errors are permanent unless
	// they carry a class; ErrDeleted deletes the aggregate. It must refuse event
	// types that it does not know (see On and UnknownType): a fold that passes
	// over them makes a read model that is wrong and looks right. Required.
	Apply func(state S, e event.Event) (S, error)
	// Encode writes the state as attributes: the same ones for the same state,
	// and none that Decode does not read. DeletedAt is not the fold's to write.
	// Required.
	Encode func(state S) (event.Item, error)
	// Decode reads back what Encode wrote. It copies what Apply will change,
	// passes over attributes that Encode does not write, and makes the zero S of
	// an item that has none of them. Required.
	Decode func(item event.Item) (S, error)
	// Schema is the newest version of an event's shape that Apply knows; 0 means
	// 1. An event of a newer one is refused with class event.Schema. What stands
	// under older versions is for Apply to tell apart (event.Event.Schema).
	Schema uint64
	// Ignore lists event types that move the position and have no effect.
	Ignore []string
}

// ErrDeleted is what Apply returns for the event that deletes its aggregate.
// Should the aggregate live on, its next event meets the zero state.
var ErrDeleted = errors.New("the aggregate is deleted")

// New makes a projection of a fold. It refuses a fold that lacks a function.
func New[S any](fold Fold[S]) (Projection, error) {
	if fold.Apply == nil || fold.Encode == nil || fold.Decode == nil {
		return nil, errors.New("a fold needs Apply, Encode and Decode")
	}
	ignored := make(map[string]bool, len(fold.Ignore))
	for _, kind := range fold.Ignore {
		ignored[kind] = true
	}
	return &projection[S]{fold: fold, ignored: ignored}, nil
}

// projection is a fold behind the face that sinks see.
type projection[S any] struct {
	fold    Fold[S]
	ignored map[string]bool
}

func (p *projection[S]) Start(item event.Item) (State, error) {
	s := &state[S]{projection: p, deletedAt: item[DeletedAt]}
	if s.deletedAt != nil || len(item) == 0 {
		return s, nil
	}
	var err error
	if s.value, err = p.decode(item); err != nil {
		return nil, permanent("decoding a stored state", err)
	}
	return s, nil
}

func (p *projection[S]) decode(item event.Item) (value S, err error) {
	defer event.Catch(&err)
	return p.fold.Decode(item)
}

// state is one aggregate of type S in the course of being folded.
type state[S any] struct {
	*projection[S]
	value     S
	deletedAt event.Value // nil while the aggregate lives
}

func (s *state[S]) Apply(e event.Event) error {
	if err := s.apply(e); err != nil {
		return permanent(fmt.Sprintf("folding version %d of %s", e.Version, e.Aggregate), err)
	}
	return nil
}

func (s *state[S]) apply(e event.Event) (err error) {
	defer event.Catch(&err)
	if len(s.ignored) > 0 {
		kind, err := e.Type()
		if err != nil {
			return err
		}
		if s.ignored[kind] {
			return nil
		}
	}
	if err := s.readable(e); err != nil {
		return err
	}
	next, err := s.fold.Apply(s.value, e)
	if errors.Is(err, ErrDeleted) {
		return s.delete(e)
	}
	if err != nil {
		return err
	}
	s.value, s.deletedAt = next, nil
	return nil
}

// readable refuses an event whose shape the fold does not know: to read it as an
// older one would give a wrong item and no error.
func (s *state[S]) readable(e event.Event) error {
	shape, err := e.Schema()
	if err != nil || shape <= max(s.fold.Schema, 1) {
		return err
	}
	return &event.Error{
		Class: event.Schema, Op: "choosing how to fold",
		Err:  fmt.Errorf("schema version %d is newer than the fold's %d", shape, max(s.fold.Schema, 1)),
		Hint: "a newer release may know it",
	}
}

func (s *state[S]) delete(e event.Event) error {
	at, err := e.Time()
	if err != nil {
		return err
	}
	var zero S
	s.value, s.deletedAt = zero, event.Null{}
	if !at.IsZero() {
		s.deletedAt = event.String(at.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func (s *state[S]) Item() (event.Item, error) {
	if s.deletedAt != nil {
		return event.Item{DeletedAt: s.deletedAt}, nil
	}
	item, err := s.encode()
	if err == nil && item[DeletedAt] != nil {
		err = errWritesDeletedAt
	}
	if err != nil {
		return nil, permanent("encoding a state", err)
	}
	return item, nil
}

func (s *state[S]) encode() (item event.Item, err error) {
	defer event.Catch(&err)
	return s.fold.Encode(s.value)
}

// permanent says what was being done. A fold is pure: what failed once will
// fail again, unless the fold itself says otherwise.
func permanent(op string, err error) error {
	class := event.ClassOf(err)
	if class == event.Unknown {
		class = event.Permanent
	}
	return &event.Error{Class: class, Op: op, Err: err}
}

var errWritesDeletedAt = errors.New("a fold must not write attribute " + DeletedAt + ": return ErrDeleted instead")
