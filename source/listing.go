package source

import (
	"errors"
	"maps"
	"slices"
)

// ErrCursorRepeated: a listing sent its reader back to a page it had read, so
// that the pass would never end. The pass starts anew with the next call.
var ErrCursorRepeated = errors.New("listing repeats a cursor")

// Listing is what is known of a stream's shards. It is fed with pages, over as
// many calls as it takes: a page that fails costs nothing but that page. A pass
// runs from the first page to the last, and only a whole pass can say that a
// shard is not there.
//
// A pass is no snapshot: shards come while it is under way, before or behind
// its cursor. So a pass speaks of a shard's absence only to those who knew of
// it before the pass began (see Lacks).
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

// entry is what is known of one shard. Passes are numbered from 1.
type entry struct {
	shard  Shard
	first  int // the pass in which it was first heard of
	heard  int // the last pass in which anybody mentioned it
	listed int // the last pass that showed it; 0: known by its name only
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
// shows them. They stay at least until a pass that begins later.
func (l *Listing) Found(shards ...Shard) {
	for _, s := range shards {
		e := l.mention(s.ID)
		// Pages are read at different moments, so an older view may come last:
		// a shard never opens again, and never loses its parents.
		s.Closed = s.Closed || e.shard.Closed
		if len(s.Parents) == 0 {
			s.Parents = e.shard.Parents
		}
		e.shard, e.listed = s, l.pass()
		l.entries[s.ID] = e
	}
}

// hear notes a shard that is known from its lease row only, so that a later
// pass can speak of its parents.
func (l *Listing) hear(id ShardID) { l.entries[id] = l.mention(id) }

func (l *Listing) mention(id ShardID) entry {
	if l.entries == nil {
		l.entries = make(map[ShardID]entry)
	}
	e, ok := l.entries[id]
	if !ok {
		e = entry{shard: Shard{ID: id}, first: l.pass()}
	}
	e.heard = l.pass()
	return e
}

// Restart gives the pass under way up and keeps what it showed.
func (l *Listing) Restart() {
	l.ended++
	l.cursor, l.asked = "", nil
}

// finish ends a pass that was read through: what it did not show is not there
// any more.
func (l *Listing) finish() {
	l.whole = l.pass()
	for id, e := range l.entries {
		if e.heard < l.whole {
			delete(l.entries, id)
			continue
		}
		if e.listed < l.whole {
			e.listed = 0
			l.entries[id] = e
		}
	}
	l.Restart()
}

// Complete reports whether a whole pass was ever read.
func (l *Listing) Complete() bool { return l.whole > 0 }

// Has reports whether the shard is listed.
func (l *Listing) Has(id ShardID) bool { return l.entries[id].listed > 0 }

// Lacks reports whether the parent that a child names is not in the stream:
// it is not listed, and a whole pass that began after the child was first
// heard of did not show it.
func (l *Listing) Lacks(parent, child ShardID) bool {
	e, ok := l.entries[child]
	return ok && !l.Has(parent) && l.whole > e.first
}

// Settled reports whether every parent that a listed shard names is either
// listed or known to be absent; if not, another pass tells.
func (l *Listing) Settled() bool {
	for id, e := range l.entries {
		for _, parent := range e.shard.Parents {
			if e.listed > 0 && !l.Has(parent) && !l.Lacks(parent, id) {
				return false
			}
		}
	}
	return l.Complete()
}

// Shards returns the listed shards, ancestors before their descendants and
// else by id. A shard whose child is listed counts as closed, whatever its own
// page said: the two pages were read at different moments.
func (l *Listing) Shards() []Shard {
	hasChild := make(map[ShardID]bool)
	for _, e := range l.entries {
		for _, parent := range e.shard.Parents {
			hasChild[parent] = hasChild[parent] || e.listed > 0
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
