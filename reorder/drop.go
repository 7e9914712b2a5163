package reorder

import (
	"slices"
	"time"
)

// Drop forgets the records of a shard whose lease was lost, and settles none
// of them. A run in hand goes on: its write is the correct next one, whoever
// makes it.
func (w *Window) Drop(now time.Time, shard Shard) {
	w.tenure++
	for e := w.busy.first; e != nil; {
		next := e.next
		w.dropFrom(now, e, shard)
		e = next
	}
}

func (w *Window) dropFrom(now time.Time, e *entry, shard Shard) {
	lost := func(slots []slot) bool {
		for _, s := range slots {
			if s.page != nil && s.page.shard == shard {
				return true
			}
		}
		return false
	}
	for _, s := range e.ready[:e.inHand] {
		if s.page != nil && s.page.shard == shard {
			s.page.lost = true // forgotten when the run comes back unapplied
		}
	}
	if !lost(e.ready[e.inHand:]) && !lost(e.waiting) && !lost(e.repeats) {
		return
	}
	w.forgetFill(e)
	if rest := e.ready[e.inHand:]; len(rest) > 0 {
		for _, s := range rest {
			s.page.inactive()
		}
		e.waiting = append(append([]slot(nil), rest...), e.waiting...)
		e.ready = e.ready[:e.inHand:e.inHand]
	}
	kept := e.waiting[:0]
	for _, s := range e.waiting {
		if s.page != nil && s.page.shard == shard {
			w.forget(s)
			continue
		}
		kept = append(kept, s)
	}
	clear(e.waiting[len(kept):])
	e.waiting = kept
	repeats := e.repeats[:0]
	for _, s := range e.repeats {
		if s.page.shard == shard {
			w.usage.Entries--
			continue
		}
		repeats = append(repeats, s)
	}
	clear(e.repeats[len(repeats):])
	e.repeats = repeats
	e.readmit()
	if e.state == queued {
		e.state = open
	}
	w.arrange(now, e)
}

// Shed lets go of payloads that nobody is about to use, oldest page first,
// until the window holds at most limit bytes or nothing more can go. What was
// let go is read from the event store when its turn comes.
func (w *Window) Shed(limit int) {
	if w.usage.Bytes <= limit {
		return
	}
	for _, p := range w.pages {
		if w.usage.Bytes > limit && p.active == 0 {
			w.letGo(p)
		}
	}
	w.sweep()
}

// unload lets a page go whose last slot has ended.
func (w *Window) unload(p *page) {
	w.letGo(p)
	// Not only from the front: one aggregate that stands still there would
	// have all the pages kept that pass it.
	if w.gone*2 > len(w.pages) {
		w.sweep()
	}
}

func (w *Window) letGo(p *page) {
	if p.images != nil {
		p.images = nil
		w.usage.Bytes -= p.bytes
		w.gone++
	}
}

func (w *Window) sweep() {
	w.pages = slices.DeleteFunc(w.pages, func(p *page) bool { return p.images == nil })
	w.gone = 0
}
