// Package queue is the state of the queues that the local engine shows as SQS:
// messages, their visibility, message groups, de-duplication, receive counts
// and dead-letter queues. It knows no wire format, starts no goroutine, reads
// no clock and takes no lock: time comes in with each call, and the caller
// lets one call in at a time.
//
// # The states of a message
//
//	sent --(delay)--> delayed --(delay ends)--> available
//	available --(Receive)--> in flight --(its time ends, or is set to 0)--> available
//	any --(Delete, retention ends, Purge)--> gone
//	available --(Receive, after as many receives as the redrive policy allows)--> in the dead-letter queue
//
// Messages stand in lines. In a FIFO queue a line is a message group: only the
// front of a line can be received, and only while none of the line is in
// flight. In a standard queue every message is a line of its own. So there is
// one way to receive, and a group keeps its order whatever becomes visible
// again and when.
//
// Where AWS's documents are silent the harder behaviour is taken: messages of
// a standard queue come out of order, and an old receipt handle deletes
// nothing.
//
// The facts are from the Amazon SQS API Reference and Developer Guide.
package queue
