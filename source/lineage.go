package source

import (
	"maps"
	"slices"
)

// Row is what a lease row says of its shard, as far as lineage needs it.
type Row struct {
	Parents  []ShardID
	Finished bool // read to its end and settled
	// Read: the checkpoint has left the place where the group was pinned. A
	// finished shard counts as read whatever this says.
	Read bool
}

// Lineage decides which shards may be read, from lease rows and a listing. It
// holds no state of its own: a decision follows from what the rows say now, so
// that nothing has to be cleared and a restart decides the same.
//
// It is not safe for concurrent use, as its listing is not.
type Lineage struct {
	rows    map[ShardID]Row
	listing *Listing
	asked   map[ShardID]bool
}

// NewLineage takes the group's rows on this stream, its listing, and the
// answers of Exists for parents that a Verdict named as unknown. It tells the
// listing of the rows that are not finished, so that its next pass can speak of
// their parents.
func NewLineage(rows map[ShardID]Row, listing *Listing, asked map[ShardID]bool) Lineage {
	for id, row := range rows {
		if !row.Finished {
			listing.hear(id)
		}
	}
	return Lineage{rows: rows, listing: listing, asked: asked}
}

// Verdict says whether a shard may be read.
type Verdict struct {
	Waits   []ShardID // parents that are in the stream and not finished
	Unknown []ShardID // parents to be asked for by id (Exists): no row, not listed
	// Gone are the parents without a row that the stream does not have: what
	// was in them was never read by this group. It is to be reported.
	Gone []ShardID
}

// Ready reports whether the shard may be read.
func (v Verdict) Ready() bool { return len(v.Waits)+len(v.Unknown) == 0 }

// Verdict decides on a shard that has a row or is listed. A parent is done
// with when its row is finished, or when it has no row and the stream does not
// have it: the stream said so for its id, or a whole listing lacked it.
func (g Lineage) Verdict(id ShardID) Verdict {
	var v Verdict
	for _, parent := range g.parents(id) {
		row, hasRow := g.rows[parent]
		there, answered := g.asked[parent]
		switch {
		case parent == id, hasRow && row.Finished:
		case hasRow, g.listing.Has(parent), answered && there:
			v.Waits = append(v.Waits, parent)
		case answered, g.listing.Lacks(parent, id):
			v.Gone = append(v.Gone, parent)
		default:
			v.Unknown = append(v.Unknown, parent)
		}
	}
	return v
}

// Unmade returns the shards that need a row, in the order in which to make
// them: ancestors first, so that a crash between two rows leaves no child whose
// parent looks absent. A worker makes the rows of a shard's children before it
// marks the shard as finished.
//
// A shard that answered to its id although a whole listing lacked it is among
// them, without parents: what is left of it is read.
func (g Lineage) Unmade() []Shard {
	var out []Shard
	for _, id := range slices.Sorted(maps.Keys(g.asked)) {
		if _, ok := g.rows[id]; !ok && g.asked[id] && g.lackedByListing(id) {
			out = append(out, Shard{ID: id, Closed: true})
		}
	}
	for _, s := range g.listing.Shards() {
		if _, ok := g.rows[s.ID]; !ok {
			out = append(out, s)
		}
	}
	return out
}

func (g Lineage) lackedByListing(parent ShardID) bool {
	for child := range g.listing.entries {
		if slices.Contains(g.parents(child), parent) && g.listing.Lacks(parent, child) {
			return true
		}
	}
	return false
}

// Start returns where a new row's shard begins. Without an ancestor that this
// group has read it is the pin, whether the shard is open or closed and whenever
// it was found: what came after the pin may be in it. A descendant of a shard
// that was read is read from its trim horizon, so that nothing between the two
// is left out.
func (g Lineage) Start(id ShardID, pin Start) Start {
	visited := map[ShardID]bool{id: true}
	queue := slices.Clone(g.parents(id))
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if visited[next] {
			continue
		}
		visited[next] = true
		if row := g.rows[next]; row.Read || row.Finished {
			return Start{Kind: TrimHorizon}
		}
		queue = append(queue, g.parents(next)...)
	}
	return pin
}

// parents prefers the row: it stays when the listing forgets the shard.
func (g Lineage) parents(id ShardID) []ShardID {
	if row, ok := g.rows[id]; ok && len(row.Parents) > 0 {
		return row.Parents
	}
	return g.listing.entries[id].shard.Parents
}
