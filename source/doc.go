// Package source is the Kinesis-shaped contract of a change stream: shards,
// iterators, pages, and the pure rules of lineage. Adapters stand in folders
// below it.
//
// It must never start a goroutine, read a clock or import an AWS package.
package source
