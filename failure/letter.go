package failure

import "millrace/event"

// MayDelete reports whether the letter of a block may be deleted, given the
// marker's row; nil is no row. Only the letter of the block that stands is
// kept: letters of one aggregate are not alike, since a new block can be made
// a moment after a release.
func MayDelete(row event.Item, blockID string) bool {
	return !notLive().Holds(row) || !is(BlockIDAttribute, blockID).Holds(row)
}
