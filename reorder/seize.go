package reorder

import "millrace/event"

// Seize takes an aggregate in hand for somebody else, as Next does for a run,
// whatever its state: nobody gets it until Done gives it back, and what arrives
// meanwhile waits. It reports false while a run of it is in hand.
func (w *Window) Seize(aggregate string, layout *event.Layout) bool {
	e := w.reach(aggregate, layout)
	if e == nil {
		return false
	}
	w.unwake(e)
	waits := e.state == blocked
	e.layout, e.state, e.inHand = layout, inHand, 0
	e.seen, e.following = 0, false
	if waits {
		e.readmit()
	}
	return true
}
