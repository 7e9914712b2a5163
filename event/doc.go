// Package event is the vocabulary every other package shares: attribute
// values, records, events, sequence numbers, positions, runs, layouts and
// error classes.
//
// It owns words and pure rules only. It must never import an AWS package,
// start a goroutine, read a clock or do I/O.
package event
