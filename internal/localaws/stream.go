package localaws

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"millrace/event"
)

// The view types of a stream.
const (
	viewKeys = "KEYS_ONLY"
	viewNew  = "NEW_IMAGE"
	viewOld  = "OLD_IMAGE"
	viewBoth = "NEW_AND_OLD_IMAGES"
)

// stream is one stream of a table, from enabling to disabling. It stays
// readable until its records are trimmed. Guarded by Engine.mu.
type stream struct {
	engine *Engine
	table  *table
	arn    string
	label  string
	view   string

	created  time.Time
	disabled time.Time // zero while enabled
	shards   []*shard  // parents before children
	iterates int       // generation of iterators: older ones are expired
	orphans  bool      // listings hide parents whose children they show

	alternating map[string]*alternation // by partition key
}

// alternation sends the items of one collection to two places in turns.
type alternation struct {
	other    point
	assigned map[string]bool // by sort key: goes to the other place
}

// enableStream starts a new stream on a table. The caller holds e.mu.
func (e *Engine) enableStream(t *table, view string, now time.Time) {
	at := now.UTC()
	label := at.Format("2006-01-02T15:04:05.000")
	for e.streams[t.arn+"/stream/"+label] != nil {
		at = at.Add(time.Millisecond)
		label = at.Format("2006-01-02T15:04:05.000")
	}
	s := &stream{engine: e, table: t, arn: t.arn + "/stream/" + label, label: label, view: view, created: now}
	first := firstSequence(rand.New(rand.NewPCG(e.options.Seed, e.identity()))) //nolint:gosec // choices that a seed repeats
	width := ^uint64(0)/uint64(e.options.Shards) + 1
	for i := range e.options.Shards {
		h := &shard{from: point{hash: width * uint64(i)}, to: point{hash: width * uint64(i+1)}, endless: i == e.options.Shards-1}
		s.add(h, nil, first, now)
	}
	t.stream = s
	e.streams[s.arn] = s
}

// add opens a shard.
func (s *stream) add(h *shard, parent *shard, first sequence, now time.Time) {
	id := s.engine.identity()
	h.id = fmt.Sprintf("shardId-%020d-%08x", now.UnixMilli(), uint32(id>>32)) //nolint:gosec // half of the bits are enough
	if parent != nil {
		h.parent = parent.id
	}
	h.random = rand.New(rand.NewPCG(s.engine.options.Seed, id)) //nolint:gosec // choices that a seed repeats
	h.opened, h.first, h.last = now, first, first
	if after := s.engine.options.RollAfter; after > 0 {
		// Up to an eighth earlier: the shards of a stream do not roll at once.
		h.rollAt = now.Add(after - time.Duration(h.random.Int64N(int64(after)/8+1)))
	}
	s.shards = append(s.shards, h)
}

// close ends a shard: what waited for a number gets it first.
func (s *stream) close(h *shard, now time.Time) {
	h.settle(s.engine.options.Permute)
	h.closed = now
}

// roll closes a shard and opens one child for its whole range.
func (s *stream) roll(h *shard, now time.Time) *shard {
	s.close(h, now)
	child := &shard{from: h.from, to: h.to, endless: h.endless}
	s.add(child, h, childSequence(s.engine.options.ChildSequences, h.first, h.last, h.random), now)
	return child
}

// split closes a shard and opens two children, for what lies below a point and
// for the rest.
func (s *stream) split(h *shard, at point, now time.Time) {
	s.close(h, now)
	way := s.engine.options.ChildSequences
	s.add(&shard{from: h.from, to: at}, h, childSequence(way, h.first, h.last, h.random), now)
	s.add(&shard{from: at, to: h.to, endless: h.endless}, h, childSequence(way, h.first, h.last, h.random), now)
}

// disable closes all shards for good.
func (s *stream) disable(now time.Time) {
	s.advance(now)
	for _, h := range s.shards {
		if h.open() {
			s.close(h, now)
		}
	}
	s.disabled = now
}

// advance does what has become due: roll-overs and trimming.
func (s *stream) advance(now time.Time) {
	for i := 0; i < len(s.shards); i++ { // children are appended while we go
		h := s.shards[i]
		for h.open() && !h.rollAt.IsZero() && !now.Before(h.rollAt) {
			h = s.roll(h, h.rollAt)
		}
	}
	s.trim(now.Add(-retention))
}

// trim drops the records from before a time, and the shards that are left with
// nothing.
func (s *stream) trim(before time.Time) {
	for _, h := range s.shards {
		if !h.open() || len(h.records) > 0 {
			h.trimBefore(before)
		}
	}
	s.shards = slices.DeleteFunc(s.shards, func(h *shard) bool { return h.gone(before) })
}

// shard finds a shard by id, nil when there is none.
func (s *stream) shard(id string) *shard {
	for _, h := range s.shards {
		if h.id == id {
			return h
		}
	}
	return nil
}

// openAt is the open shard that takes an item's records.
func (s *stream) openAt(p point) *shard {
	for _, h := range s.shards {
		if h.open() && h.covers(p) {
			return h
		}
	}
	panic("localaws: no open shard covers the point") // shards tile the key space
}

// route is the place in the key space that decides about an item's shard: its
// own, but for collections that are sent to two shards in turns.
func (s *stream) route(p point) point {
	a := s.alternating[p.partition]
	if a == nil {
		return p
	}
	other, known := a.assigned[p.sort]
	if !known {
		other = len(a.assigned)%2 == 1
		a.assigned[p.sort] = other
	}
	if other {
		return a.other
	}
	return p
}

// write emits the record of a change.
func (s *stream) write(e *Engine, c *callContext, f effect, change *Change) {
	s.advance(c.now)
	h := s.openAt(s.route(f.write.key.point))
	r := record{at: c.now, item: f.write.key.point, change: change, tail: `"}}`}
	if f.write.identity != "" {
		r.tail = `"},"userIdentity":` + f.write.identity + `}`
	}
	r.json = s.encode(e, c, f)
	if change != nil {
		change.Shard = h.id
	}
	h.write(r, e.options.Permute)
	if limit := e.options.RollRecords; limit > 0 && h.written >= limit {
		s.roll(h, c.now)
	}
}

// encode writes a record up to the digits of its sequence number.
func (s *stream) encode(e *Engine, c *callContext, f effect) []byte {
	name := "MODIFY"
	switch {
	case f.old == nil:
		name = "INSERT"
	case f.new == nil:
		name = "REMOVE"
	}
	key := f.write.key.item
	size := itemSize(key)
	r := &reply{b: make([]byte, 1, 512+2*f.size())}
	r.b[0] = '{'
	r.text("eventID", fmt.Sprintf("%016x%016x", mix(e.options.Seed^mix(e.commits)), mix(e.commits)))
	r.text("eventName", name)
	r.text("eventVersion", "1.1")
	r.text("eventSource", "aws:dynamodb")
	r.text("awsRegion", e.options.Region)
	r.name("dynamodb")
	r.b = append(r.b, '{')
	r.integer("ApproximateCreationDateTime", int(c.now.Unix()))
	r.raw("Keys", event.AppendItemJSON(nil, key))
	if f.new != nil && (s.view == viewNew || s.view == viewBoth) {
		r.raw("NewImage", f.new.json)
		size += f.new.size
	}
	if f.old != nil && (s.view == viewOld || s.view == viewBoth) {
		r.raw("OldImage", f.old.json)
		size += f.old.size
	}
	r.integer("SizeBytes", size)
	r.text("StreamViewType", s.view)
	r.name("SequenceNumber")
	r.b = append(r.b, '"')
	return r.b
}
