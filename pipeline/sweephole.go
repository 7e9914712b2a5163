package pipeline

import (
	"context"
	"maps"
	"strings"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
)

// mostPause is the longest time between two looks for a missing version.
const mostPause = time.Hour

// look is when a missing version is asked for again.
type look struct {
	pause time.Duration // since the last one
	next  time.Time
}

// fillHoles redrives the blocks whose missing version is there, and takes over
// what a sweeper has left behind that was killed. One that cannot be seen to
// holds up no other.
func (s *sweeper) fillHoles(ctx context.Context, markers []failure.Marker, arrived map[string]bool) error {
	s.forgetOthers(markers)
	for _, m := range markers {
		due, err := s.due(ctx, m, arrived[m.Key.Aggregate])
		if err == nil && due {
			err = s.redrive(ctx, m)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !ownFault(err):
			return err
		case err != nil:
			s.w.opts.Log.Error().Str("sink", s.sink.Name).Str("aggregate", m.Key.Aggregate).Err(err).Msg("a blocked aggregate cannot be looked into; the next sweep tries again")
		}
	}
	return nil
}

// due reports whether a block can end by itself.
func (s *sweeper) due(ctx context.Context, m failure.Marker, arrived bool) (bool, error) {
	switch {
	case m.State == failure.Redriving && strings.HasPrefix(m.Job, sweepJob):
		if s.claims[m.Generation].IsZero() {
			s.claims[m.Generation] = time.Now()
		}
		// One that lives is done, or has changed the row, by then.
		return time.Since(s.claims[m.Generation]) >= max(s.w.opts.Sweep, time.Minute), nil
	case m.State != failure.Blocked || m.Cause.Class != event.Gap.String():
		return false, nil // it needs a fix, and an operator
	}
	look := s.looks[m.BlockID]
	if time.Now().Before(look.next) && !arrived {
		return false, nil
	}
	events, err := s.w.opts.Store.Confirm(ctx, m.Key.Aggregate, []uint64{m.BlockedVersion})
	if err != nil || len(events) > 0 {
		delete(s.looks, m.BlockID) // what cannot be redriven now is looked at by the next sweep
		return len(events) > 0, err
	}
	look.pause = min(max(2*look.pause, s.w.opts.Sweep), max(mostPause, s.w.opts.Sweep))
	look.next = time.Now().Add(look.pause)
	s.looks[m.BlockID] = look
	return false, nil
}

// forgetOthers forgets the blocks and claims that do not stand any more.
func (s *sweeper) forgetOthers(markers []failure.Marker) {
	stands := make(map[string]bool, 2*len(markers))
	for _, m := range markers {
		stands[m.BlockID], stands[m.Generation] = true, true
	}
	maps.DeleteFunc(s.looks, func(block string, _ look) bool { return !stands[block] })
	maps.DeleteFunc(s.claims, func(claim string, _ time.Time) bool { return !stands[claim] })
}

// redrive brings an aggregate back. The window has it in hand meanwhile, since
// a sink is never given two runs of one aggregate at a time.
func (s *sweeper) redrive(ctx context.Context, m failure.Marker) error {
	if vanished(m) >= sweepDeaths {
		return s.accuse(ctx, m)
	}
	if !s.seize(m.Key.Aggregate) {
		return nil // a run of it is under way, or the sink is paused: next time
	}
	defer s.giveBack(m.Key.Aggregate)
	job := redrive.Redriver{
		Markers: s.w.opts.Markers, Events: s.w.opts.Store, Sink: through{s.lane}, Job: sweepJobOf(vanished(m), s.w.opts.Worker), Jitter: s.w.opts.Jitter,
	}
	result, err := job.Redrive(ctx, m)
	if err != nil {
		return err
	}
	s.w.opts.Log.Info().Err(result.Err).Str("sink", s.sink.Name).Str("aggregate", m.Key.Aggregate).Uint64("from", result.From).Uint64("to", result.To).
		Str("outcome", string(result.Outcome)).Msg("the worker has redriven a blocked aggregate whose missing version is there now")
	if result.Outcome == redrive.Released {
		s.w.counters.healed.Add(1)
	}
	return nil
}

func (s *sweeper) seize(aggregate string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaker.since.IsZero() && s.window.Seize(aggregate, s.w.opts.Layout)
}

// giveBack has the aggregate go on from the position that the target holds by
// now. If it is blocked still, its next record finds out.
func (s *sweeper) giveBack(aggregate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holes, aggregate) // if it still waits for one, the next sweep knows
	now := time.Now()
	s.settle(s.window.Done(now, aggregate, event.Outcome{}, now))
	s.wakeup()
}

// through is the lane's sink behind the lane's own precautions.
type through struct{ *lane }

// Apply takes runs to the sink, one attempt each.
func (t through) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	outcomes := make([]event.Outcome, len(runs))
	for i, run := range runs {
		outcomes[i] = t.attempt(ctx, run)
	}
	return outcomes
}

// Positions asks the sink.
func (t through) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	return t.positions(ctx, aggregates)
}

// Close leaves the sink to the worker.
func (through) Close(context.Context) error { return nil }
