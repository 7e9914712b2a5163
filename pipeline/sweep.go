package pipeline

import (
	"context"
	"time"

	"millrace/event"
	"millrace/failure"
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
func (s *sweeper) once(ctx context.Context) (err error) {
	arrived := s.takeArrived()
	defer func() {
		if err != nil {
			s.arrive(arrived) // or their blocks would wait for the next look
		}
	}()
	call, cancel := context.WithTimeout(ctx, listCall)
	markers, foreign, err := s.w.opts.Markers.Standing(call, s.scope())
	cancel()
	if err != nil {
		return err
	}
	s.tellForeign(foreign)
	s.knowHoles(markers)
	if markers, err = s.heal(ctx, markers); err != nil {
		return err
	}
	s.mu.Lock()
	s.measures.standing = standing(markers)
	s.mu.Unlock()
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

// free lets an aggregate go on that the window holds back as a blocked one.
func (s *sweeper) free(aggregate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holes, aggregate)
	s.window.Unblock(aggregate)
	s.wakeup()
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
