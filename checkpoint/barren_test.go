package checkpoint

import "testing"

// TestH18_TwoDeathsAtOneAttempt: what a row tells after grants and the notes
// of those who vanished.
func TestH18_TwoDeathsAtOneAttempt(t *testing.T) {
	m := Marks{Boot: "w"}
	x, y := Attempt{"view@1", "x", 7}, Attempt{"view@1", "y", 1}
	l := held("s", "t", "h")
	l.Owner = "w0"
	for i, step := range []struct {
		note   Attempt // of the one who vanishes
		owner  string  // the next
		blamed Attempt
		grants int
		deaths int
	}{
		{owner: "w1", grants: 1},
		{owner: "w1", grants: 1}, // its own grant, found by itself
		{owner: "w2", grants: 2},
		{owner: "w3", grants: 3},
		{note: x, owner: "w4", grants: 4, deaths: 1},
		{note: y, owner: "w5", grants: 5, deaths: 1}, // chance, or another poison: x is off the hook
		{owner: "w6", grants: 6, deaths: 1},          // before its first attempt: says nothing of y
		{note: y, owner: "w6", grants: 6, deaths: 1}, // it lives
		{note: y, owner: "w7", grants: 7, deaths: 2, blamed: y},
		{owner: "w8", grants: 8, deaths: 2, blamed: y}, // not blocked in time: the next one finds the same
	} {
		l.Barren.Attempt = step.note
		l = m.Grant(l, step.owner)
		b := l.Barren
		if b.Grants != step.grants || b.Deaths != step.deaths || b.Blamed() != step.blamed || b.Attempt != (Attempt{}) || b.Careful() != (step.grants >= 3) {
			t.Fatalf("step %d: the row tells %+v", i, b)
		}
	}
	l.Owner = "" // a build that knows nothing of this released it
	if got := m.Grant(l, "w9").Barren; got != (Barren{}) {
		t.Errorf("after a release it tells %+v", got)
	}
}
