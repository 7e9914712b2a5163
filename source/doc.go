// Package source is the Kinesis-shaped contract of a change stream: shards,
// iterators, pages, and the rules that need no stream to be tested. Adapters
// stand in folders below it.
//
//   - Listing keeps what pages of a listing said, over calls that fail half-way;
//     Discover reads the pages.
//   - Lineage decides from lease rows and a listing which shard may be read, where
//     it starts, and which shards still need a row.
//   - Absence tells when a finished shard's row may be deleted.
//   - Cursor follows one shard's iterators and recovers from expiry and trimming.
//
// A shard's way through it:
//
//	listed --Unmade--> row --Verdict--> waits for parents --> ready --Cursor--> ended
//	                             \--> asks for a parent by its id (Exists) --/
//
// It must never start a goroutine, ask for the time or import an AWS package;
// the deadline of a call is all it knows of clocks.
package source
