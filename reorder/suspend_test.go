package reorder

import (
	"math"
	"testing"
)

// TestSuspendedCanBeShed: what a paused sink cannot take is in nobody's way,
// whatever arrives meanwhile, and time does not end it. Resumed, one after the
// other or all at once, it goes on from what is at hand or is read again.
func TestSuspendedCanBeShed(t *testing.T) {
	s := play(t, Options{})
	s.is("nothing is settled", s.offer(0, 1, "a1 a2 b1 c1"), "")
	s.w.Suspend()
	s.is("nothing is ready", s.next(9), "")
	s.holds(40, 4, 0)
	s.offer(1, 1, "a3")
	s.is("what arrives waits with the rest", s.next(9), "")
	s.w.Shed(10)
	s.holds(10, 5, 0)
	s.is("time changes nothing", s.due(100_000), "")

	s.w.Resume(moment(100_000), 1)
	s.is("the first one's payloads are gone", s.next(9), "")
	s.is("they are read again", s.due(100_000), "a 1-2")
	s.fill(100_001, "a", 1, 2, 2)
	s.is("the first goes on", s.next(9), "a1 a2 a3")
	s.is("its records are settled", s.done(100_002, "a", 3), "1/1 1/2 1/5")

	s.w.Resume(moment(100_003), math.MaxInt)
	s.is("the others go on", s.due(100_003), "b 1-1 c 1-1")
	s.fill(100_003, "b", 1, 1, 1)
	s.fill(100_003, "c", 1, 1, 1)
	s.is("in their order", s.next(9), "b1")
	s.is("in their order", s.next(9), "c1")
	s.is("b is settled", s.done(100_004, "b", 1), "1/3")
	s.is("c is settled", s.done(100_004, "c", 1), "1/4")
	s.holds(0, 0, 0)
}

// TestWhatHappensToTheSuspended: one that is blocked is settled by reference and
// does not come back with Resume; one whose shard was lost takes nobody's turn;
// and a gap's timer does not end the pause.
func TestWhatHappensToTheSuspended(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 d1 d3")
	s.offer(0, 2, "b1")
	s.offer(0, 1, "c1")
	s.w.Suspend()
	s.is("blocked", s.refs(s.w.Block("a", 1)), "1/1")
	s.w.Drop(moment(1), 2)
	s.is("the gap of d is not read", s.due(10_000), "")
	s.w.Resume(moment(10_000), 1)
	s.is("d is the first", s.next(9), "d1")
	s.is("it is alone", s.next(9), "")
	s.w.Resume(moment(10_000), 1)
	s.is("c is next, since b has nothing left", s.next(9), "c1")
	s.is("and no more", s.next(9), "")
}

// TestWake: a hold ends before its time, also where the position must be read
// first; what is not held is left alone.
func TestWake(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 b1")
	s.is("a is in hand", s.next(9), "a1")
	s.is("b is in hand", s.next(9), "b1")
	s.w.Wake(moment(1), "a")
	s.w.Wake(moment(1), "x")
	s.is("what is in hand stays there", s.next(9), "")
	s.fail(1, "a", 0, 5000)
	s.lose(1, "b", 5000)
	s.w.Wake(moment(2), "a")
	s.w.Wake(moment(2), "b")
	s.is("a goes on", s.next(9), "a1")
	s.is("b is asked for", s.unseen(9), "b")
	s.is("no timer is left", s.due(2), "")
}
