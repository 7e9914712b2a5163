package pipeline

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/jitter"
	"millrace/reorder"
)

// Worker runs one pipeline in one process. It is good for one Run.
type Worker struct {
	opts     Options
	counters counters
	started  time.Time
	lanes    []*lane
	sinkIDs  []string      // name@version, sorted
	kicked   chan struct{} // the keeper has something to look at
	gate     *gate
	strays   *strays
	notices  notices
	keeping  pulse
	listed   atomic.Int64 // when the lease rows were read last, in nanoseconds
	unowned  atomic.Int64 // shards that nobody reads and somebody could; below 0: unknown

	mu       sync.Mutex
	shards   []*shard // in the order in which they were taken
	handles  reorder.Shard
	failure  error // why the worker cannot go on
	halt     context.CancelCauseFunc
	violated map[string]bool // aggregates whose violations were logged
}

// NewWorker checks the options.
func NewWorker(o Options) (*Worker, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Worker{
		opts: o, started: time.Now(), kicked: make(chan struct{}, 1), gate: newGate(),
		halt: func(error) {}, violated: map[string]bool{},
	}
	w.unowned.Store(-1)
	w.strays = newStrays(w)
	for i, s := range o.Sinks {
		w.sinkIDs = append(w.sinkIDs, s.id())
		w.lanes = append(w.lanes, newLane(w, i))
	}
	slices.Sort(w.sinkIDs)
	return w, nil
}

// Run works until ctx ends, then drains: nothing more is fetched, what is
// under way is settled, checkpoints are written and leases released, all
// within Options.Drain. It returns nil after a stop, and otherwise why it
// could not go on, or ErrLeasesLeft.
//
// The end of abort cuts everything short, as a crash would: nothing is written
// any more, and the leases are left to expire, which is ErrLeasesLeft too. What
// was drained before it is not cut.
func (w *Worker) Run(ctx, abort context.Context) error {
	// Three contexts, each the parent of the one before: what fetches stops
	// first, then the calls of the lanes, and the writes to the lease rows last.
	writes, endWrites := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endWrites(errStopping)
	calls, endCalls := context.WithCancelCause(writes)
	defer endCalls(errStopping)
	fetch, endFetch := context.WithCancelCause(calls)
	defer endFetch(errStopping)
	defer context.AfterFunc(ctx, func() { endFetch(errStopping) })()
	defer context.AfterFunc(abort, func() { endWrites(errStopping) })()
	w.mu.Lock()
	w.halt = endFetch
	w.mu.Unlock()

	var lanes, shards sync.WaitGroup
	for _, l := range w.lanes {
		l.start(calls, &lanes)
	}
	if w.opts.Markers != nil {
		for _, l := range w.lanes {
			lanes.Go(func() { l.sweep(fetch) })
		}
	}
	lanes.Go(func() { w.strays.run(calls) })
	newKeeper(w).run(fetch, func(seen checkpoint.Lease) error {
		s, err := w.grant(writes, seen)
		if err != nil {
			return err
		}
		shards.Go(s.read)
		shards.Go(func() { s.keepLease(writes) })
		return nil
	})

	for _, s := range w.held() {
		s.stopReading(errStopping)
	}
	deadline := time.AfterFunc(w.opts.Drain, func() { endWrites(errStopping) })
	defer deadline.Stop()
	w.drain(calls)
	for _, l := range w.lanes {
		l.stop()
	}
	endCalls(errStopping)
	returned := w.returned(&lanes)
	if !returned {
		// A sink that does not give up its call may still be writing. Its lease
		// is not released while it does; it expires.
		w.opts.Log.Error().Msg("a sink does not return from a call that was cancelled; leases are left to expire")
		endWrites(errStopping)
	}
	held := w.held()
	for _, s := range held {
		s.release()
	}
	shards.Wait()
	if returned { // a sink is closed only when no call of it is under way
		w.closeSinks(context.WithoutCancel(ctx))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return w.failure
	}
	return unreleased(held, returned, abort.Err() != nil)
}

// drain waits until everything that was read is settled, or until the drain's
// time is up but for what the last writes need.
func (w *Worker) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(w.opts.Drain-3*w.opts.Call, w.opts.Drain/2))
	defer cancel()
	for _, s := range w.held() {
		if s.await(ctx, s.drained) != nil {
			w.opts.Log.Warn().Stringer("shard", s.key).Msg("not everything is settled; the rest will be read again")
		}
	}
}

// returned waits for the lanes to return, for as long as one call may take.
func (w *Worker) returned(lanes *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		lanes.Wait()
		close(done)
	}()
	timer := time.NewTimer(w.opts.Call)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (w *Worker) closeSinks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Call)
	defer cancel()
	for _, s := range w.opts.Sinks {
		if err := s.Sink.Close(ctx); err != nil {
			w.opts.Log.Error().Str("sink", s.Name).Err(err).Msg("closing a sink failed")
		}
	}
}

// instant is now on both of the machine's clocks.
func (w *Worker) instant() checkpoint.Instant { return checkpoint.At(w.started, time.Now()) }

// fail ends the worker: it drains, and Run returns the error.
func (w *Worker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = err
		w.halt(errStopping)
	}
}

// kick has the keeper look at the leases now.
func (w *Worker) kick() {
	select {
	case w.kicked <- struct{}{}:
	default: // it will look anyway
	}
}

// again waits before a call is repeated and reports whether to.
func (w *Worker) again(ctx context.Context, name string, try int, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	w.counters.retries.Add(1)
	w.tellCall(name, try, err)
	base, limit := 50*time.Millisecond, 2*time.Second
	if lastingCall(err) {
		base, limit = time.Second, 30*time.Second
	}
	return jitter.Sleep(ctx, w.opts.Jitter.Backoff(base, limit, w.opts.Worker+"/"+name, try)) == nil
}

// tellCall logs a call that failed and will be repeated, at first and ever more
// seldom: at once when it will not go away by itself, and otherwise when it has
// not gone away. A worker whose every call fails must not look like one that
// has nothing to do.
func (w *Worker) tellCall(name string, try int, err error) {
	switch {
	case w.tellMissing(err):
	case try&(try-1) != 0:
	case lastingCall(err):
		w.opts.Log.Error().Str("call", name).Int("try", try+1).Err(err).Msg("a call fails and will be repeated")
	case try >= 8:
		w.opts.Log.Warn().Str("call", name).Int("try", try+1).Err(err).Msg("a call still fails and will be repeated")
	}
}

// lastingCall reports whether repeating a call soon is no use.
func lastingCall(err error) bool {
	class := event.ClassOf(err)
	return class != event.Transient && class != event.Stopping
}

// violation counts and shows a change of an event item, which an event store
// must never make.
func (w *Worker) violation(s *shard, r *event.Record, e event.Event) {
	if r.Change == event.Remove {
		w.counters.removed.Add(1)
	} else {
		w.counters.modified.Add(1)
	}
	w.mu.Lock()
	first := !w.violated[e.Aggregate] && len(w.violated) < 10_000
	if first {
		w.violated[e.Aggregate] = true
	}
	w.mu.Unlock()
	if first {
		w.opts.Log.Error().Stringer("shard", s.key).Str("aggregate", e.Aggregate).Uint64("version", e.Version).
			Stringer("change", r.Change).Bool("byTTL", r.Service).
			Msg("an event was changed or removed in the event store; read models keep what it was")
	}
}

// held returns the shards whose leases this worker holds.
func (w *Worker) held() []*shard {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.shards)
}
