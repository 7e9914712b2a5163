package source

import "slices"

// Row is what a lease row says of its shard, as far as lineage needs it.
type Row struct {
	Parents  []ShardID
	Finished bool // read to its end and settled
	// Read: the checkpoint has left the place where the group was pinned. A
	// finished shard counts as read whatever this says.
	Read bool
}

// Lineage decides which shards may be read. It holds no state of its own: a
// decision follows from what the rows say now, so that nothing has to be cleared
// and a restart decides the same. It is not safe for concurrent use, as its
// listing is not.
type Lineage struct {
	Rows    map[ShardID]Row // the group's, on this stream; required once there are any
	Listing *Listing        // required
	// Asked holds the answers of Exists for the parents that a verdict called
	// unknown: true for a shard that is there. An answer serves one round; a
	// shard that was there is asked for again in the next.
	Asked map[ShardID]bool
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
// with when its row is finished, or when it has neither row nor place in the
// listing and the stream denies its id. That a listing lacks it proves nothing:
// pages show children without their parents. A parent that answers to its id is
// waited for, without a row of its own: made from its id alone it would be read
// before its own parents, which nobody knows yet. A later listing shows it, or
// the child filter when its parent is finished, or its id is denied.
func (g Lineage) Verdict(id ShardID) Verdict {
	var v Verdict
	for _, parent := range g.parents(id) {
		row, hasRow := g.Rows[parent]
		there, answered := g.Asked[parent]
		switch {
		case parent == id, hasRow && row.Finished:
		case hasRow, g.Listing.Has(parent), answered && there:
			v.Waits = append(v.Waits, parent)
		case answered:
			v.Gone = append(v.Gone, parent)
		default:
			v.Unknown = append(v.Unknown, parent)
		}
	}
	return v
}

// Unmade returns the listed shards that need a row, in the order in which to
// make them: ancestors first. A worker makes the rows of a shard's children
// before it marks the shard as finished.
func (g Lineage) Unmade() []Shard {
	return slices.DeleteFunc(g.Listing.Shards(), func(s Shard) bool {
		_, ok := g.Rows[s.ID]
		return ok
	})
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
		if row := g.Rows[next]; row.Read || row.Finished {
			return Start{Kind: TrimHorizon}
		}
		queue = append(queue, g.parents(next)...)
	}
	return pin
}

// parents prefers the row: it stays when the listing forgets the shard.
func (g Lineage) parents(id ShardID) []ShardID {
	if row, ok := g.Rows[id]; ok && len(row.Parents) > 0 {
		return row.Parents
	}
	return g.Listing.entries[id].shard.Parents
}
