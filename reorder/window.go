package reorder

import (
	"sync"
	"time"

	"millrace/event"
)

// Shard is a handle for one reading of one shard; 0 is none. A shard that is
// lost and taken again gets a new handle, so that late answers settle nothing.
type Shard uint64

// Ref names a record: a shard and the record's ordinal in it.
type Ref struct {
	Shard   Shard
	Ordinal uint64
}

// Offered is an event and the ordinal of its record.
type Offered struct {
	Event   event.Event
	Ordinal uint64
}

// Options of a Window.
type Options struct {
	// GapWait is how long missing versions may still arrive by themselves
	// before they are read from the event store. Default 500 ms.
	GapWait time.Duration
	// FillEvents bounds the events that were asked or read from the event store
	// and are not applied yet. They have room of their own, so that a gap can
	// always be closed however full the budgets are. Default 1000, one page.
	FillEvents int
	// IdleAggregates is how many idle aggregates' positions are remembered;
	// beyond it the longest idle is forgotten and read again when needed.
	// Default 1,000,000.
	IdleAggregates int
	// BeforeStart reports whether an event is older than the group, for a sink
	// that does not begin with version 1. A position at or above such an event
	// does not mean that it was applied. Nil: the sink begins with version 1.
	BeforeStart func(event.Event) bool
}

// Stats counts what a window has seen.
type Stats struct {
	Applied     uint64 // versions that positions moved over by our own runs
	Duplicates  uint64 // records whose version was applied or queued already
	BeforeStart uint64 // records whose version the sink has begun after
	GapsArrived uint64 // gaps closed by their own records
	GapsFilled  uint64 // gaps closed from the event store
	Resets      uint64 // targets that held less than they were known to hold
	Followed    uint64 // records settled by reference to a marker
}

// Usage is what a window holds.
type Usage struct {
	Bytes   int // of pages; what was read from the event store is not among them
	Entries int // records that are not settled
	Fills   int // events read from the event store and not applied
}

// Window orders the events of one sink. It is not safe for concurrent use.
// Slices of refs that its methods return are good until the next call.
type Window struct {
	opts    Options
	entries map[string]*entry
	last    *entry // of the event offered last: the next is often of the same aggregate

	busy list // entries that have records or work, in order of arrival
	idle list // entries that have only a position, longest idle first

	ready   queue
	unseen  queue
	gaps    queue
	follows queue
	// suspended are in the order in which they were, some among them that are not
	// any more.
	suspended queue
	timers    timers
	spare     sync.Pool // of *work

	pages   []*page // that may hold payloads, oldest first
	gone    int     // of them, that hold none any more
	usage   Usage
	asked   int    // events of gaps that were handed out and not answered
	tenure  uint32 // changes with each shard that was lost: others may have gone on with what was known
	stats   Stats
	settled []Ref
}

// New returns an empty window.
func New(opts Options) *Window {
	if opts.GapWait <= 0 {
		opts.GapWait = 500 * time.Millisecond
	}
	if opts.FillEvents <= 0 {
		opts.FillEvents = 1000
	}
	if opts.IdleAggregates <= 0 {
		opts.IdleAggregates = 1_000_000
	}
	return &Window{opts: opts, entries: map[string]*entry{}, tenure: 1}
}

// Holds reports whether the window has records of an aggregate.
func (w *Window) Holds(aggregate string) bool {
	e := w.entries[aggregate]
	return e != nil && e.work != nil && len(e.ready)+len(e.waiting)+len(e.repeats) > 0
}

// Lowest is the lowest version that waits for an aggregate's position, 0 when
// none does.
func (w *Window) Lowest(aggregate string) uint64 {
	e := w.entries[aggregate]
	if e == nil || e.state != unseen || len(e.waiting) == 0 {
		return 0
	}
	return e.waiting[0].version
}

// Awaits reports whether the target is known to hold all versions below one and
// nothing of the aggregate is in hand: whether that version is the next.
func (w *Window) Awaits(aggregate string, version uint64) bool {
	e := w.entries[aggregate]
	return e != nil && e.known && e.state != inHand && e.position+1 == version
}

// InHand reports whether a run of an aggregate is being applied.
func (w *Window) InHand(aggregate string) bool {
	e := w.entries[aggregate]
	return e != nil && e.state == inHand
}

// Usage tells what the window holds.
func (w *Window) Usage() Usage { return w.usage }

// Stats tells what the window has seen.
func (w *Window) Stats() Stats { return w.stats }

// Work is what the owner can do for the window now.
type Work struct {
	Ready  int       // aggregates that Next may hand out
	Unseen int       // aggregates that Unseen may hand out
	Follow int       // aggregates that Follows may hand out
	Gaps   bool      // Due has gaps to hand out
	Next   time.Time // when Due is to be called, zero when nothing is timed
}

// Work tells what there is to do.
func (w *Window) Work() Work {
	work := Work{
		Ready: w.ready.len(), Unseen: w.unseen.len(), Follow: w.follows.len(),
		Gaps: w.gaps.len() > 0 && w.usage.Fills+w.asked < w.opts.FillEvents,
	}
	if len(w.timers) > 0 {
		work.Next = w.timers[0].due
	}
	return work
}

// Offer takes in the events of one page, in the page's order; bytes is what
// the page keeps alive. The refs returned are settled: their versions were
// applied before.
func (w *Window) Offer(now time.Time, shard Shard, bytes int, events []Offered) []Ref {
	w.settled = w.settled[:0]
	if len(events) == 0 {
		return nil
	}
	first, last := events[0].Ordinal, events[len(events)-1].Ordinal
	p := &page{shard: shard, first: first, bytes: bytes, images: make([]event.Image, last-first+1)}
	for i := range events {
		o := &events[i]
		p.images[o.Ordinal-first] = o.Event.Image
		w.offer(now, slot{version: o.Event.Version, ordinal: o.Ordinal, page: p}, &o.Event)
	}
	if p.slots > 0 {
		w.pages = append(w.pages, p)
		w.usage.Bytes += bytes
	} else {
		p.images = nil // repeats only: they need no payload
	}
	return w.settled
}

func (w *Window) offer(now time.Time, s slot, ev *event.Event) {
	e := w.last
	if e == nil || e.aggregate != ev.Aggregate {
		e = w.entry(ev)
		w.last = e
	}
	if e.known && s.version <= e.position {
		if w.opts.BeforeStart != nil && w.opts.BeforeStart(*ev) {
			w.stats.BeforeStart++
		} else {
			w.stats.Duplicates++
		}
		w.settle(s)
		return
	}
	if e.work == nil {
		w.idle.remove(e)
		w.engage(e, ev.Layout)
	}
	w.usage.Entries++
	switch {
	case e.state == blocked:
		e.layout = ev.Layout
		w.offerBlocked(e, s)
	case e.flowing() && len(e.waiting) == 0 && s.version == e.end()+1:
		// The next version: on a healthy stream the only case.
		s.page.slots++
		s.page.active++
		e.ready = append(e.ready, s)
		w.enqueue(e)
	case e.has(s.version):
		w.stats.Duplicates++
		e.repeats = append(e.repeats, s)
	default:
		s.page.slots++
		e.insert(s)
		w.arrange(now, e)
	}
}

// entry finds or makes an aggregate's entry.
func (w *Window) entry(ev *event.Event) *entry {
	e := w.entries[ev.Aggregate]
	if e != nil {
		return e
	}
	e = &entry{aggregate: ev.Aggregate}
	w.entries[ev.Aggregate] = e
	w.engage(e, ev.Layout)
	if ev.Version == 1 {
		// Nothing can be applied before the first version, and where something
		// was, the sink's guard tells: no read is needed.
		e.state, e.known = open, true
	} else {
		w.ask(e)
	}
	return e
}

// engage makes an aggregate a busy one.
func (w *Window) engage(e *entry, layout *event.Layout) {
	e.work, _ = w.spare.Get().(*work)
	if e.work == nil {
		e.work = &work{timer: -1}
	}
	e.layout = layout
	w.busy.push(e)
}

// rest makes it an idle one.
func (w *Window) rest(e *entry) {
	w.unwake(e)
	*e.work = work{timer: -1, ready: e.ready[:0], waiting: e.waiting[:0], repeats: e.repeats[:0]}
	w.spare.Put(e.work)
	e.work = nil
	w.busy.remove(e)
	w.idle.push(e)
	w.forgetIdle()
}

// ask puts the aggregate among those whose position must be read.
func (w *Window) ask(e *entry) {
	e.state, e.known = unseen, false
	if !e.asking { // it may be there still, from before it was seized
		e.asking = true
		w.unseen.push(e)
	}
}

// Unseen takes up to limit aggregates whose positions must be read from the
// target. Each must be answered, by Learn or Unlearned, sooner or later.
func (w *Window) Unseen(limit int) []string {
	var out []string
	for len(out) < limit {
		e := w.unseen.pop()
		if e == nil {
			break
		}
		e.asking = false
		out = append(out, e.aggregate)
	}
	return out
}

// Learn tells the position that the target holds for an aggregate. The refs
// returned are settled.
func (w *Window) Learn(now time.Time, aggregate string, at event.Position) []Ref {
	w.settled = w.settled[:0]
	e := w.entries[aggregate]
	if e == nil || e.state != unseen {
		return nil
	}
	if at.Version < e.position { // it was known before the answer to a run was lost
		w.stats.Resets++
	}
	e.known, e.position, e.state, e.sure = true, at.Version, open, w.tenure
	before := len(e.waiting) // the repeats were counted when they came
	w.release(e)
	w.stats.Duplicates += uint64(before - len(e.waiting))
	w.arrange(now, e)
	return w.settled
}

// Unlearned answers for an aggregate whose position could not be read. It is
// among the unseen ones again at a time, or forgotten if it has no records any
// more: then nobody needs its position.
func (w *Window) Unlearned(aggregate string, retry time.Time) {
	e := w.entries[aggregate]
	switch {
	case e == nil || e.state != unseen:
	case len(e.waiting)+len(e.repeats) > 0:
		w.withhold(e, retry)
	default:
		w.busy.remove(e)
		w.forgetEntry(e)
		e.work = nil
	}
}

// Next claims the next ready aggregate and returns up to limit of its events.
// Nobody else gets that aggregate until Done.
func (w *Window) Next(limit int) (event.Run, bool) {
	for {
		e := w.ready.pop()
		if e == nil {
			return event.Run{}, false
		}
		if e.state != queued {
			continue // dropped since it was queued
		}
		e.state, e.inHand = inHand, min(len(e.ready), limit)
		run := event.Run{
			Aggregate: e.aggregate, After: event.Position{Version: e.position}, Events: make([]event.Event, e.inHand),
			Recheck: e.sure != w.tenure,
		}
		for i, s := range e.ready[:e.inHand] {
			image, _ := e.payload(s)
			// What the stream did not bring here, another shard has brought
			// somebody else.
			run.Recheck = run.Recheck || s.page == nil || s.page.images == nil
			run.Events[i] = event.Event{Aggregate: e.aggregate, Version: s.version, Image: image, Layout: e.layout}
		}
		e.sure = w.tenure // its answer tells, unless the tenure ends before it
		return run, true
	}
}

// Done gives back a claimed aggregate with the sink's answer. Where the answer
// carries an error or was lost, the aggregate is held until retry. The refs
// returned are settled.
func (w *Window) Done(now time.Time, aggregate string, o event.Outcome, retry time.Time) []Ref {
	w.settled = w.settled[:0]
	e := w.entries[aggregate]
	if e == nil || e.state != inHand {
		return nil
	}
	last := e.position + uint64(e.inHand)
	e.inHand, e.state, e.known = 0, open, o.Known
	if o.Known {
		before := e.position
		e.position = o.Position.Version
		w.release(e)
		if e.position != last {
			e.sure = 0 // somebody else has it in hand as well
		}
		if e.position < before { // the target forgot: what is at hand lies behind a gap now
			w.stats.Resets++
			w.park(e)
			w.forgetFill(e)
		} else {
			w.stats.Applied += min(e.position, last) - before
		}
	}
	if o.Err != nil || !o.Known {
		w.withhold(e, retry)
		return w.settled
	}
	w.arrange(now, e)
	return w.settled
}

// withhold keeps the aggregate from being handed out until a time. Nothing of
// it is active meanwhile: pages can be shed, and what was read from the event
// store gives up its room, which others may need.
func (w *Window) withhold(e *entry, until time.Time) {
	w.park(e)
	w.forgetFill(e)
	e.state = held
	w.wake(e, until)
}

// release settles every record at or below the position.
func (w *Window) release(e *entry) {
	n := 0
	for ; n < len(e.ready) && e.ready[n].version <= e.position; n++ {
		e.ready[n].page.inactive()
		w.forget(e.ready[n])
		w.settle(e.ready[n])
	}
	e.ready = cut(e.ready, n)
	n = 0
	for ; n < len(e.waiting) && e.waiting[n].version <= e.position; n++ {
		w.forget(e.waiting[n])
		w.settle(e.waiting[n])
	}
	e.waiting = cut(e.waiting, n)
	kept := e.repeats[:0]
	for _, s := range e.repeats {
		if s.version > e.position {
			kept = append(kept, s)
			continue
		}
		w.usage.Entries--
		w.settle(s)
	}
	clear(e.repeats[len(kept):])
	e.repeats = kept
	w.trimFill(e)
}

// forget ends a slot of the ready or waiting ones.
func (w *Window) forget(s slot) {
	if s.page == nil {
		return
	}
	w.usage.Entries--
	s.page.slots--
	if s.page.slots == 0 {
		w.unload(s.page)
	}
}

func (w *Window) settle(s slot) {
	if s.page != nil {
		w.settled = append(w.settled, Ref{Shard: s.page.shard, Ordinal: s.ordinal})
	}
}

// park moves what is ready to waiting, less the records of lost shards and
// what came from the event store. Nothing of it is in hand.
func (w *Window) park(e *entry) {
	kept := make([]slot, 0, len(e.ready)+len(e.waiting))
	for _, s := range e.ready {
		s.page.inactive()
		switch {
		case s.page == nil: // its payload is forgotten next
		case s.page.lost:
			w.forget(s)
		default:
			kept = append(kept, s)
		}
	}
	e.waiting = append(kept, e.waiting...)
	e.ready = nil
	e.readmit()
}

// arrange is called after every change to an aggregate: it makes ready what
// has become next in line, looks after what is missing, and lets an aggregate
// without work rest.
func (w *Window) arrange(now time.Time, e *entry) {
	if !e.flowing() {
		return
	}
	n := 0
	for ; n < len(e.waiting) && e.waiting[n].version == e.end()+1; n++ {
		s := e.waiting[n]
		if _, loaded := e.payload(s); !loaded {
			break
		}
		if s.page != nil {
			s.page.active++
		}
		e.ready = append(e.ready, s)
	}
	e.waiting = cut(e.waiting, n)
	w.enqueue(e)
	w.mind(now, e)
	if e.state == open && len(e.waiting)+len(e.repeats) == 0 {
		w.rest(e)
	}
}

// enqueue puts the aggregate among the ready ones when it has events.
func (w *Window) enqueue(e *entry) {
	if e.state == open && len(e.ready) > 0 {
		e.state = queued
		w.ready.push(e)
	}
}

// forgetIdle keeps the number of idle aggregates in bounds.
func (w *Window) forgetIdle() {
	for w.idle.len > w.opts.IdleAggregates {
		e := w.idle.first
		w.idle.remove(e)
		w.forgetEntry(e)
	}
}

func (w *Window) forgetEntry(e *entry) {
	delete(w.entries, e.aggregate)
	if w.last == e {
		w.last = nil
	}
}
