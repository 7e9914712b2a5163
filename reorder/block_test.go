package reorder

import "testing"

// TestUnfollowed: a follow that came to nothing is asked for again at its time,
// with what has come meanwhile, and not before; and not at all for an aggregate
// that has gone on.
func TestUnfollowed(t *testing.T) {
	s := play(t, Options{})
	follows := func() (out []Follow) { return s.w.Follows(9) }
	s.offer(0, 1, "a1 b1")
	for _, a := range []string{"a", "b"} {
		s.is("nothing is on record", s.refs(s.w.Block(a, 0)), "")
	}
	for _, f := range follows() {
		s.w.Unfollowed(f, moment(1000))
	}
	s.offer(1, 1, "a2")
	s.due(999)
	if got := follows(); len(got) != 0 {
		t.Fatalf("asked for are %v before their time", got)
	}
	s.w.Unblock("b")
	s.due(1000)
	got := follows()
	if len(got) != 1 || got[0] != (Follow{Aggregate: "a", UpTo: 2}) {
		t.Fatalf("asked for are %v", got)
	}
	s.is("it is on record", s.refs(s.w.Followed(moment(1001), got[0], 2)), "1/1 1/3")
	s.w.Unfollowed(got[0], moment(2000)) // answered already
	s.due(2000)
	if got := follows(); len(got) != 0 {
		t.Errorf("asked for are %v", got)
	}
}
