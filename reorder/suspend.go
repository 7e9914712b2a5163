package reorder

import "time"

// Suspend holds every ready aggregate until Resume: nobody can apply it. It
// needs no timer meanwhile, and is active in no page, so that all of it can be
// shed.
func (w *Window) Suspend() {
	for e := w.ready.pop(); e != nil; e = w.ready.pop() {
		if e.state != queued {
			continue // dropped since it was queued
		}
		w.unwake(e) // of its gap, which would end the hold
		w.park(e)
		w.forgetFill(e)
		e.state = suspended
		w.suspended.push(e)
	}
}

// Resume lets up to limit suspended aggregates go on, those first that were
// suspended first.
func (w *Window) Resume(now time.Time, limit int) {
	for limit > 0 {
		e := w.suspended.pop()
		if e == nil {
			return
		}
		if e.work == nil || e.state != suspended {
			continue // blocked since
		}
		if len(e.waiting) > 0 { // it has lost none of its shards
			limit--
		}
		e.state = open
		w.arrange(now, e)
	}
}

// Wake ends the hold of an aggregate before its time.
func (w *Window) Wake(now time.Time, aggregate string) {
	if e := w.entries[aggregate]; e != nil && e.work != nil && e.state == held {
		w.unwake(e)
		w.endHold(now, e)
	}
}
