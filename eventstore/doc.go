// Package eventstore appends events to a DynamoDB table and reads them back,
// over any event.Layout whose events are items of their own.
//
// It owns the one condition an event store rests on: a version's key is free
// when it is written. Version v+1 is appended by whoever read v; of several
// who did, one wins and the others get a *Conflict. What a call means when
// its answer is lost, a throttle interferes or a transaction is cancelled is
// decided here and nowhere else:
//
//	answer                                  meaning
//	condition failed, our own item stands   success: an earlier answer was lost
//	condition failed, another item stands   *Conflict: the race is lost
//	throttle, transaction conflict, 5xx     tried again within a Budget
//	no answer to the end of the Budget      *Unsettled: nobody knows
//
// Events are only ever inserted. The package never changes or removes an
// item, keeps no state between calls, and reads no clock for what it stores:
// an event's time is its writer's.
package eventstore
