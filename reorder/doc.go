// Package reorder puts each aggregate's events into version order for one
// sink, drops what was applied already, and says which versions are missing.
//
// It owns one Window per sink and worker. A window is pure: no goroutine, no
// lock, no clock, no I/O; whoever owns it passes time in and does the work it
// asks for. That is what lets every arrival order, duplication, loss and
// failure be tried by a property test.
//
// The life of an aggregate in a window:
//
//	        Offer                Learn               Next
//	(none) ------> unseen ---------------> ready <--------> in hand
//	                 ^                     |  ^      Done      |
//	                 |   answer lost       |  | Fill           | error
//	                 +---------------------|--|----------------+---> held
//	                                       v  |                        |
//	                                   waiting (a gap) <---------------+
//	                                                      Due
//
// and idle when it has no events at hand: then only its position is kept.
// While the sink is paused, Suspend takes what is ready out of the way until
// Resume. From anywhere but in hand, Block makes an aggregate blocked: its
// records are settled by reference to a marker (Follows, Followed) until the
// marker is live, and it then starts over as unseen.
//
// A window must never skip a version, never report a record settled whose
// version neither the target is known to hold nor a marker's record to cover,
// and never hand out one aggregate twice at a time.
package reorder
