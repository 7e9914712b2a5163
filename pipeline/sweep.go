package pipeline

import (
	"context"
	"maps"
	"strings"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/sinks"
)

// sweepJob is how the claims of sweepers begin, by which they are told from an
// operator's.
const sweepJob = "sweep/"

// firstSweep is when a worker sweeps first: what a predecessor left is seen to
// soon, and a worker that is restarted time and again does not begin with it.
const firstSweep = 15 * time.Second

// listCall bounds the listing of a sink's markers, which may be many.
const listCall = time.Minute

// mostPause is the longest time between two looks for a missing version.
const mostPause = time.Hour

// sweeper ends the blocks of one lane's sink that need no operator:
//
//   - a marker that the position has passed is healed. A worker without the fix,
//     or one that woke up late, can write it after one with the fix has gone by;
//   - a block of class gap is redriven once the missing version is there.
//
// Every worker sweeps. Claims exclude each other by their generation, and to
// heal twice is to heal once. What a worker believes of markers is left alone:
// loading them all would spare attempts and nothing else.
type sweeper struct {
	*lane
	looks   map[string]look      // for missing versions, by the block's id
	claims  map[string]time.Time // of sweepers, by generation: when each was seen first
	foreign map[string]bool      // rows that cannot be read
}

// look is when a missing version is asked for again.
type look struct {
	pause time.Duration // since the last one
	next  time.Time
}

// sweep sweeps until ctx ends, at intervals and when a version arrives that an
// aggregate is blocked for.
func (l *lane) sweep(ctx context.Context) {
	s := &sweeper{lane: l, looks: map[string]look{}, claims: map[string]time.Time{}, foreign: map[string]bool{}}
	wait := min(firstSweep, l.w.opts.Sweep)
	for n := 0; ; n++ {
		if !l.awaitSweep(ctx, l.w.opts.Jitter.Around(wait, l.w.opts.Worker+"/sweep/"+l.sink.Name, n)) {
			return
		}
		wait = l.w.opts.Sweep
		for try := 0; ; try++ {
			err := s.once(ctx)
			if err == nil {
				break
			}
			if !l.w.again(ctx, "sweep/"+l.sink.Name, try, err) {
				return
			}
		}
	}
}

// awaitSweep waits for the time of a sweep, or for an arrival. It reports
// whether to sweep.
func (l *lane) awaitSweep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-l.arrivals:
	}
	return ctx.Err() == nil
}

// once makes one pass over the markers that stand.
func (s *sweeper) once(ctx context.Context) error {
	arrived := s.takeArrived()
	call, cancel := context.WithTimeout(ctx, listCall)
	markers, foreign, err := s.w.opts.Markers.Standing(call, s.scope())
	cancel()
	if err != nil {
		s.arrive(arrived)
		return err
	}
	s.tellForeign(foreign)
	s.knowHoles(markers)
	if markers, err = s.heal(ctx, markers); err != nil {
		s.arrive(arrived)
		return err
	}
	return s.fillHoles(ctx, markers, arrived)
}

// heal ends the markers that the position has passed and returns the others.
func (s *sweeper) heal(ctx context.Context, markers []failure.Marker) ([]failure.Marker, error) {
	var left []failure.Marker
	for len(markers) > 0 {
		some := markers[:min(len(markers), sinks.MaxPositions)]
		markers = markers[len(some):]
		aggregates := make([]string, len(some))
		for i, m := range some {
			aggregates[i] = m.Key.Aggregate
		}
		positions, err := s.askEach(ctx, aggregates)
		if err != nil {
			return nil, err
		}
		for i, m := range some {
			if positions[i].Version < m.SeenVersion {
				left = append(left, m)
				continue
			}
			if err := s.passed(ctx, m.Key, positions[i].Version); err != nil {
				return nil, err
			}
			s.free(m.Key.Aggregate)
		}
	}
	return left, nil
}

// askEach reads positions, each by itself where one of them cannot be read:
// that one counts as not begun, which heals nothing.
func (s *sweeper) askEach(ctx context.Context, aggregates []string) ([]event.Position, error) {
	positions, err := s.positions(ctx, aggregates)
	if err == nil || !ownFault(err) {
		return positions, err
	}
	positions = make([]event.Position, len(aggregates))
	for i, aggregate := range aggregates {
		one, err := s.positions(ctx, []string{aggregate})
		switch {
		case err == nil:
			positions[i] = one[0]
		case !ownFault(err):
			return nil, err
		}
	}
	return positions, nil
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
	if err == nil && len(events) == 0 {
		look.pause = min(max(2*look.pause, s.w.opts.Sweep), max(mostPause, s.w.opts.Sweep))
		look.next = time.Now().Add(look.pause)
		s.looks[m.BlockID] = look
	}
	return len(events) > 0, err
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
		Cause: func(err error, e event.Event, at time.Time) failure.Cause {
			eventType := ""
			if e.Layout != nil { // else the event is missing, and has none
				eventType, _ = e.Type() // the cause says what is wrong with it
			}
			return failure.CauseOf(err, s.sink.Name, eventType, 1, at, at)
		},
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
	now := time.Now()
	s.settle(s.window.Done(now, aggregate, event.Outcome{}, now))
	s.wakeup()
}

// free lets an aggregate go on that the window holds back as a blocked one.
func (s *sweeper) free(aggregate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holes, aggregate)
	s.window.Unblock(aggregate)
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

// awaitHole has the lane look out for the version that a block is due to.
func (l *lane) awaitHole(aggregate string, version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holes[aggregate] = version
}

// knowHoles has the lane know which versions blocks wait for.
func (s *sweeper) knowHoles(markers []failure.Marker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range markers {
		if m.Cause.Class == event.Gap.String() {
			s.holes[m.Key.Aggregate] = m.BlockedVersion
		}
	}
}

// tellArrivals wakes the sweeper.
func (l *lane) tellArrivals() {
	select {
	case l.arrivals <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *sweeper) takeArrived() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrived := s.arrived
	s.arrived = map[string]bool{}
	return arrived
}

// arrive gives arrivals back that could not be looked into.
func (s *sweeper) arrive(arrived map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for aggregate := range arrived {
		s.arrived[aggregate] = true
	}
}

// tellForeign logs markers that cannot be read, each until it can.
func (s *sweeper) tellForeign(rows []failure.Foreign) {
	foreign := make(map[string]bool, len(rows))
	for _, f := range rows {
		if foreign[f.Row] = true; !s.foreign[f.Row] {
			s.w.opts.Log.Error().Str("sink", s.sink.Name).Str("row", f.Row).Str("reason", f.Reason).
				Msg("a marker is damaged, or of another build; nothing of this build ends it")
		}
	}
	s.foreign = foreign
}
