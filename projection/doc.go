// Package projection owns folds: how the events of one aggregate become the
// item of a read model.
//
// A fold is pure. It sees no clock, no target and no other aggregate, so that
// live traffic, a redrive, a rebuild and a check all compute the same item
// from the same events. What may go wrong in it is the event's fault or the
// fold's: its errors are permanent, and a panic is an error.
//
// The package must never import an AWS package, start a goroutine, read a
// clock or do I/O.
package projection
