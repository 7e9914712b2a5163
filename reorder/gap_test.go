package reorder

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestGapWaits(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a4 a5")
	s.next(9)
	s.is("one", s.done(0, "a", 1), "1/1")
	s.is("waits", s.due(0), "| 1000")
	s.is("more behind it changes nothing", s.offer(600, 1, "a6"), "")
	s.is("waits", s.due(999), "| 1000")
	s.is("due", s.due(1000), "a 2-3")
	s.is("handed out once", s.due(5000), "")
	s.fill(5000, "a", 2, 3, 3)
	s.holds(40, 3, 2)
	s.is("next", s.next(9), "a2 a3 a4 a5 a6")
	s.is("settles records only", s.done(5000, "a", 6), "1/2 1/3 1/4")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 6, GapsFilled: 1})
	s.is("nothing is timed", s.due(5000), "")
}

func TestGapArrives(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a4")
	s.is("waits", s.due(0), "| 1000")
	s.is("part of it", s.offer(500, 2, "a3"), "")
	s.is("waits on", s.due(500), "| 1000")
	s.is("all of it", s.offer(900, 2, "a2"), "")
	s.counted(Stats{GapsArrived: 1})
	s.is("nothing to read", s.due(2000), "")
	s.is("next", s.next(9), "a1 a2 a3 a4")
	s.is("done", s.done(2000, "a", 4), "1/1 2/2 2/1 1/2")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 4, GapsArrived: 1})
}

func TestEveryGapWaitsForItself(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a3 a5")
	s.is("the first", s.due(0), "| 1000")
	s.offer(800, 1, "a2")
	s.is("the second opened now", s.due(1000), "| 1800")
	s.is("due", s.due(1800), "a 4-4")
	s.is("it arrives before the answer", s.offer(1900, 1, "a4"), "")
	s.fill(2000, "a", 4, 4, 4)
	s.is("next", s.next(9), "a1 a2 a3 a4 a5")
	s.is("done", s.done(2000, "a", 5), "1/1 1/4 1/2 1/5 1/3")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 5, GapsArrived: 2})
}

// A gap that closed while it stood in line for room leaves nothing behind: the
// next one of the same aggregate waits its time.
func TestGapThatClosedInLine(t *testing.T) {
	s := play(t, Options{GapWait: time.Second, FillEvents: 1})
	s.offer(0, 1, "a1 b1 a3 b3")
	s.is("room for one", s.due(1000), "a 2-2")
	s.offer(1000, 1, "b2")
	s.is("b", s.next(9)+", "+s.next(9), "a1, b1 b2 b3")
	s.is("b done", s.done(1000, "b", 3), "1/2 1/5 1/4")
	s.offer(1500, 1, "b5")
	s.postpone(1500, "a", 2, 2, 9000)
	s.is("not yet", s.due(1500), "| 2500")
	s.is("now", s.due(2500), "b 4-4 | 9000")
}

func TestPostponedGap(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a3")
	s.next(9)
	s.done(0, "a", 1)
	s.is("due", s.due(1000), "a 2-2")
	s.postpone(1000, "a", 2, 2, 4000)
	s.is("later", s.due(1000), "| 4000")
	s.is("again", s.due(4000), "a 2-2")
	s.postpone(4000, "a", 2, 2, 8000)
	s.is("it arrives", s.offer(5000, 1, "a2"), "")
	s.is("next", s.next(9), "a2 a3")
	s.is("done", s.done(5000, "a", 3), "1/3 1/2")
	s.is("nothing is timed", s.due(9000), "")
	s.counted(Stats{Applied: 3, GapsArrived: 1})
}

// An answer without a single event must neither strand the aggregate nor ask
// again at once.
func TestEmptyFillIsAskedAgain(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a3")
	s.is("due", s.due(1000), "a 2-2")
	s.fill(1000, "a", 2, 2, 1)
	s.is("waits", s.due(1000), "| 2000")
	s.is("again", s.due(2000), "a 2-2")
	s.fill(2000, "a", 2, 2, 2)
	s.is("next", s.next(9), "a1 a2 a3")
}

func TestH21_LongGapPageByPage(t *testing.T) {
	s := play(t, Options{GapWait: time.Second, FillEvents: 3})
	s.offer(0, 1, "a9 a10")
	s.is("asked", s.unseen(9), "a")
	s.learn(0, "a", 0)
	s.is("waits once", s.due(0), "| 1000")
	s.is("as much as there is room for", s.due(1000), "a 1-3")
	s.is("no room", s.due(1000), "")
	s.fill(1000, "a", 1, 3, 3)
	s.holds(20, 2, 3)
	s.is("no room until it is applied", s.due(1000), "")
	s.is("next", s.next(2), "a1 a2")
	s.is("done", s.done(1000, "a", 2), "")
	s.holds(20, 2, 1)
	s.is("what continues it", s.due(1000), "a 4-5")
	s.is("next", s.next(9), "a3")
	s.fill(1000, "a", 4, 5, 4) // a short answer
	s.is("done", s.done(1000, "a", 3), "")
	s.holds(20, 2, 1)
	s.is("goes on", s.due(1000), "a 5-6")
	s.fill(1000, "a", 5, 6, 6)
	s.is("next", s.next(9), "a4 a5 a6")
	s.is("done", s.done(1000, "a", 6), "")
	s.is("the rest", s.due(1000), "a 7-8")
	s.fill(1000, "a", 7, 8, 8)
	s.is("next", s.next(9), "a7 a8 a9 a10")
	s.is("done", s.done(1000, "a", 10), "1/1 1/2")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 10, GapsFilled: 1})
}

// C3: the own records of versions that were read settle with their version and
// not before, whenever they come.
func TestRecordsOfFilledVersions(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a4")
	s.is("due", s.due(1000), "a 2-3")
	s.fill(1000, "a", 2, 3, 3)
	s.is("one comes while queued", s.offer(1100, 1, "a3"), "")
	s.is("next", s.next(9), "a1 a2 a3 a4")
	s.is("one comes while in hand", s.offer(1200, 2, "a2"), "")
	s.is("cut short behind a2", s.fail(1200, "a", 2, 2000), "1/1 2/1")
	s.holds(20, 2, 0) // the page of a1 and a4 is held; a3's takes its place, its payload is gone
	s.is("read again", s.due(2000), "a 3-3")
	s.fill(2000, "a", 3, 3, 3)
	s.holds(20, 2, 1)
	s.is("next", s.next(9), "a3 a4")
	s.is("done", s.done(2000, "a", 4), "1/3 1/2")
	s.holds(0, 0, 0)
	s.is("and after", s.offer(2100, 2, "a3"), "2/2")
}

// C8: what is held gives its room to the others.
func TestH21_HeldAggregateGivesItsRoomUp(t *testing.T) {
	s := play(t, Options{GapWait: time.Second, FillEvents: 2})
	s.offer(0, 1, "a1 a4 b1 b4")
	s.is("room for one", s.due(1000), "a 2-3")
	s.fill(1000, "a", 2, 3, 3)
	s.holds(40, 4, 2)
	s.is("b finds none", s.due(1000), "")
	s.is("a", s.next(9), "a1 a2 a3 a4")
	s.is("b", s.next(9), "b1")
	s.is("b done", s.done(1000, "b", 1), "1/3")
	s.is("a fails at 2", s.fail(1000, "a", 1, 60_000), "1/1")
	s.holds(40, 2, 0)
	s.is("now b", s.due(1000), "b 2-3 | 60000")
	s.fill(1000, "b", 2, 3, 3)
	s.is("next", s.next(9), "b2 b3 b4")
	s.is("done", s.done(1000, "b", 4), "1/4")
	s.holds(40, 1, 0)
	s.is("a comes back", s.due(60_000), "| 61000")
	s.is("and is read again", s.due(61_000), "a 2-3")
	s.fill(61_000, "a", 2, 3, 3)
	s.is("next", s.next(9), "a2 a3 a4")
	s.is("done", s.done(61_000, "a", 4), "1/2")
	s.holds(0, 0, 0)
}

// A hundred gaps at once never ask or hold more than there is room for, and
// all of them are closed in their turn.
func TestH21_FillsStayWithinTheirRoom(t *testing.T) {
	const room = 7
	s := play(t, Options{GapWait: time.Second, FillEvents: room})
	var page strings.Builder
	for c := 'A'; c <= 'z'; c++ {
		fmt.Fprintf(&page, "%c1 %c5 ", c, c)
	}
	s.offer(0, 1, page.String())
	now := moment(1000)
	for step := 0; s.w.Usage().Entries > 0; step++ {
		if step > 1000 {
			t.Fatalf("after %d steps the window holds %+v", step, s.w.Usage())
		}
		gaps, _ := s.w.Due(now)
		asked := 0
		for _, g := range gaps {
			asked += int(g.To - g.From + 1)
		}
		if fills := s.w.Usage().Fills; asked+fills > room {
			t.Fatalf("asked for %d events while %d are held; there is room for %d", asked, fills, room)
		}
		for _, g := range gaps {
			s.fill(1000, g.Aggregate, g.From, g.To, g.To)
		}
		for text := s.next(9); text != ""; text = s.next(9) {
			last := s.events(text)
			s.done(1000, text[:1], last[len(last)-1].Version)
		}
	}
	s.holds(0, 0, 0)
	if got := s.w.Stats().GapsFilled; got != 'z'-'A'+1 {
		t.Fatalf("%d gaps were filled, want %d", got, 'z'-'A'+1)
	}
}

// H5: a version the sink filters out comes through the window like any other,
// so that no hole and no read comes of it.
func TestH5_FilteredVersionIsNoHole(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a3")
	s.unseen(1)
	s.learn(0, "a", 3)
	s.offer(0, 1, "a4 a5")
	s.is("both", s.next(9), "a4 a5")
	s.is("no gap", s.due(10_000), "")
}

// An answer that brings nothing new is not what closed the next gap.
func TestFillThatCameTooLate(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a3")
	s.is("due", s.due(1000), "a 2-2")
	s.offer(1100, 1, "a2 a5")
	s.fill(1200, "a", 2, 2, 2)
	s.is("a4 waits from when it was missed", s.due(1200), "| 2100")
	s.offer(1300, 1, "a4")
	s.is("next", s.next(9), "a1 a2 a3 a4 a5")
	s.is("done", s.done(1300, "a", 5), "1/1 1/3 1/2 1/5 1/4")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 5, GapsArrived: 2})
}
