// Package redrive brings blocked aggregates back: it claims a marker, applies
// what the marker has on record through the same sink as live traffic, and
// releases it, beside workers that go on all the while. It can be killed at
// any instruction: what it leaves, another job or the sweeper finishes.
//
//	claim --> position --> apply, run by run --> release --> live
//	  |                       |    ^    |            |
//	  | somebody else's       |    |    +------------+ seenVersion has grown
//	  v                       v    |
//	left alone           failed for good: back to blocked, with a new letter
//
// It must never release a marker below its seenVersion, and never skip.
package redrive
