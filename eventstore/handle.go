package eventstore

import (
	"context"
	"errors"
	"fmt"

	"millrace/internal/jitter"
)

// DefaultTries is how often Handle decides when others keep winning the race.
const DefaultTries = 5

// Command is what somebody wants of one aggregate.
type Command[S any] struct {
	// Aggregate is the aggregate's id. Required.
	Aggregate string
	// Fold makes the state that Decide sees. Required.
	Fold Fold[S]
	// Decide says which events the command leads to in a state, none when
	// there is nothing to do. Its error is the rule's refusal. It is called
	// again after a lost race, so it must be pure, and must not change the
	// state. Required.
	Decide func(state S) ([]NewEvent, error)
	// Snapshots spare the load of a long aggregate's early events. Nil: none are
	// read or written.
	Snapshots *Snapshots[S]
	// Unsaved is told why a snapshot could not be saved, which fails nothing.
	Unsaved func(error)
	// Tries is how often to load, decide and append. Default DefaultTries.
	Tries int
}

// Handle loads an aggregate, decides and appends. After a lost race it starts
// anew, at most Tries times in all. It returns the state with the new events
// folded in and the version it stands for, so that the caller reads its own
// write without a read.
//
// Errors: *Refusal for the rule's no, *Conflict when every race was lost,
// and what Load and Append return. A new event that Fold refuses is not
// appended.
func Handle[S any](ctx context.Context, s *Store, c Command[S]) (S, uint64, error) {
	var none S
	tries := c.Tries
	if tries <= 0 {
		tries = DefaultTries
	}
	for n := 1; ; n++ {
		state, version, id, err := handleOnce(ctx, s, c)
		var conflict *Conflict
		if err == nil {
			return state, version, nil
		}
		if !errors.As(err, &conflict) {
			return none, 0, err
		}
		if n == tries {
			return none, 0, fmt.Errorf("handling a command %d times: %w", n, err)
		}
		// Those who lost together would meet again at once.
		if stopped := jitter.Sleep(ctx, s.jitter.Backoff(s.budget.Base, s.budget.Cap, "handle|"+id, n-1)); stopped != nil {
			return none, 0, fmt.Errorf("handling a command again after %w: %w", err, stopped)
		}
	}
}

// handleOnce also returns the append's id, which tells its waits apart.
func handleOnce[S any](ctx context.Context, s *Store, c Command[S]) (state S, version uint64, id string, err error) {
	state, version, err = c.load(ctx, s)
	if err != nil {
		return state, version, "", err
	}
	events, err := c.Decide(state)
	if err != nil {
		return state, version, "", &Refusal{Aggregate: c.Aggregate, Version: version, Err: err}
	}
	if len(events) == 0 {
		return state, version, "", nil
	}
	p, err := s.plan(c.Aggregate, version, events)
	if err != nil {
		return state, version, "", err
	}
	// Before the append: an event that cannot be folded must never stand.
	for _, e := range p.events {
		if state, err = c.Fold(state, e); err != nil {
			return state, version, p.id, invalid(p.op(), fmt.Errorf("folding the new version %d: %w", e.Version, err))
		}
	}
	if err := s.commit(ctx, p); err != nil {
		return state, p.last(), p.id, err
	}
	c.save(ctx, s, version, p.last(), state)
	return state, p.last(), p.id, nil
}

func (c Command[S]) load(ctx context.Context, s *Store) (S, uint64, error) {
	if c.Snapshots == nil {
		return Load(ctx, s, c.Aggregate, c.Fold)
	}
	return LoadFrom(ctx, s, c.Aggregate, c.Fold, *c.Snapshots)
}

// save saves a snapshot when it is time for one. The events stand whatever
// becomes of it.
func (c Command[S]) save(ctx context.Context, s *Store, before, version uint64, state S) {
	if c.Snapshots == nil {
		return
	}
	snapshots, err := c.Snapshots.checked(s.layout)
	if err == nil {
		err = snapshots.save(ctx, s, c.Aggregate, before, version, state)
	}
	if err != nil && c.Unsaved != nil {
		c.Unsaved(err)
	}
}
