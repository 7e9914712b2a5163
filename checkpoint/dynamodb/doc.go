// Package dynamodb keeps leases and pins in the control table.
//
// Every write names the attributes it sets and the state it expects to find,
// and asks for the row in the answer when that is refused: so a refusal and the
// look at what stands there are one call. What this build does not know is kept:
// unknown attributes of its rows, and rows of another layout.
//
// A lease row's attributes, beside the table's pk, sk and schema:
//
//	state       waiting-for-parent, active, draining or finished
//	owner       worker id; absent while nobody holds the lease
//	token       new at each grant
//	heartbeat   new at each grant and each write by the holder
//	checkpoint  map of kind, sequence and time (ms since 1970)
//	position    the checkpoint as text that sorts, for conditions
//	sinks, unverified, parents, children   lists of text
//	asked       worker that asks for a hand-over; absent without a request
//
// The package never tries a failed call again and never starts a goroutine.
package dynamodb
