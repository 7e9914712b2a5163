// Package watermill is the sink that hands events to any Watermill publisher:
// Kafka, NATS, AMQP, Redis streams, SQL, HTTP.
//
// A broker keeps no position, so this sink is unguarded. An aggregate's
// position is a row in the control table, which follows the effect:
//
//	read     unless the run follows on this worker's own last write (event.Run.Recheck)
//	publish  one event after the other, one message a call; the first failure ends the run
//	move     the position over what was accepted, in one conditional write
//
// First deliveries of an aggregate are in order and complete. Repeats occur,
// always with the same message id: after a crash, after an answer of the
// publisher that was lost, and while two workers hold the aggregate. A repeat
// may come after newer events. What one worker had accepted it does not send
// again, also where the position could not be moved, for as long as it
// remembers.
//
// Nothing overtakes the publisher: Publish must return when the broker has the
// message and not before. An adapter that only puts it into a buffer (AMQP
// without confirmed delivery, an asynchronous producer) loses events in a
// crash, since the position has moved over them by then. Whether the broker
// keeps the order is its configuration: events of one aggregate belong into one
// partition, which the metadata's aggregate is for.
//
// Watermill's Router and its middleware have no place between stream and
// publisher: the Router runs a goroutine a message, and the Deduplicator counts
// a message as seen before it is sent.
//
// The package never tries a failed call again, never sleeps, and starts no
// goroutine.
package watermill
