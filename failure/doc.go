// Package failure decides what becomes of an event that cannot be applied, and
// of the aggregate it belongs to. It owns the budget of an event that keeps
// failing, the marker of a blocked aggregate, the conditional writes that change
// it, the letter that tells of it, and the row of a record that has no aggregate.
//
// A marker has three states; no row is the same as live:
//
//	         Block                     Claim
//	live ------------> blocked -----------------> redriving
//	 ^                 |     ^                     |  |  ^ |
//	 |      Heal       |     |    BackToBlocked    |  |  | | Claim
//	 +-----------------+     +---------------------+  |  +-+
//	 |                                                |
//	 +------------------------------------------------+
//	                 Release, Heal
//
// Follow raises seenVersion while the row is not live, and changes no state.
// Three facts carry the proof that nothing is lost:
//
//	I1  a settled version is at or below the target's position, or at or below
//	    seenVersion of a row that is not live
//	I2  while a row is not live, its seenVersion does not fall
//	I3  a row becomes live only under seenVersion <= a position read from the
//	    target, and positions do not fall
//
// What workers believe of a marker appears nowhere in them: a wrong belief
// costs an attempt, never an event.
//
// Each write is a value, a Transition: a condition and an update over the
// row's attributes. The model in this package's tests interprets the same
// values that failure/dynamodb executes, so what was searched is what runs.
//
// The package is pure. It must never import an AWS package, read the clock, start
// a goroutine or do I/O.
package failure
