// Command hotpartition measures what one hot partition costs: the product's
// worker against a projector that takes one event at a time, and against a
// reader that throws every record away.
//
// The backlog is written before any clock runs, into the local engine in a
// process of its own, so that its memory and its CPU time are not the
// measured ones. The latency of the store is slept in the client's transport:
// the engine's own speed hardly counts.
//
//	this process                               the engine's process
//	reader --> [count] ----- loopback HTTP --> streams
//	sink   --> [sleep, count] -- loopback ---> tables
//
// Every run is judged before its figure counts: all events applied, each once
// and in order, by the digest in each read-model item. A run that got
// something wrong fails the benchmark.
package main
