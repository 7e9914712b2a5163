package projection

import "millrace/event"

// Projection is a fold as sinks see it. It is immutable and safe for
// concurrent use.
type Projection interface {
	// Start makes the state that an item holds. The item may carry attributes
	// that are not the fold's (key, position, what others wrote); the fold
	// takes no notice of them. An item with none of the fold's attributes, or
	// nil, is an aggregate of which nothing was folded. Start neither changes
	// the item nor keeps anything of it that it will change.
	Start(item event.Item) (State, error)
}

// State is one aggregate in the course of being folded. It is not safe for
// concurrent use.
type State interface {
	// Apply folds the next version. After an error the state is of no more
	// use: the fold may have left it half changed.
	Apply(e event.Event) error
	// Item returns the fold's attributes and no others: those of a deleted
	// aggregate are DeletedAt alone. The item is the caller's to keep, not to
	// change.
	Item() (event.Item, error)
}

// DeletedAt is the attribute that says that an aggregate was deleted: the
// time of the deleting event in RFC 3339, or null where events have no time.
// The item stays, with its key and its position: a position that went with
// its item would let a late write bring the aggregate back.
const DeletedAt = "deletedAt"

// Deleted reports whether an item says that its aggregate was deleted.
func Deleted(item event.Item) bool { return item[DeletedAt] != nil }

// Replay folds a whole history, from version 1 on, and returns the item that
// a read model must hold at its end. The events must be one aggregate's, in
// order; an error names the version that cannot be folded.
func Replay(p Projection, events []event.Event) (event.Item, error) {
	state, err := p.Start(nil)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if err := state.Apply(e); err != nil {
			return nil, err
		}
	}
	return state.Item()
}
