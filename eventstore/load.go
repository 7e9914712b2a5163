package eventstore

import (
	"context"
	"errors"
	"fmt"

	"millrace/event"
)

// Fold adds one event to a state and returns the state after it. It must be
// pure: no clock, no I/O, the same answer each time. It may change the state
// it is given.
type Fold[S any] func(state S, e event.Event) (S, error)

// Load folds all events of an aggregate, from the zero state on, and returns
// the state with the version it stands for: 0 for an aggregate without
// events. Every version is demanded: one that is missing below the newest is
// a *Hole, and no state is returned. Memory is bounded by one page.
func Load[S any](ctx context.Context, s *Store, aggregate string, fold Fold[S]) (S, uint64, error) {
	var zero S
	return loadAfter(ctx, s, aggregate, fold, zero, 0)
}

// errAhead: a state is ahead of the events.
var errAhead = errors.New("the event store does not have the version of the snapshot")

// loadAfter folds the events after a version into the state at that version.
// The event of that version is read too: where it is missing the state tells
// of a past that the table does not have, after a restore for example, and the
// error is errAhead.
func loadAfter[S any](ctx context.Context, s *Store, aggregate string, fold Fold[S], state S, version uint64) (S, uint64, error) {
	var none S
	add := func(e event.Event) (err error) {
		if state, err = fold(state, e); err != nil {
			return fmt.Errorf("folding version %d of %s: %w", e.Version, aggregate, err)
		}
		version = e.Version
		return nil
	}
	from, proved := max(version, 1), version == 0
	err := s.each(ctx, aggregate, from, Newest, true, func(page []event.Event) error {
		if !proved {
			if page[0].Version != version {
				return errAhead
			}
			page, proved = page[1:], true
		}
		for _, e := range page {
			if err := s.fill(ctx, aggregate, version+1, e.Version, add); err != nil {
				return err
			}
			if err := add(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !proved {
		err = errAhead
	}
	if err != nil {
		return none, 0, err
	}
	return state, version, nil
}

// fill reads the versions from..before-1, which a range did not show, and adds
// them. It asks in steps, so that a huge hole costs one read.
func (s *Store) fill(ctx context.Context, aggregate string, from, before uint64, add func(event.Event) error) error {
	for from < before {
		var versions []uint64
		for v := from; v < before && len(versions) < MaxTransactionItems; v++ {
			versions = append(versions, v)
		}
		present, err := s.Confirm(ctx, aggregate, versions)
		if err != nil {
			return err
		}
		for i, v := range versions {
			if i == len(present) || present[i].Version != v {
				return (&Hole{Aggregate: aggregate, Version: v}).classed()
			}
			if err := add(present[i]); err != nil {
				return err
			}
		}
		from += uint64(len(versions))
	}
	return nil
}
