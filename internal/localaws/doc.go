// Package localaws is an embedded stand-in for DynamoDB, DynamoDB Streams and
// SQS. It speaks their wire protocol (AWS JSON 1.0), in process or on a
// loopback port, so that the real SDK clients, the real worker and the real
// commands run against it on a laptop, under fault schedules and in fake time.
//
// It is a test double and a demonstration, never offered for production.
//
// # The model
//
// Every item has a point in its table's key space: the hash of its partition
// key, the partition key, the sort key. Tables keep their items in the order
// of points, so that a Query is one binary search and a Scan segment is a range
// of hashes. A shard of a stream owns a range of points as well. A split cuts
// a range in two, at a hash or inside one item collection; a roll-over hands
// the whole range to one child. So an item's records are in exactly one open
// shard at any time, and a collection's records may be in two.
//
//	request -> decode -> latency, faults -> effect (one lock) -> answer -> faults
//	                                            |
//	                  item stored -> change in the history -> record in a shard
//
// # The way of a record
//
//	written --(numbered: at once, or within Options.Permute places)--> numbered
//	numbered --(DelayVisible)--> readable --(24 h, or Trim)--> trimmed
//
// # Locks
//
// One mutex (Engine.mu) guards tables and streams. It is held for lookups,
// conditions and commits, never over a sleep, a channel or encoding of a page.
// Items and encoded records never change once stored, so an answer is built
// from them outside the lock. Engine.queueMu guards the queues in the same way
// (their state is package queue); a long poll sleeps outside it. Faults and
// counters have a mutex each, taken while no other is held.
//
// Where AWS's documents are silent the engine takes the harder behaviour:
// later, out of order, empty first.
package localaws
