package reorder

import (
	"fmt"
	"testing"
	"time"
)

func TestDropForgetsTheShardAlone(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a3 b1")
	s.offer(0, 2, "a2 a4 c1 c1")
	s.holds(70, 7, 0)
	s.w.Drop(moment(0), 1)
	s.holds(40, 4, 0)
	s.is("c alone is whole", s.next(9), "c1")
	s.is("not b", s.next(9), "")
	s.is("done", s.done(0, "c", 1), "2/3 2/4")
	s.is("a waits for what the next reading brings", s.due(0), "| 1000")
	s.is("which is", s.offer(500, 3, "a1 a3 b1"), "")
	s.is("next", s.next(9), "a1 a2 a3 a4")
	s.is("next", s.next(9), "b1")
	s.is("done", s.done(500, "a", 4), "3/1 2/1 3/2 2/2")
	s.is("done", s.done(500, "b", 1), "3/3")
	s.holds(0, 0, 0)
}

// A record that was a repeat of a lost one takes its place, and its page is
// kept until the page's other records are done as well.
func TestDropPromotesRepeats(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1")
	s.offer(0, 2, "a1 b5")
	s.holds(30, 3, 0)
	s.w.Drop(moment(0), 1)
	s.holds(20, 2, 0)
	s.is("next", s.next(9), "a1")
	s.is("done", s.done(0, "a", 1), "2/1")
	s.holds(20, 1, 0)
	s.unseen(9)
	s.learn(0, "b", 4)
	s.is("next", s.next(9), "b5")
	s.is("done", s.done(0, "b", 5), "2/2")
	s.holds(0, 0, 0)
}

// A run in hand goes on when its shard's lease is lost, and what took effect
// is reported; nobody waits for it any more, the frontier is gone with the
// lease.
func TestDropWithARunInHand(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 a2 a3 a4")
	s.is("next", s.next(2), "a1 a2")
	s.w.Drop(moment(0), 1)
	s.holds(40, 2, 0) // the run's
	s.is("one writer at a time", s.offer(0, 2, "a1 a2 a3 a4")+s.next(9), "")
	s.holds(80, 6, 0)
	s.is("the new reading's settle with it", s.done(0, "a", 2), "1/1 1/2 2/1 2/2")
	s.is("next", s.next(9), "a3 a4")
	s.is("done", s.done(0, "a", 4), "2/3 2/4")
	s.holds(0, 0, 0)
}

// A run in hand that comes back unapplied after its lease was lost is
// forgotten, and the records of the new reading take its place.
func TestDropWithARunThatFails(t *testing.T) {
	for name, giveBack := range map[string]func(*script){
		"known": func(s *script) { s.is("in part", s.fail(0, "a", 1, 100), "1/1 2/1") },
		"lost":  func(s *script) { s.is("nothing", s.lose(0, "a", 100), "") },
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, Options{})
			s.offer(0, 1, "a1 a2")
			s.is("next", s.next(9), "a1 a2")
			s.w.Drop(moment(0), 1)
			s.offer(0, 2, "a1 a2")
			giveBack(s)
			gaps := s.due(100)
			for _, a := range s.w.Unseen(9) {
				s.is("a1 had taken effect", s.learn(100, a, 1), "2/1")
			}
			// Its payload was not kept while the lost page had it.
			s.is("read again, at once", gaps+s.due(100), "a 2-2")
			s.fill(100, "a", 2, 2, 2)
			s.is("next", s.next(9), "a2")
			s.is("done", s.done(100, "a", 2), "2/2")
			s.holds(0, 0, 0)
		})
	}
}

func TestDropGivesUpFills(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a4")
	s.offer(0, 2, "a5")
	s.is("due", s.due(1000), "a 2-3")
	s.fill(1000, "a", 2, 3, 3)
	s.holds(30, 3, 2)
	s.w.Drop(moment(1000), 1)
	s.holds(10, 1, 0)
	s.is("nothing", s.next(9), "")
	s.is("read from the beginning, unless it comes", s.due(2000), "a 1-4")
	s.w.Drop(moment(2000), 2)
	s.holds(0, 0, 0)
	s.fill(2000, "a", 1, 4, 4)
	s.holds(0, 0, 0)
	s.is("nothing", s.next(9), "")
	s.is("the room is free again", fmt.Sprint(s.w.asked), "0")
}

func TestDropOfUnseenAndHeld(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a5 b1")
	s.is("asked", s.unseen(9), "a")
	s.next(9)
	s.fail(0, "b", 0, 100)
	s.w.Drop(moment(0), 1)
	s.holds(0, 0, 0)
	s.is("learnt for nothing", s.learn(0, "a", 4), "")
	s.is("hold", s.due(0), "| 100")
	s.is("ends", s.due(100), "")
	s.is("nothing", s.next(9), "")
	if s.w.busy.len != 0 || s.w.idle.len != 2 {
		t.Fatalf("%d busy and %d idle, want all at rest", s.w.busy.len, s.w.idle.len)
	}
	s.is("positions are kept", s.offer(100, 2, "a5 b1")+s.next(9)+" "+s.next(9), "a5 b1")
}

// H21: only what nobody is about to use is let go, oldest first, and comes back
// from the event store without a wait.
func TestH21_Shed(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a3 a4")    // behind a gap
	s.offer(0, 1, "b1 b2 a5") // b is ready
	s.offer(0, 1, "a6")
	s.is("asked", s.unseen(9), "a")
	s.learn(0, "a", 1)
	s.holds(60, 6, 0)
	s.w.Shed(60)
	s.holds(60, 6, 0)
	s.w.Shed(40)
	s.holds(40, 6, 0)
	s.w.Shed(0)
	s.holds(30, 6, 0) // the page with b is about to be used
	s.is("b is whole", s.next(9), "b1 b2")
	s.w.Shed(0)
	s.holds(30, 6, 0)
	s.is("b done", s.done(0, "b", 2), "1/3 1/4")
	s.w.Shed(0)
	s.holds(0, 4, 0)
	s.is("waits for a2", s.due(0), "| 1000")
	s.is("it comes", s.offer(200, 1, "a2"), "")
	s.is("the others need no wait", s.due(200), "a 3-6 | 1000")
	s.is("next", s.next(9), "a2")
	s.fill(200, "a", 3, 6, 6)
	s.holds(10, 5, 4)
	s.is("done", s.done(200, "a", 2), "1/7")
	s.is("next", s.next(9), "a3 a4 a5 a6")
	s.is("done", s.done(200, "a", 6), "1/1 1/2 1/5 1/6")
	s.holds(0, 0, 0)
}

// What was shed behind a gap is read together with it, one page at a time.
func TestH21_ShedIsReadWithTheGap(t *testing.T) {
	s := play(t, Options{GapWait: time.Second, FillEvents: 4})
	s.offer(0, 1, "a1 a3 a4")
	s.next(9)
	s.done(0, "a", 1)
	s.offer(0, 1, "a5 a6 a7")
	s.offer(0, 1, "a8")
	s.w.Shed(10)
	s.holds(10, 6, 0)
	s.is("waits", s.due(999), "| 1000")
	s.is("gap and payloads", s.due(1000), "a 2-5")
	s.fill(1000, "a", 2, 5, 5)
	s.is("next", s.next(9), "a2 a3 a4 a5")
	s.is("done", s.done(1000, "a", 5), "1/2 1/3 1/4")
	s.is("the rest", s.due(1000), "a 6-7")
	s.fill(1000, "a", 6, 7, 7)
	s.is("next", s.next(9), "a6 a7 a8")
	s.is("done", s.done(1000, "a", 8), "1/5 1/6 1/7")
	s.holds(0, 0, 0)
}

// H21: one aggregate that stands still keeps its own page, and none of those
// that pass it.
func TestH21_StuckAggregateKeepsNoPages(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "z1")
	s.next(1)
	s.fail(0, "z", 0, 900_000)
	for v := range 10_000 {
		s.offer(0, 1, fmt.Sprint("a", v+1))
		s.next(1)
		s.done(0, "a", uint64(v+1))
	}
	s.holds(10, 1, 0)
	if n := len(s.w.pages); n > 2 {
		t.Fatalf("%d pages are kept for one record", n)
	}
	s.w.Shed(0)
	s.holds(0, 1, 0)
}
