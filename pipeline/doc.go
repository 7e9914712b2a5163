// Package pipeline moves records from shards to sinks: it reads the shards
// whose leases it holds, hands each page to one lane per sink, and moves the
// checkpoints behind what every sink has settled.
//
// A Worker owns everything below it. One goroutine, its keeper, lists the
// lease rows, discovers shards and takes leases. Each shard has two more: one
// reads, one makes every write to the lease row. Each lane has a fixed number
// that apply runs, learn positions, fill gaps and raise markers, one that tries
// its sink while it is paused, and one that sweeps. One more puts unroutable
// records on record.
//
// The life of a shard here:
//
//	granted --> reading --> ended ----> finished       the last write: state
//	              |  ^        |
//	    no trust  v  | renewed| stop
//	            waiting       v
//	              |        draining --> released       the last write: no owner
//	              v           |
//	            lost <--------+ fenced                 no write at all
//
// Lock order: a lane's lock, then a shard's, then the gate's or that of the
// unroutable records. No call to AWS and no wait other than on a condition
// happens under any of them.
//
// It must never settle a record whose effect no sink confirmed, start a read
// outside its lease's trust, or take its own stop for a failure.
package pipeline
