package source

import "time"

// AbsenceLimit is how long a finished shard must have been missing from every
// whole listing before its row may go. A stream keeps records for 24 hours
// (DynamoDB Streams, "Data retention limit"); a row deleted earlier would be
// made again from a stale page, and the shard be read a second time.
const AbsenceLimit = 24 * time.Hour

// Absence remembers since when finished shards have been missing. It starts
// from nothing after a restart, which keeps rows longer and never too short.
//
// The zero value is ready for use. It is not safe for concurrent use.
type Absence struct {
	since map[ShardID]time.Time
	whole int
}

// Observe takes the finished shards that have rows, after a Discover, and
// returns those whose rows may be deleted: missing from every whole listing for
// AbsenceLimit. Without a new whole listing nothing is learnt.
func (a *Absence) Observe(now time.Time, l *Listing, finished []ShardID) []ShardID {
	if l.whole == a.whole {
		return nil
	}
	a.whole = l.whole
	since := make(map[ShardID]time.Time, len(finished))
	var out []ShardID
	for _, id := range finished {
		if l.Has(id) {
			continue
		}
		first, ok := a.since[id]
		if !ok {
			first = now
		}
		since[id] = first
		if now.Sub(first) >= AbsenceLimit {
			out = append(out, id)
		}
	}
	a.since = since
	return out
}
