package localaws

import (
	"fmt"
	"slices"
	"time"

	"millrace/event"
)

// ShardInfo is what the engine knows of a shard, hidden ones included.
type ShardInfo struct {
	ID, Parent     string
	Closed         bool
	First, Last    string // sequence numbers; Last is First while there was no record
	FromHash       uint64 // the range of hashes, both ends included
	ToHash         uint64
	Records        int // readable or not, trimmed ones not counted
	Opened, Sealed time.Time
}

// Shards lists the shards of the table's newest stream, parents before
// children; nil when there is none.
func (e *Engine) Shards(table string) []ShardInfo {
	var out []ShardInfo
	_ = e.onStream(table, func(s *stream, _ time.Time) error {
		for _, h := range s.shards {
			h.settle(e.options.Permute)
			to := ^uint64(0)
			if !h.endless {
				to = h.to.hash
				if h.to.partition == "" {
					to--
				}
			}
			out = append(out, ShardInfo{
				ID: h.id, Parent: h.parent, Closed: !h.open(), First: h.first.String(), Last: h.last.String(),
				FromHash: h.from.hash, ToHash: to, Records: len(h.records), Opened: h.opened, Sealed: h.closed,
			})
		}
		return nil
	})
	return out
}

// onStream works on the newest stream of a table under the lock.
func (e *Engine) onStream(tableName string, work func(*stream, time.Time) error) error {
	t, err := e.table(tableName)
	if err != nil {
		return fmt.Errorf("looking up table %q: %w", tableName, err)
	}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.stream == nil {
		return fmt.Errorf("table %q has no stream", tableName)
	}
	t.stream.advance(now)
	return work(t.stream, now)
}

// onShard works on one shard of the newest stream of a table under the lock.
func (e *Engine) onShard(table, id string, work func(*stream, *shard, time.Time) error) error {
	return e.onStream(table, func(s *stream, now time.Time) error {
		h := s.shard(id)
		if h == nil {
			return fmt.Errorf("the stream of table %q has no shard %q", table, id)
		}
		return work(s, h, now)
	})
}

// onOpenShard is onShard for shards that still take records.
func (e *Engine) onOpenShard(table, id string, work func(*stream, *shard, time.Time) error) error {
	return e.onShard(table, id, func(s *stream, h *shard, now time.Time) error {
		if !h.open() {
			return fmt.Errorf("shard %q of table %q is closed", id, table)
		}
		return work(s, h, now)
	})
}

// Roll closes an open shard and opens one child that takes its place.
func (e *Engine) Roll(table, shardID string) error {
	return e.onOpenShard(table, shardID, func(s *stream, h *shard, now time.Time) error {
		s.roll(h, now)
		return nil
	})
}

// RollAll rolls every open shard of a table over.
func (e *Engine) RollAll(table string) error {
	return e.onStream(table, func(s *stream, now time.Time) error {
		for _, h := range slices.Clone(s.shards) {
			if h.open() {
				s.roll(h, now)
			}
		}
		return nil
	})
}

// Split closes an open shard and opens two children, each for half of its
// hashes. A shard of a single hash, which only SplitCollection makes, is
// refused.
func (e *Engine) Split(table, shardID string) error {
	return e.onOpenShard(table, shardID, func(s *stream, h *shard, now time.Time) error {
		top := ^uint64(0)
		if !h.endless {
			top = h.to.hash
		}
		middle := point{hash: h.from.hash + (top-h.from.hash)/2}
		if middle.compare(h.from) <= 0 {
			return fmt.Errorf("shard %q of table %q is too small to be split by hash", shardID, table)
		}
		s.split(h, middle, now)
		return nil
	})
}

// SplitCollection splits the open shard that takes the newest items of one
// item collection within that collection: items with sort keys from above on
// go to the second child. Above may lie behind the newest item, as where an
// append-only collection is split that only grows at its end.
func (e *Engine) SplitCollection(table string, partitionKey, above event.Value) error {
	at, err := e.pointIn(table, partitionKey, above)
	if err != nil {
		return err
	}
	return e.onStream(table, func(s *stream, now time.Time) error {
		if !s.disabled.IsZero() {
			return fmt.Errorf("the stream of table %q is disabled", table)
		}
		h := s.openAt(at)
		if h.from == at {
			return fmt.Errorf("shard %q of table %q begins at that key already", h.id, table)
		}
		s.split(h, at, now)
		return nil
	})
}

// SplitAlternating sends the items of one collection to two open shards in
// turns: the first item written after the call to one, the second to the
// other, and so on. One item stays in one shard. This is harder than any split
// of the service, where a collection is cut in ranges.
func (e *Engine) SplitAlternating(table string, partitionKey event.Value) error {
	at, err := e.pointIn(table, partitionKey, nil)
	if err != nil {
		return err
	}
	return e.onStream(table, func(s *stream, now time.Time) error {
		switch {
		case !s.disabled.IsZero():
			return fmt.Errorf("the stream of table %q is disabled", table)
		case s.alternating[at.partition] != nil:
			return fmt.Errorf("the collection alternates already in table %q", table)
		}
		other := at.above()
		if h := s.openAt(other); h.from != other {
			s.split(h, other, now)
		}
		if s.alternating == nil {
			s.alternating = map[string]*alternation{}
		}
		s.alternating[at.partition] = &alternation{other: other, assigned: map[string]bool{}}
		return nil
	})
}

// pointIn encodes a key; a nil sort key stands for the collection's beginning.
func (e *Engine) pointIn(table string, partitionKey, sortKey event.Value) (point, error) {
	t, err := e.table(table)
	if err != nil {
		return point{}, fmt.Errorf("looking up table %q: %w", table, err)
	}
	key := event.Item{t.schema.partition.Name: partitionKey}
	if sortKey == nil {
		if partitionKey == nil || partitionKey.Tag() != t.schema.partition.Kind {
			return point{}, fmt.Errorf("the partition key of table %q is of type %s", table, t.schema.partition.Kind)
		}
		encoded, err := sortable(partitionKey)
		return pointOf(encoded, ""), err
	}
	if t.schema.sort.Name == "" {
		return point{}, fmt.Errorf("table %q has no sort key", table)
	}
	key[t.schema.sort.Name] = sortKey
	k, err := t.schema.ofKey(key)
	if err != nil {
		return point{}, fmt.Errorf("reading the key: %w", err)
	}
	return k.point, nil
}

// Trim drops the records that were written before a time, and the closed
// shards that have none left and were closed before it.
func (e *Engine) Trim(table string, before time.Time) error {
	return e.onStream(table, func(s *stream, _ time.Time) error {
		for _, h := range s.shards {
			h.settle(e.options.Permute)
		}
		s.trim(before)
		return nil
	})
}

// ExpireIterators expires every iterator of the table's newest stream that was
// given out so far.
func (e *Engine) ExpireIterators(table string) error {
	return e.onStream(table, func(s *stream, _ time.Time) error {
		s.iterates++
		return nil
	})
}

// DelayVisible makes a shard lag: its records can be read only when they are as
// old as delay. Zero ends it. Children are not affected.
func (e *Engine) DelayVisible(table, shardID string, delay time.Duration) error {
	return e.onShard(table, shardID, func(_ *stream, h *shard, _ time.Time) error {
		h.delay = delay
		return nil
	})
}

// HideShard takes a shard out of all listings, or puts it back. It can still
// be read by who knows its id.
func (e *Engine) HideShard(table, shardID string, hidden bool) error {
	return e.onShard(table, shardID, func(_ *stream, h *shard, _ time.Time) error {
		h.hidden = hidden
		return nil
	})
}

// HideParents makes listings show children without their parents, or whole
// lineages again.
func (e *Engine) HideParents(table string, hidden bool) error {
	return e.onStream(table, func(s *stream, _ time.Time) error {
		s.orphans = hidden
		return nil
	})
}

// DisableStream disables the table's stream as UpdateTable does: its shards
// are closed and stay readable.
func (e *Engine) DisableStream(table string) error {
	return e.onStream(table, func(s *stream, now time.Time) error {
		if !s.disabled.IsZero() {
			return fmt.Errorf("the stream of table %q is disabled already", table)
		}
		s.disable(now)
		return nil
	})
}

// EnableStream gives the table a new stream with the view type of the last one,
// or with both images where it never had one.
func (e *Engine) EnableStream(tableName string) error {
	t, err := e.table(tableName)
	if err != nil {
		return fmt.Errorf("looking up table %q: %w", tableName, err)
	}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.streaming() != nil {
		return fmt.Errorf("the stream of table %q is enabled already", tableName)
	}
	view := viewBoth
	if t.stream != nil {
		view = t.stream.view
	}
	e.enableStream(t, view, now)
	return nil
}
