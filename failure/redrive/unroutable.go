package redrive

import (
	"context"
	"fmt"

	"millrace/event"
	"millrace/failure"
)

// Items reads the event table whatever a layout makes of it.
type Items interface {
	// Item reads one item by its primary key, consistently; nil where there is
	// none.
	Item(ctx context.Context, key event.Item) (event.Item, error)
}

// Target is one of a pipeline's sinks.
type Target struct {
	Redriver *Redriver
	Key      failure.Key // of its markers; the aggregate does not matter
}

// Rerouter brings in unroutable records after the layout, or the item, was
// mended. It is safe for concurrent use with different records.
type Rerouter struct {
	Items   Items
	Layout  *event.Layout
	Targets []Target // every sink of the pipeline
	// End deletes a record's row.
	End func(ctx context.Context, u failure.Unroutable) error
	// ForgetGone ends the rows of items that are not in the table any more:
	// nobody can bring them in. Without it they stay.
	ForgetGone bool
}

// Fate is what becomes of a record that was unroutable.
type Fate string

// The fates.
const (
	Ended     Fate = "ended"            // it is an event, and in effect or on record in every sink; the row is gone
	NoEvent   Fate = "no-event"         // the layout says that it is none; the row is gone
	Still     Fate = "still-unroutable" // it has no place yet; the row stays
	Gone      Fate = "gone"             // the table does not have it; the row stays
	Forgotten Fate = "forgotten"        // likewise, and the row is gone
	Refused   Fate = "failed"           // it is an event that cannot be applied, or waits for one; the row stays
	Postponed Fate = "paused"           // the tables did not answer; the row stays
)

// Rerouted tells what became of a record.
type Rerouted struct {
	Record    failure.Unroutable
	Outcome   Fate
	Aggregate string // of the event that it is now
	Version   uint64
	Err       error // why it stays
}

// Look says what a record's item is today, and changes nothing: Ended stands
// for an event. Its error is of a read that failed.
func (r *Rerouter) Look(ctx context.Context, u failure.Unroutable) (Rerouted, error) {
	found := Rerouted{Record: u}
	item, err := r.Items.Item(ctx, u.Key)
	if err != nil {
		return found, fmt.Errorf("reading the item of an unroutable record: %w", err)
	}
	if item == nil {
		found.Outcome = Gone
		return found, nil
	}
	e, isEvent, err := r.Layout.FromItem(item)
	switch {
	case err != nil:
		found.Outcome, found.Err = Still, err
	case !isEvent:
		found.Outcome = NoEvent
	default:
		found.Outcome, found.Aggregate, found.Version = Ended, e.Aggregate, e.Version
	}
	return found, nil
}

// Reroute brings one record in. The row is deleted last, so that a reroute which
// is killed can be done again. Its error is ctx's.
func (r *Rerouter) Reroute(ctx context.Context, u failure.Unroutable) (Rerouted, error) {
	result, err := r.reroute(ctx, u)
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err != nil {
		result.Outcome, result.Err = Postponed, err
	}
	return result, nil
}

func (r *Rerouter) reroute(ctx context.Context, u failure.Unroutable) (Rerouted, error) {
	result, err := r.Look(ctx, u)
	if err != nil {
		return result, err
	}
	switch result.Outcome {
	case Still:
		return result, nil
	case Gone:
		if !r.ForgetGone {
			return result, nil
		}
		result.Outcome = Forgotten
	case Ended:
		for _, t := range r.Targets {
			failed, err := t.bring(ctx, result.Aggregate, result.Version)
			if err != nil {
				return result, err
			}
			if failed != nil {
				result.Outcome, result.Err = Refused, failed
				return result, nil //nolint:nilerr // that is the result, not a failure to come to one
			}
		}
	default:
	}
	return result, r.End(ctx, u)
}

// bring has a version in effect in one sink, with all below it in order, or on
// record in the aggregate's marker: a redrive of that brings it in then. Without
// a marker nothing is claimed; live traffic may do the same meanwhile, and the
// sink's guard lets one of them. The error failed is of an event that cannot be
// applied.
func (t Target) bring(ctx context.Context, aggregate string, version uint64) (failed, err error) {
	key := t.Key
	key.Aggregate = aggregate
	d := &drive{Redriver: t.Redriver, key: key, aggregate: aggregate, seen: version}
	verdict, _, err := d.write(ctx, failure.Follow(version))
	if err != nil || verdict.Succeeded() {
		return nil, err
	}
	position, err := d.position(ctx)
	if err != nil {
		return nil, err
	}
	_, at, err := d.apply(ctx, position)
	if err != nil || at == nil {
		return nil, err
	}
	return fmt.Errorf("version %d of %s: %w", at.event.Version, aggregate, at.err), nil
}
