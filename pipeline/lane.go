package pipeline

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"millrace/event"
	"millrace/reorder"
	"millrace/source"
)

// lane is one sink of a worker: the window that orders its events, and the
// goroutines that do what the window asks for.
type lane struct {
	w     *Worker
	sink  Sink
	index int // among the worker's sinks, in each frontier

	mu       sync.Mutex
	window   *reorder.Window
	shards   map[reorder.Shard]*shard // whose records may be settled
	trouble  troubles
	breaker  breaker
	measures measures
	effects  uint64    // runs that took effect, or a part of them
	fresh    time.Time // when records came last
	since    time.Time // when the group began, less a margin; zero until it is known
	// reserved is the room taken for pages that are being fetched.
	reserved reorder.Usage
	stopped  bool

	ready, unseen, due, room *sync.Cond
	raise                    *sync.Cond // markers are to be raised
	repair                   *sync.Cond // the sink is paused
	idle                     int        // appliers that wait for a run
	gaps                     []reorder.Gap
	alarm                    *time.Timer
	alarmAt                  time.Time
	blocks                   atomic.Int64 // generations drawn

	holes    map[string]uint64 // the versions that aggregates are blocked for, where they were missing
	arrived  map[string]bool   // aggregates whose missing version the stream has brought
	arrivals chan struct{}     // there are some
}

// learners and fillers are how many calls for positions and for gaps one lane
// has under way: enough that a cold start is not bound by one round trip.
const (
	learners = 4
	fillers  = 8
)

func newLane(w *Worker, index int) *lane {
	l := &lane{
		w: w, sink: w.opts.Sinks[index], index: index,
		shards:  map[reorder.Shard]*shard{},
		trouble: troubles{},
		holes:   map[string]uint64{}, arrived: map[string]bool{}, arrivals: make(chan struct{}, 1),
		breaker: newBreaker(), measures: newMeasures(),
	}
	order := reorder.Options{GapWait: w.opts.GapWait}
	if l.sink.FromStart {
		order.BeforeStart = l.beforeStart
	}
	l.window = reorder.New(order)
	for _, c := range []**sync.Cond{&l.ready, &l.unseen, &l.due, &l.room, &l.raise, &l.repair} {
		*c = sync.NewCond(&l.mu)
	}
	l.alarm = time.AfterFunc(time.Hour, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.alarmAt = time.Time{}
		l.due.Signal()
	})
	l.alarm.Stop()
	return l
}

// start runs the lane's goroutines in the group until stop; ctx ends the calls
// that are under way.
func (l *lane) start(ctx context.Context, group *sync.WaitGroup) {
	for range l.sink.Parallel {
		group.Go(func() { l.apply(ctx) })
	}
	for range learners {
		group.Go(func() { l.learn(ctx) })
	}
	for range fillers {
		group.Go(func() { l.fillGaps(ctx) })
	}
	for range followers {
		group.Go(func() { l.follow(ctx) })
	}
	group.Go(func() { l.tryPaused(ctx) })
}

// stop lets every goroutine return after the call it is in.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.alarm.Stop()
	for _, c := range []*sync.Cond{l.ready, l.unseen, l.due, l.room, l.raise, l.repair} {
		c.Broadcast()
	}
}

// admit lets the records of a shard be settled.
func (l *lane) admit(s *shard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shards[s.handle] = s
}

// drop forgets a shard: nothing of it is settled any more.
func (l *lane) drop(s *shard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.shards, s.handle)
	l.window.Drop(time.Now(), s.handle)
	// What stands still there is somebody else's trouble now.
	maps.DeleteFunc(l.trouble, func(aggregate string, _ *Trouble) bool { return !l.window.Holds(aggregate) })
	l.wakeup()
}

// reserve takes room for a page before it is fetched, and waits for it. A
// page that is under way must not find the budget full, and what waits behind
// gaps gives its payloads up for it.
func (l *lane) reserve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.room.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		l.window.Shed(l.w.opts.BufferBytes - l.reserved.Bytes - PageRoom)
		held := l.window.Usage()
		if held.Bytes+l.reserved.Bytes+PageRoom <= l.w.opts.BufferBytes &&
			held.Entries+l.reserved.Entries+source.MaxPageRecords <= l.w.opts.BufferEntries {
			l.reserved.Bytes += PageRoom
			l.reserved.Entries += source.MaxPageRecords
			l.room.Signal()
			return nil
		}
		l.room.Wait()
	}
}

// release gives the room back that reserve took.
func (l *lane) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreserve()
}

func (l *lane) unreserve() {
	l.reserved.Bytes -= PageRoom
	l.reserved.Entries -= source.MaxPageRecords
	l.room.Signal()
}

// offer takes in a page's events in place of the room that was reserved.
func (l *lane) offer(s *shard, bytes int, events []reorder.Offered) {
	if l.take(s, bytes, events) {
		l.tellArrivals()
	}
}

// take reports whether a version is among the events that an aggregate is
// blocked for.
func (l *lane) take(s *shard, bytes int, events []reorder.Offered) (arrived bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.holes) > 0 {
		for i := range events {
			if e := &events[i].Event; l.holes[e.Aggregate] == e.Version {
				l.arrived[e.Aggregate], arrived = true, true
			}
		}
	}
	now := time.Now()
	if len(events) > 0 {
		l.fresh = now
	}
	l.settle(l.window.Offer(now, s.handle, bytes, events))
	l.unreserve()
	l.wakeup()
	return arrived
}

// settle tells the frontiers. Records of shards that were lost are nobody's.
func (l *lane) settle(refs []reorder.Ref) {
	var ordinals []uint64
	for i := 0; i < len(refs); {
		handle := refs[i].Shard
		ordinals = ordinals[:0]
		for ; i < len(refs) && refs[i].Shard == handle; i++ {
			ordinals = append(ordinals, refs[i].Ordinal)
		}
		if s := l.shards[handle]; s != nil {
			s.settle(l.index, ordinals)
		}
	}
}

// wakeup is called after every change to the window: it wakes as many
// goroutines as there is work for.
func (l *lane) wakeup() {
	if l.breaker.shut() {
		// What is ready would keep its payloads, and with them the room that every
		// sink's reading needs.
		l.window.Suspend()
	}
	work := l.window.Work()
	for range min(work.Ready, l.idle) {
		l.ready.Signal()
	}
	if work.Unseen > 0 {
		l.unseen.Signal()
	}
	if work.Gaps {
		l.due.Signal()
	}
	if work.Follow > 0 {
		l.raise.Signal()
	}
	if !work.Next.IsZero() && (l.alarmAt.IsZero() || work.Next.Before(l.alarmAt)) {
		l.alarmAt = work.Next
		l.alarm.Reset(time.Until(work.Next))
	}
	// Whether or not anything was settled: what was in hand may be held now, and
	// can be shed. One that finds room lets the next one look.
	l.room.Signal()
}

// apply takes one run after the other to the sink.
func (l *lane) apply(ctx context.Context) {
	for {
		run, c, ok := l.next()
		if !ok {
			return
		}
		if t, block, spent := l.spent(run, c); spent {
			if block {
				l.tryToBlock(ctx, t)
			}
			continue
		}
		if t, block := l.done(ctx, run, c, l.attempt(ctx, run)); block {
			l.tryToBlock(ctx, t)
		}
	}
}

func (l *lane) next() (event.Run, call, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped {
		if run, ok := l.window.Next(l.sink.RunEvents); ok {
			c := l.breaker.admit()
			c.began = time.Now()
			if c.trial {
				l.wakeup() // the others go on waiting
			}
			return run, c, true
		}
		l.idle++
		l.ready.Wait()
		l.idle--
	}
	return event.Run{}, call{}, false
}

// done gives a run back. The trouble is to be blocked when it says so; until
// then its aggregate is held.
func (l *lane) done(ctx context.Context, run event.Run, c call, o event.Outcome) (_ Trouble, block bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.w.counters.runs.Add(1)
	l.measures.ran(len(run.Events), now.Sub(c.began), o.Err != nil)
	if o.Err == nil && !o.Known {
		o.Err = errNoAnswer
	}
	if o.Known && o.Position.Version > run.After.Version {
		l.effects++
	}
	var retry time.Time
	var t *Trouble
	if o.Err != nil {
		var wait time.Duration
		wait, t = l.pause(ctx, now, run, o)
		retry = now.Add(wait)
	} else {
		l.trouble.end(run.Aggregate)
	}
	l.settle(l.window.Done(now, run.Aggregate, o, retry))
	l.judged(now, c, verdict(ctx, o))
	held := l.window.Holds(run.Aggregate)
	if !held {
		l.trouble.end(run.Aggregate) // its shard was lost meanwhile
	}
	l.wakeup()
	if t == nil || !held || !o.Known || !l.gives(t) {
		return Trouble{}, false
	}
	t.handed = true
	return *t, true
}
