package watermill

import (
	"context"
	"fmt"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/sinks"
)

// Sink publishes events. It is safe for concurrent use as sinks.Sink says.
type Sink struct {
	options Options
	memory  *memory
}

var (
	_ sinks.Sink     = (*Sink)(nil)
	_ sinks.Beginner = (*Sink)(nil)
)

// Apply publishes the events of each run, one run after the other. An error of
// the publisher is of class Unknown unless it is an *event.Error or comes of
// the call's own context; a panic of the publisher or of Marshal is Permanent.
func (s *Sink) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	outcomes := make([]event.Outcome, len(runs))
	for i, run := range runs {
		outcomes[i] = s.apply(ctx, run)
	}
	return outcomes
}

func (s *Sink) apply(ctx context.Context, run event.Run) event.Outcome {
	base, err := s.base(ctx, run)
	switch {
	case err != nil:
		return stands(run.After.Version, err)
	case base.row < run.After.Version, base.row >= run.Last().Version:
		return stands(base.row, nil)
	}
	now, failed := s.publish(ctx, run, base)
	if now.recorded() {
		s.memory.doubt(run.Aggregate)
		return stands(now.row, failed)
	}
	s.memory.put(run.Aggregate, now)
	if err := ctx.Err(); err != nil {
		// A move that nobody waits for would make the position unknown.
		return stands(now.row, &event.Error{Class: event.ClassOf(err), Op: "publishing events of " + run.Aggregate, Err: context.Cause(ctx)})
	}
	return s.record(ctx, run, now, failed)
}

// base finds where the row stands, and what of the run was accepted already.
// What this worker wrote last is believed, unless the run says otherwise;
// anything else is read: a fill, a failover or a redrive may have let somebody
// else go on from there.
func (s *Sink) base(ctx context.Context, run event.Run) (progress, error) {
	known, ok := s.memory.get(run.Aggregate)
	if ok && !run.Recheck && known.recorded() && known.row == run.After.Version {
		return known, nil
	}
	read, err := s.options.Positions.Positions(ctx, s.options.Identity, []string{run.Aggregate})
	if err != nil {
		return progress{}, err
	}
	row := read[0].Version
	if row < known.row { // it was moved back: everything goes out again
		s.memory.forget(run.Aggregate)
		return progress{row: row, sent: row}, nil
	}
	return progress{row: row, sent: max(row, known.sent)}, nil
}

// publish sends what was not accepted before, up to the first failure.
func (s *Sink) publish(ctx context.Context, run event.Run, p progress) (progress, error) {
	for _, e := range run.Events {
		if e.Version <= p.sent {
			continue
		}
		if err := s.send(ctx, e); err != nil {
			return p, err
		}
		p.sent = e.Version
	}
	return p, nil
}

// record moves the row over what was accepted. failed is why nothing more was.
//
// Where somebody else has moved the row into what this worker sent, all up to
// there is out twice and all behind it once: the row is moved on from there.
func (s *Sink) record(ctx context.Context, run event.Run, p progress, failed error) event.Outcome {
	alone := true
	for p.row < p.sent {
		to := event.Position{Version: p.sent}
		found, err := s.options.Positions.Move(ctx, s.options.Identity, run.Aggregate, event.Position{Version: p.row}, to)
		switch {
		case awsclient.Unanswered(err):
			return event.Outcome{Err: err}
		case err != nil:
			return stands(p.row, err)
		case found.Version <= p.row:
			s.memory.forget(run.Aggregate)
			err := fmt.Errorf("the position of %s fell from %d to %d", run.Aggregate, p.row, found.Version)
			return stands(found.Version, &event.Error{Class: event.Transient, Op: "moving a position", Err: err})
		}
		alone = alone && found == to
		p.row = found.Version
	}
	if failed == nil && alone {
		s.memory.put(run.Aggregate, p)
	} else {
		s.memory.forget(run.Aggregate)
	}
	return stands(p.row, failed)
}

// stands is the outcome of a run whose aggregate's row holds a position.
func stands(row uint64, err error) event.Outcome {
	return event.Outcome{Position: event.Position{Version: row}, Known: true, Err: err}
}

// Positions reads the positions of up to sinks.MaxPositions aggregates,
// consistently. Who asks is in doubt: the next run of each reads its row again.
func (s *Sink) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	for _, aggregate := range aggregates {
		s.memory.doubt(aggregate)
	}
	return s.options.Positions.Positions(ctx, s.options.Identity, aggregates)
}

// Begin has an aggregate without a position begin after one, as
// sinks.Beginner says.
func (s *Sink) Begin(ctx context.Context, aggregate string, at event.Position) (event.Position, error) {
	s.memory.doubt(aggregate)
	return s.options.Positions.Move(ctx, s.options.Identity, aggregate, event.Position{}, at)
}

// Close closes the publisher, which flushes what it holds.
func (s *Sink) Close(context.Context) (err error) {
	defer event.Catch(&err)
	if err := s.options.Publisher.Close(); err != nil {
		return fmt.Errorf("closing the publisher: %w", err)
	}
	return nil
}
