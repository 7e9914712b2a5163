package reorder

import (
	"slices"
	"time"

	"millrace/event"
)

// state is where an aggregate stands; doc.go draws it.
type state uint8

const (
	unseen    state = iota + 1 // its position is being read
	open                       // its position is known; nothing is ready
	queued                     // it has ready events and waits for Next
	inHand                     // a run of it is being applied
	held                       // its last run failed; nothing moves until its timer
	suspended                  // its events could be applied, were the sink not paused
	blocked                    // a marker holds it back; its records are settled by reference
)

// entry is one aggregate. It is small, because most entries are idle and
// there may be a million of them.
type entry struct {
	aggregate string
	position  uint64 // the last version in effect
	state     state
	known     bool   // position is what the target holds
	asking    bool   // it is among the unseen
	sure      uint32 // the window's tenure in which the position was heard last; 0: never
	*work            // nil when idle

	list       *list
	prev, next *entry
}

// work is what a busy aggregate has besides. Its records are slots of three
// kinds: ready (next in line, without a hole from the position on), waiting
// (behind something that is missing) and repeats (of a version that is ready
// or waiting already, which must not settle before that one).
type work struct {
	layout *event.Layout

	ready   []slot
	inHand  int    // of ready, from the front
	waiting []slot // by version
	repeats []slot

	fill lack

	seen      uint64 // of the marker: up to here records are settled by reference
	following bool   // it is among the follows, or one is under way

	// timer is the place among the timers, -1 when none; due is its time.
	timer int
	due   time.Time
}

// lack is what an aggregate misses and what was read for it from the event
// store.
type lack struct {
	at     uint64    // the first version missing; 0 when none is
	until  uint64    // the first version behind the gap when it opened
	due    time.Time // when it may be read
	wanted bool      // it is among the gaps to hand out
	out    bool      // it was handed out and is not answered
	used   bool      // a fill has contributed

	from   uint64 // the version of images[0]
	images []event.Image
}

// slot is a record, or, without a page, a version that came from the event
// store. It has no payload of its own: see payload.
type slot struct {
	version uint64
	ordinal uint64
	page    *page
}

// page is what the records of one page share. Its payloads are held until
// its last slot is settled or shed; the slots stay.
type page struct {
	shard  Shard
	first  uint64 // the ordinal of images[0]
	bytes  int
	images []event.Image // nil once let go
	slots  int           // ready or waiting
	active int           // of them, ready
	lost   bool          // its shard's lease was lost while some were in hand
}

func (p *page) inactive() {
	if p != nil {
		p.active--
	}
}

// flowing reports whether events can move on.
func (e *entry) flowing() bool { return e.state == open || e.state == queued || e.state == inHand }

// end is the last version that is ready without a hole.
func (e *entry) end() uint64 { return e.position + uint64(len(e.ready)) }

// payload finds the image of a slot; false when it was let go.
func (e *entry) payload(s slot) (event.Image, bool) {
	if s.page != nil && s.page.images != nil {
		return s.page.images[s.ordinal-s.page.first], true
	}
	if i := s.version - e.fill.from; s.version >= e.fill.from && i < uint64(len(e.fill.images)) {
		return e.fill.images[i], true
	}
	return event.Image{}, false
}

// cut takes the first n slots away. What is left moves to the front where
// that is no more work than taking was, so that the memory is used again.
func cut(slots []slot, n int) []slot {
	left := len(slots) - n
	if left > n {
		return slots[n:]
	}
	copy(slots, slots[n:])
	clear(slots[left:]) // they hold on to their pages
	return slots[:left]
}

// find is the place of a version among the waiting.
func (e *entry) find(version uint64) (at int, found bool) {
	if n := len(e.waiting); n > 0 && e.waiting[n-1].version < version {
		return n, false // mostly versions come in order, gap or not
	}
	return slices.BinarySearchFunc(e.waiting, version, func(s slot, v uint64) int {
		switch {
		case s.version < v:
			return -1
		case s.version > v:
			return 1
		}
		return 0
	})
}

// has reports whether a version is ready or waiting.
func (e *entry) has(version uint64) bool {
	if len(e.ready) > 0 && version >= e.ready[0].version && version <= e.ready[len(e.ready)-1].version {
		return true
	}
	_, found := e.find(version)
	return found
}

// insert puts a slot among the waiting; its version is not there yet.
func (e *entry) insert(s slot) {
	at, _ := e.find(s.version)
	e.waiting = slices.Insert(e.waiting, at, s)
}

// readmit makes waiting records of those repeats whose version is not at hand
// any more. A blocked aggregate's records need no payload and stay where they
// are.
func (e *entry) readmit() {
	if e.state == blocked {
		return
	}
	kept := e.repeats[:0]
	for _, s := range e.repeats {
		if e.has(s.version) {
			kept = append(kept, s)
			continue
		}
		s.page.slots++
		e.insert(s)
	}
	clear(e.repeats[len(kept):])
	e.repeats = kept
}
