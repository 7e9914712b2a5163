// Package notify sends the letters of blocked aggregates. A block is settled
// when its marker is durable; its letter follows from the outbox row that was
// written with it, however long the queue takes. No shard ever waits for it.
//
//	outbox row --> marker still blocked under that id? --> letter --> queue
//	                  | no: nothing to tell                    accepted |
//	                  v                                                 v
//	             row deleted <------- row deleted <---- marker: notified
//
// Once a block is over, its letter is deleted by whoever receives it:
//
//	queue --> letter --> marker not live, and blocked under that id?
//	  ^                    | yes            | no: nothing left to tell
//	  +--- hidden a while -+                v
//	                                  deleted by its receipt
//
// Killed anywhere, it sends at most the same letter again, under the same id.
package notify
