package readmodel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/sinks"
)

// Sink is a read model. It is safe for concurrent use as sinks.Sink says.
type Sink struct {
	options  Options
	key      keyRule
	owner    owner
	reserved map[string]bool // attributes that no fold may write
	cache    *cache
}

var _ sinks.Sink = (*Sink)(nil)

// Apply writes each run with one conditional UpdateItem, up to
// Options.Parallel at a time. What it does not remember it reads first, all
// runs of the call together. The runs must be of different aggregates.
func (s *Sink) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	bases := s.bases(ctx, runs)
	outcomes := make([]event.Outcome, len(runs))
	slots := make(chan struct{}, s.options.Parallel)
	var all sync.WaitGroup
	for i, run := range runs {
		if bases[i].err != nil {
			outcomes[i] = event.Outcome{Position: run.After, Known: true, Err: bases[i].err}
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			outcomes[i] = s.apply(ctx, run, bases[i].held)
			<-slots
		})
	}
	all.Wait()
	return outcomes
}

// bases finds what each run is folded on.
func (s *Sink) bases(ctx context.Context, runs []event.Run) []answer {
	bases := make([]answer, len(runs))
	var unknown []string
	var places []int
	for i, run := range runs {
		if run.After.Version == 0 {
			continue // the first version is folded on nothing, which needs no read
		}
		remembered, ok := s.cache.get(run.Aggregate, run.After.Version)
		if !ok {
			unknown = append(unknown, run.Aggregate)
			places = append(places, i)
			continue
		}
		bases[i].held = remembered
	}
	for j, found := range s.read(ctx, unknown) {
		bases[places[j]] = found
	}
	return bases
}

// apply writes one run on what the target holds, or is thought to hold.
func (s *Sink) apply(ctx context.Context, run event.Run, base held) event.Outcome {
	last := run.Last().Version
	most := len(run.Events) // how many events one write takes
	conflicts := 0
	for base.position < last {
		if base.position < run.After.Version {
			s.cache.forget(run.Aggregate)
			return stands(base, nil) // whoever made the run sees that the target fell back
		}
		rest := run.Events[base.position-run.After.Version:]
		next, refused := s.fold(base, rest[:min(most, len(rest))])
		if next.position == base.position {
			return stands(base, refused)
		}
		// A call that is not made is known to have had no effect.
		if err := ctx.Err(); err != nil {
			return stands(base, &event.Error{Class: event.ClassOf(err), Op: op(run), Err: context.Cause(ctx)})
		}
		err := s.write(ctx, run.Aggregate, base, next)
		var conflict *conflictError
		switch {
		case err == nil:
			s.cache.put(run.Aggregate, next)
			base = next
			if refused != nil {
				return stands(base, refused)
			}
		case errors.As(err, &conflict):
			s.cache.forget(run.Aggregate)
			// Once more, and no oftener: whoever is so quick with this aggregate
			// has it in hand.
			if conflicts++; conflicts > 1 {
				return stands(base, &event.Error{Class: event.Transient, Op: op(run), Err: errContended})
			}
			found := s.holding(conflict.stored)
			if found.err != nil {
				return stands(base, found.err)
			}
			base = found.held
		case awsclient.Code(err) == "ValidationException" && next.position-base.position > 1:
			// The item does not take what the run makes of it; it may be too large.
			// Shorter and shorter writes find the event that is to blame.
			most = int(next.position-base.position) / 2
		case awsclient.Unanswered(err):
			s.cache.forget(run.Aggregate)
			return event.Outcome{Err: err}
		default:
			return stands(base, err)
		}
	}
	return stands(base, nil)
}

// stands is the outcome of a run whose target holds h.
func stands(h held, err error) event.Outcome {
	return event.Outcome{Position: event.Position{Version: h.position}, Known: true, Err: err}
}

func op(run event.Run) string {
	return fmt.Sprintf("applying versions %d to %d of %s", run.After.Version+1, run.Last().Version, run.Aggregate)
}

// Positions reads the positions of up to sinks.MaxPositions aggregates,
// consistently, and remembers the items it met. A position that belongs to
// another sink is an error of class Foreign, one that belongs to a newer
// version of this sink of class Superseded.
func (s *Sink) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	positions := make([]event.Position, len(aggregates))
	for i, found := range s.read(ctx, aggregates) {
		if found.err != nil && !found.placed {
			return nil, found.err
		}
		positions[i].Version = found.held.position
	}
	return positions, nil
}

// Close has nothing to release.
func (s *Sink) Close(context.Context) error { return nil }

var errContended = errors.New("others are writing this item at the same time")

func (s *Sink) classify(op string, err error) error {
	return awsclient.ClassifyAt(op, "read model's table", s.options.Table, err)
}
