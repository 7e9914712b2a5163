package reorder

import (
	"time"

	"millrace/event"
)

// Follow asks that the versions of a blocked aggregate up to UpTo be put on
// the record of its marker.
type Follow struct {
	Aggregate string
	UpTo      uint64
}

// Block tells that a marker holds an aggregate back and that versions up to
// seen are on its record. From then on its records hold no payload, and are
// settled as soon as they are on record; Follows says which to put there. The
// refs returned are settled. An aggregate in hand is left alone: whoever has
// it finds out.
func (w *Window) Block(aggregate string, seen uint64) []Ref {
	w.settled = w.settled[:0]
	e := w.reach(aggregate, nil)
	if e == nil {
		return nil
	}
	if e.state != blocked {
		w.unwake(e)
		w.park(e)
		w.forgetFill(e)
		e.state = blocked
		for _, s := range e.waiting {
			s.page.slots--
			if s.page.slots == 0 {
				w.unload(s.page)
			}
		}
		e.repeats = append(e.repeats, e.waiting...)
		clear(e.waiting)
		e.waiting = e.waiting[:0]
	}
	e.seen = max(e.seen, seen)
	w.cover(e)
	return w.settled
}

// reach finds or makes an aggregate's entry, busy; nil while a run of it is in
// hand. The layout is that of an entry that had no work.
func (w *Window) reach(aggregate string, layout *event.Layout) *entry {
	e := w.entries[aggregate]
	switch {
	case e == nil:
		e = &entry{aggregate: aggregate}
		w.entries[aggregate] = e
		w.engage(e, layout)
	case e.state == inHand:
		return nil
	case e.work == nil:
		w.idle.remove(e)
		w.engage(e, layout)
	}
	return e
}

// cover settles what is on the record of the marker, and asks for the rest.
func (w *Window) cover(e *entry) {
	kept := e.repeats[:0]
	for _, s := range e.repeats {
		if s.version > e.seen {
			kept = append(kept, s)
			continue
		}
		w.usage.Entries--
		w.stats.Followed++
		w.settle(s)
	}
	clear(e.repeats[len(kept):])
	e.repeats = kept
	w.wantFollow(e)
}

func (w *Window) wantFollow(e *entry) {
	if len(e.repeats) > 0 && !e.following {
		e.following = true
		w.follows.push(e)
	}
}

// offerBlocked takes in a record of a blocked aggregate: a page's followers
// cost one write of the marker together, and no payload.
func (w *Window) offerBlocked(e *entry, s slot) {
	if s.version <= e.seen {
		w.usage.Entries--
		w.stats.Followed++
		w.settle(s)
		return
	}
	e.repeats = append(e.repeats, s)
	w.wantFollow(e)
}

// Follows takes up to limit aggregates whose markers are to be raised. Each
// must be answered by Followed.
func (w *Window) Follows(limit int) []Follow {
	var out []Follow
	for len(out) < limit {
		e := w.follows.pop()
		if e == nil {
			break
		}
		if e.work == nil || e.state != blocked || !e.following {
			continue // it is live again
		}
		if len(e.repeats) == 0 {
			e.following = false
			continue
		}
		f := Follow{Aggregate: e.aggregate}
		for _, s := range e.repeats {
			f.UpTo = max(f.UpTo, s.version)
		}
		out = append(out, f)
	}
	return out
}

// Followed answers a follow: with the seenVersion that is on record now, or
// with 0 when the marker turned out to be live, so that the aggregate goes on.
// The refs returned are settled.
func (w *Window) Followed(now time.Time, f Follow, seen uint64) []Ref {
	w.settled = w.settled[:0]
	e := w.entries[f.Aggregate]
	if e == nil || e.work == nil || e.state != blocked || !e.following {
		return nil
	}
	e.following = false
	if seen == 0 {
		w.unblock(e)
		return nil
	}
	e.seen = max(e.seen, seen)
	w.cover(e)
	return w.settled
}

// Unfollowed answers a follow that came to nothing: it is asked for again at a
// time, with what has come meanwhile.
func (w *Window) Unfollowed(f Follow, retry time.Time) {
	if e := w.entries[f.Aggregate]; e != nil && e.work != nil && e.state == blocked && e.following {
		w.wake(e, retry)
	}
}

// Unblock tells that a marker is live: the aggregate goes on from the position
// that the target holds, which is read first.
func (w *Window) Unblock(aggregate string) {
	if e := w.entries[aggregate]; e != nil && e.state == blocked {
		w.unblock(e)
	}
}

func (w *Window) unblock(e *entry) {
	w.unwake(e)
	e.seen, e.following = 0, false
	w.ask(e)
	e.readmit()
}
