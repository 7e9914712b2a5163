package failure

// Outbox is the promise of a letter: a row beside the marker, written with it,
// which stands until the queue has accepted the letter. It names the block
// alone; the letter is built from the marker and the event store. A newer
// block of the aggregate replaces it, since the letter of an older one has
// nothing left to tell.
type Outbox struct {
	BlockID string
	Version uint64 // the one that failed
}

// Promise is an outbox row and the aggregate it belongs to.
type Promise struct {
	Key Key
	Outbox
}
