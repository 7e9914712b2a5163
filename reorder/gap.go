package reorder

import (
	"container/heap"
	"time"

	"millrace/event"
)

// Gap is a range of versions to be read from the event store, both included.
type Gap struct {
	Aggregate string
	From, To  uint64
}

// Due ends the holds whose time has come and returns the gaps that are to be
// read from the event store now; each must be answered, by Fill or Postpone.
// next is when to call again, zero when nothing is timed.
func (w *Window) Due(now time.Time) (gaps []Gap, next time.Time) {
	for len(w.timers) > 0 && !w.timers[0].due.After(now) {
		w.endHold(now, heap.Pop(&w.timers).(*entry))
	}
	for w.usage.Fills+w.asked < w.opts.FillEvents {
		e := w.gaps.pop()
		if e == nil {
			break
		}
		if e.work == nil || !e.fill.wanted {
			continue // its gap has closed since
		}
		e.fill.wanted = false
		if g, ok := e.missing(w.opts.FillEvents - w.usage.Fills - w.asked); ok {
			e.fill.out = true
			w.asked += int(g.To - g.From + 1)
			gaps = append(gaps, g)
		}
	}
	if len(w.timers) > 0 {
		next = w.timers[0].due
	}
	return gaps, next
}

// endHold lets an aggregate go on, which was held, waits for its gap's time or is
// to be followed again.
func (w *Window) endHold(now time.Time, e *entry) {
	if e.state == blocked {
		e.following = false
		w.wantFollow(e)
		return
	}
	if e.state == held {
		if !e.known {
			w.ask(e)
			return
		}
		e.state = open
	}
	w.arrange(now, e)
}

// missing is the next stretch of versions without a payload, at most limit.
func (e *entry) missing(limit int) (Gap, bool) {
	if !e.flowing() || len(e.waiting) == 0 || e.fill.out {
		return Gap{}, false
	}
	from := e.end() + 1
	to := e.waiting[0].version - 1
	for _, s := range e.waiting {
		if _, loaded := e.payload(s); loaded || s.version != to+1 || to+1-from >= uint64(limit) {
			break
		}
		to++
	}
	if to < from {
		return Gap{}, false
	}
	if n := uint64(len(e.fill.images)); n > 0 && from != e.fill.from+n {
		return Gap{}, false // an earlier fill is not applied yet, and this one does not continue it
	}
	return Gap{Aggregate: e.aggregate, From: from, To: min(to, from+uint64(limit)-1)}, true
}

// mind looks after what an aggregate lacks at its end: it opens, keeps or
// closes its gap, and says when it may be read.
func (w *Window) mind(now time.Time, e *entry) {
	f := &e.fill
	if f.until > 0 && e.end() >= f.until {
		if f.used {
			w.stats.GapsFilled++
		} else {
			w.stats.GapsArrived++
		}
		f.until = 0
	}
	if len(e.waiting) == 0 {
		f.at, f.until, f.used = 0, 0, false
		return
	}
	if at := e.end() + 1; f.at != at {
		behind := e.waiting[0].version
		switch {
		case behind == at || f.used && f.until > 0:
			// Its payload was let go, or a long gap is read page by page:
			// there is nothing to wait for.
			f.due = now
		default:
			f.due = now.Add(w.opts.GapWait)
		}
		if f.until == 0 {
			f.used = false
			if behind != at {
				f.until = behind
			}
		}
		f.at = at
	}
	switch {
	case f.out || f.wanted:
	case f.due.After(now):
		w.wake(e, f.due)
	default:
		f.wanted = true
		w.gaps.push(e)
	}
}

// Fill answers a gap with its events, all of them and in order; they may end
// before the gap does, which then goes on. Without any it is asked again after
// GapWait.
func (w *Window) Fill(now time.Time, g Gap, events []event.Event) {
	if len(events) == 0 {
		w.Postpone(now, g, now.Add(w.opts.GapWait))
		return
	}
	e := w.answered(g)
	if e == nil || !e.flowing() || len(e.waiting) == 0 {
		return // what was missing has come, or what waited for it has gone
	}
	if n := uint64(len(e.fill.images)); n > 0 && g.From != e.fill.from+n || n == 0 && g.From > e.end()+1 {
		w.arrange(now, e)
		return // what it was to continue has been forgotten meanwhile
	}
	if len(e.fill.images) == 0 {
		e.fill.from = g.From
	}
	w.usage.Fills += len(events)
	for i := range events {
		e.fill.images = append(e.fill.images, events[i].Image)
		if v := events[i].Version; v > e.end() && !e.has(v) {
			e.insert(slot{version: v})
			e.fill.used = true
		}
	}
	w.trimFill(e)
	w.arrange(now, e)
}

// Postpone gives a gap back unanswered. It is due again at a time, unless its
// records arrive before.
func (w *Window) Postpone(now time.Time, g Gap, until time.Time) {
	e := w.answered(g)
	if e == nil {
		return
	}
	e.fill.due = until
	w.arrange(now, e)
}

func (w *Window) answered(g Gap) *entry {
	w.asked -= int(g.To - g.From + 1)
	e := w.entries[g.Aggregate]
	if e == nil || e.work == nil || !e.fill.out {
		return nil
	}
	e.fill.out = false
	return e
}

// trimFill lets go of what was read for versions that are in effect.
func (w *Window) trimFill(e *entry) {
	f := &e.fill
	if len(f.images) == 0 || f.from > e.position {
		return
	}
	n := min(int(e.position-f.from)+1, len(f.images))
	w.usage.Fills -= n
	f.images = f.images[n:]
	f.from += uint64(n)
	if len(f.images) == 0 {
		f.images = nil
	}
}

// forgetFill lets go of everything that was read and not applied. Records of
// those versions that had come meanwhile take their places again.
func (w *Window) forgetFill(e *entry) {
	if len(e.fill.images) == 0 {
		return
	}
	w.usage.Fills -= len(e.fill.images)
	e.fill.images, e.fill.at = nil, 0
	for i, s := range e.ready[e.inHand:] {
		if _, loaded := e.payload(s); loaded {
			continue
		}
		rest := e.ready[e.inHand+i:]
		for _, s := range rest {
			s.page.inactive()
		}
		e.waiting = append(append([]slot(nil), rest...), e.waiting...)
		e.ready = e.ready[:e.inHand+i]
		break
	}
	kept := make([]slot, 0, len(e.waiting))
	for _, s := range e.waiting {
		if s.page != nil {
			kept = append(kept, s)
		}
	}
	e.waiting = kept
	e.readmit()
}

// wake sets the aggregate's timer.
func (w *Window) wake(e *entry, at time.Time) {
	switch {
	case e.timer < 0:
		e.due = at
		heap.Push(&w.timers, e)
	case !e.due.Equal(at):
		e.due = at
		heap.Fix(&w.timers, e.timer)
	}
}

func (w *Window) unwake(e *entry) {
	if e.timer >= 0 {
		heap.Remove(&w.timers, e.timer)
	}
}
