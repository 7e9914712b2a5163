// Package position keeps the positions of unguarded sinks in the control
// table: of brokers, HTTP targets, functions, whatever cannot hold a position
// next to the effect.
//
// A row belongs to one (group, source, sink, sink version, aggregate) and
// holds, beside the table's pk, sk and schema:
//
//	position   the last version that the target has accepted; absent: none
//
// What else stands in a row is kept. A row moves forward only, in one
// conditional write from the version it holds, and only after the target has
// accepted everything up to where it goes. Effect and position are two steps:
// a crash between them repeats effects, and never leaves one out.
//
// A sink that begins in the middle of an aggregate moves the position from
// nothing to the version before its first one before it applies anything or
// blocks there. Without that row a later look would find nothing applied, and
// an older version would pass for the first.
//
// The package never tries a failed call again, starts no goroutine, and makes
// no table: the control table is made with the leases.
package position
