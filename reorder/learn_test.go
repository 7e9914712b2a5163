package reorder

import "testing"

// An aggregate whose position cannot be read is asked for again when its time
// has come, and holds its records until then; others are not touched.
func TestUnlearned(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a3 b3")
	s.unseen(9)
	s.w.Unlearned("a", moment(1000))
	s.learn(0, "b", 2)
	s.is("the other goes on", s.next(9), "b3")
	s.is("done", s.done(0, "b", 3), "1/2")
	s.is("later records wait with it", s.offer(10, 1, "a4")+s.next(9), "")
	s.is("not yet", s.due(999), "| 1000")
	if got := s.w.Unseen(9); len(got) != 0 {
		t.Fatalf("asked for %v before its time", got)
	}
	s.is("now", s.due(1000), "")
	if got := s.w.Unseen(9); len(got) != 1 || got[0] != "a" {
		t.Fatalf("asked for %v, want a", got)
	}
	s.learn(1000, "a", 2)
	s.is("next", s.next(9), "a3 a4")
	s.is("done", s.done(1000, "a", 4), "1/1 1/3")
	s.holds(0, 0, 0)
}

// Without records nobody needs the position: the aggregate is forgotten, not
// asked for without an end.
func TestUnlearnedAndDropped(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a3")
	s.unseen(9)
	s.w.Drop(moment(0), 1)
	s.w.Unlearned("a", moment(1000))
	s.is("nothing is timed", s.due(2000), "")
	if len(s.w.entries) != 0 {
		t.Errorf("%d entries are left", len(s.w.entries))
	}
	s.offer(2000, 2, "a3")
	s.unseen(9)
	s.learn(2000, "a", 2)
	s.is("its next reading is as any", s.next(9), "a3")
	s.is("done", s.done(2000, "a", 3), "2/1")
	s.holds(0, 0, 0)
}
