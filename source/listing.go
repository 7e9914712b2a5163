package source

import (
	"errors"
	"maps"
	"slices"
)

// ErrCursorRepeated means that a listing sent its reader back to a page it had
// read, so that the pass would never end. It starts anew with the next call.
var ErrCursorRepeated = errors.New("listing repeats a cursor")

// Listing is what is known of a stream's shards. It is fed with pages, over as
// many calls as it takes: a page that fails costs nothing but that page. A pass
// runs from the first page to the last, and only a whole one takes shards out of
// the listing.
//
// A pass is no snapshot: shards come while it is under way, before and behind
// its cursor, and a page may show a child and not its parent. So that a parent
// is not listed never means that it is gone (see Lineage).
//
// The zero value is ready for use. A worker that takes discovery over starts
// with a new one, since an old one shows shards that are long gone. It is not
// safe for concurrent use.
type Listing struct {
	entries map[ShardID]entry
	cursor  ShardID
	asked   map[ShardID]bool // the cursors of the pass under way
	ended   int              // passes that ended, read through or given up
	whole   int              // number of the last pass that was read through; 0: none yet
}

// entry is a shard, and the last pass that showed it. Passes count from 1.
type entry struct {
	shard Shard
	pass  int
}

// pass is the number of the pass under way, or of the next one.
func (l *Listing) pass() int { return l.ended + 1 }

// Cursor is where the pass under way goes on: the shard after which the next
// page begins, empty for the first page.
func (l *Listing) Cursor() ShardID { return l.cursor }

// Add takes the page that followed Cursor, and the cursor that came with it;
// an empty next ends the pass. The page is kept even when the error is
// ErrCursorRepeated.
func (l *Listing) Add(page []Shard, next ShardID) error {
	l.Found(page...)
	if next == "" {
		l.finish()
		return nil
	}
	if next == l.cursor || l.asked[next] {
		l.Restart()
		return ErrCursorRepeated
	}
	if l.asked == nil {
		l.asked = make(map[ShardID]bool)
	}
	l.asked[next] = true
	l.cursor = next
	return nil
}

// Found takes shards that were seen outside of a pass, as the child filter
// shows them. They stay at least until the end of a pass that begins later.
func (l *Listing) Found(shards ...Shard) {
	if l.entries == nil {
		l.entries = make(map[ShardID]entry)
	}
	for _, s := range shards {
		// Pages are read at different moments, so an older view may come last:
		// a shard never opens again, and never loses its parents.
		known := l.entries[s.ID].shard
		s.Closed = s.Closed || known.Closed
		if len(s.Parents) == 0 {
			s.Parents = known.Parents
		}
		l.entries[s.ID] = entry{shard: s, pass: l.pass()}
	}
}

// Restart gives the pass under way up and keeps what it showed.
func (l *Listing) Restart() {
	l.ended++
	l.cursor, l.asked = "", nil
}

// finish ends a pass that was read through: what it did not show is not
// listed any more.
func (l *Listing) finish() {
	l.whole = l.pass()
	for id, e := range l.entries {
		if e.pass < l.whole {
			delete(l.entries, id)
		}
	}
	l.Restart()
}

// Complete reports whether a whole pass was ever read.
func (l *Listing) Complete() bool { return l.whole > 0 }

// Has reports whether the shard is listed.
func (l *Listing) Has(id ShardID) bool {
	_, ok := l.entries[id]
	return ok
}

// Shards returns the listed shards, ancestors before their descendants and
// else by id. A shard whose child is listed counts as closed, whatever its own
// page said: the two pages were read at different moments.
func (l *Listing) Shards() []Shard {
	hasChild := make(map[ShardID]bool)
	for _, e := range l.entries {
		for _, parent := range e.shard.Parents {
			hasChild[parent] = true
		}
	}
	out := make([]Shard, 0, len(l.entries))
	visited := make(map[ShardID]bool, len(l.entries))
	var visit func(id ShardID)
	visit = func(id ShardID) {
		if visited[id] || !l.Has(id) {
			return
		}
		visited[id] = true // before its parents: a cycle must not hang us
		s := l.entries[id].shard
		for _, parent := range s.Parents {
			visit(parent)
		}
		s.Closed = s.Closed || hasChild[id]
		out = append(out, s)
	}
	for _, id := range slices.Sorted(maps.Keys(l.entries)) {
		visit(id)
	}
	return out
}
