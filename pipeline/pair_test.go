package pipeline

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/reorder"
	"millrace/source"
)

// The pair: one window and the frontiers of its shards, against a store, a
// guarded target and a stream that does everything a stream may do. Whatever
// the order of arrival, duplication, the split over shards, the failures of
// the sink and the leases lost on the way, the target ends the same, and no
// record is ever settled whose version the target does not hold.

type streamRecord struct {
	aggregate string
	version   uint64
}

type pairShard struct {
	records  []streamRecord // sequence number i+1 is records[i]
	handle   reorder.Shard
	frontier *Frontier
	read     int            // records read so far
	refs     map[uint64]int // ordinal to index in records
	settled  map[int]bool   // by index, in this reading
	base     int            // the checkpoint this reading started from
}

type pair struct {
	now     time.Time
	layout  *event.Layout
	head    map[string]uint64
	shards  []*pairShard
	window  *reorder.Window
	target  map[string]uint64
	poison  map[string]uint64  // the version that cannot be applied, until a fix
	markers map[string]*marker // as a control table would hold them
	follows []reorder.Follow
	hands   []event.Run
	asked   []string
	gaps    []reorder.Gap
	handles reorder.Shard
}

// marker is the row of a blocked aggregate; no row is live.
type marker struct{ seen uint64 }

func (p *pair) image(aggregate string, version uint64) event.Image {
	return event.Decoded(event.Item{"pk": event.String(aggregate), "sk": p.layout.VersionKey(version)})
}

func (p *pair) event(aggregate string, version uint64) event.Event {
	return event.Event{Aggregate: aggregate, Version: version, Image: p.image(aggregate, version), Layout: p.layout}
}

func newPair(t *rapid.T) *pair {
	p := &pair{
		now: time.Unix(1000, 0), layout: event.Orders(), head: map[string]uint64{}, target: map[string]uint64{},
		poison: map[string]uint64{}, markers: map[string]*marker{},
		window: reorder.New(reorder.Options{
			GapWait:        time.Second,
			FillEvents:     rapid.IntRange(1, 4).Draw(t, "fillEvents"),
			IdleAggregates: rapid.IntRange(1, 3).Draw(t, "idle"),
		}),
	}
	shards := rapid.IntRange(1, 3).Draw(t, "shards")
	for range shards {
		p.shards = append(p.shards, &pairShard{})
	}
	for a := range rapid.IntRange(1, 4).Draw(t, "aggregates") {
		name := fmt.Sprintf("a%d", a)
		p.head[name] = uint64(rapid.IntRange(1, 10).Draw(t, "versions"))
		for v := uint64(1); v <= p.head[name]; v++ {
			s := p.shards[rapid.IntRange(0, shards-1).Draw(t, "shard")]
			// Anywhere in the shard: only the item's own order is promised.
			at := rapid.IntRange(0, len(s.records)).Draw(t, "place")
			s.records = append(s.records[:at], append([]streamRecord{{name, v}}, s.records[at:]...)...)
		}
		if rapid.IntRange(0, 2).Draw(t, "poison") == 0 {
			p.poison[name] = uint64(rapid.IntRange(1, int(p.head[name])).Draw(t, "poison at"))
		}
		if rapid.Bool().Draw(t, "applied before") {
			p.target[name] = uint64(rapid.IntRange(0, int(p.below(name))).Draw(t, "position"))
		}
	}
	for _, s := range p.shards {
		p.take(s, 0)
	}
	return p
}

// take starts a reading of a shard after a number of records.
func (p *pair) take(s *pairShard, from int) {
	p.handles++
	s.handle, s.read, s.base = p.handles, from, from
	s.refs, s.settled = map[uint64]int{}, map[int]bool{}
	start := source.Start{Kind: source.TrimHorizon}
	if from > 0 {
		start = source.Start{Kind: source.AfterSequence, Sequence: sequenceOf(from - 1)}
	}
	s.frontier = NewFrontier(start, 1)
}

func sequenceOf(index int) event.SequenceNumber {
	return event.SequenceNumber(fmt.Sprint(100 + index*7))
}

// checkpoint is how many records the shard's checkpoint has passed.
func (p *pair) checkpoint(t *rapid.T, s *pairShard) int {
	at, _ := s.frontier.Checkpoint()
	switch at.Kind {
	case source.TrimHorizon:
		return 0
	case source.AfterSequence:
		for i := range s.records {
			if sequenceOf(i) == at.Sequence {
				return i + 1
			}
		}
	default: // fails below
	}
	t.Fatalf("checkpoint %v is no record's", at)
	return 0
}

func (p *pair) settle(t *rapid.T, refs []reorder.Ref) {
	for _, ref := range refs {
		for _, s := range p.shards {
			if s.handle != ref.Shard {
				continue
			}
			i, known := s.refs[ref.Ordinal]
			if !known {
				t.Fatalf("settled ordinal %d of shard %d, which was never offered", ref.Ordinal, ref.Shard)
			}
			if s.settled[i] {
				t.Fatalf("record %v was settled twice", s.records[i])
			}
			s.settled[i] = true
			r := s.records[i]
			if m := p.markers[r.aggregate]; p.target[r.aggregate] < r.version && (m == nil || m.seen < r.version) {
				t.Fatalf("settled %v while the target holds %d and the marker is %+v", r, p.target[r.aggregate], m)
			}
			s.frontier.Settle(0, ref.Ordinal)
		}
	}
}

func (p *pair) readPage(t *rapid.T, s *pairShard, limit int) {
	n := min(limit, len(s.records)-s.read)
	if n == 0 {
		return
	}
	marks := make([]Mark, n)
	for i := range n {
		marks[i] = Mark{Sequence: sequenceOf(s.read + i), Created: p.now, Waits: true}
	}
	first := s.frontier.Page(marks)
	offered := make([]reorder.Offered, n)
	for i := range n {
		r := s.records[s.read+i]
		offered[i] = reorder.Offered{Event: p.event(r.aggregate, r.version), Ordinal: first + uint64(i)}
		s.refs[first+uint64(i)] = s.read + i
	}
	s.read += n
	p.settle(t, p.window.Offer(p.now, s.handle, 10*n, offered))
}

func (p *pair) claim(t *rapid.T, limit int) bool {
	run, ok := p.window.Next(limit)
	if !ok {
		return false
	}
	if len(run.Events) == 0 || len(run.Events) > limit {
		t.Fatalf("a run of %d events, limit %d", len(run.Events), limit)
	}
	for i, e := range run.Events {
		item, err := e.Image.Item()
		if err != nil || e.Version != run.After.Version+uint64(i)+1 || e.Aggregate != run.Aggregate ||
			!item.Equal(event.Item{"pk": event.String(run.Aggregate), "sk": p.layout.VersionKey(e.Version)}) {
			t.Fatalf("run after %d has event %d as %d with %v, %v", run.After.Version, i, e.Version, item, err)
		}
	}
	for _, other := range p.hands {
		if other.Aggregate == run.Aggregate {
			t.Fatalf("%s was handed out twice at a time", run.Aggregate)
		}
	}
	p.hands = append(p.hands, run)
	return true
}

// below is the last version that can be applied.
func (p *pair) below(aggregate string) uint64 {
	if v := p.poison[aggregate]; v > 0 {
		return v - 1
	}
	return p.head[aggregate]
}

// apply does what a guarded target does, up to n events of the run and never
// a poisoned one.
func (p *pair) apply(run event.Run, n int) uint64 {
	n = min(n, int(max(p.below(run.Aggregate), run.After.Version)-run.After.Version))
	if at := p.target[run.Aggregate]; at >= run.After.Version {
		p.target[run.Aggregate] = max(at, run.After.Version+uint64(n))
	}
	return p.target[run.Aggregate]
}

var errTry = errors.New("try again")

func (p *pair) done(t *rapid.T, i int, how string) {
	run := p.hands[i]
	p.hands = append(p.hands[:i], p.hands[i+1:]...)
	o := event.Outcome{Known: true}
	switch how {
	case "applied":
		if o.Position.Version = p.apply(run, len(run.Events)); o.Position.Version < run.Last().Version {
			o.Err = errTry
		}
	case "cut short":
		n := rapid.IntRange(0, len(run.Events)-1).Draw(t, "applied")
		if n > 0 {
			p.apply(run, n)
		}
		o.Position.Version, o.Err = p.target[run.Aggregate], errTry
	case "lost after the effect":
		p.apply(run, len(run.Events))
		o.Known, o.Err = false, errTry
	case "the target forgot":
		if run.After.Version > 0 {
			p.target[run.Aggregate] = uint64(rapid.IntRange(0, int(run.After.Version)-1).Draw(t, "what is left"))
		}
		if o.Position.Version = p.target[run.Aggregate]; run.After.Version == 0 {
			o.Err = errTry // nothing could be forgotten, and nothing was applied
		}
	case "lost before the effect":
		o.Known, o.Err = false, errTry
	}
	p.settle(t, p.window.Done(p.now, run.Aggregate, o, p.now.Add(time.Second)))
	if failed := p.target[run.Aggregate] + 1; o.Known && o.Err != nil && failed == p.poison[run.Aggregate] {
		p.block(t, run.Aggregate, failed)
	}
}

// block writes a marker, unless one is there: then it says what that one has
// on record.
func (p *pair) block(t *rapid.T, aggregate string, v uint64) {
	if p.markers[aggregate] == nil {
		p.markers[aggregate] = &marker{seen: v}
	}
	p.settle(t, p.window.Block(aggregate, p.markers[aggregate].seen))
}

// follow raises a marker, or tells that it is live.
func (p *pair) follow(t *rapid.T, i int) {
	f := p.follows[i]
	p.follows = append(p.follows[:i], p.follows[i+1:]...)
	m := p.markers[f.Aggregate]
	if m == nil {
		p.settle(t, p.window.Followed(p.now, f, 0))
		return
	}
	m.seen = max(m.seen, f.UpTo)
	p.settle(t, p.window.Followed(p.now, f, m.seen))
}

// redrive fixes an aggregate, applies what its marker has on record and
// releases it; the window is not told.
func (p *pair) redrive(aggregate string) {
	delete(p.poison, aggregate)
	if m := p.markers[aggregate]; m != nil {
		p.target[aggregate] = max(p.target[aggregate], m.seen)
		delete(p.markers, aggregate)
	}
}

func (p *pair) due() {
	gaps, _ := p.window.Due(p.now)
	p.gaps = append(p.gaps, gaps...)
}

func (p *pair) answerGap(t *rapid.T, i int, n uint64) {
	g := p.gaps[i]
	p.gaps = append(p.gaps[:i], p.gaps[i+1:]...)
	if n == 0 {
		p.window.Postpone(p.now, g, p.now.Add(2*time.Second))
		return
	}
	if g.To > p.head[g.Aggregate] || g.From == 0 || g.From > g.To {
		t.Fatalf("asked for %d to %d of %s, which ends at %d", g.From, g.To, g.Aggregate, p.head[g.Aggregate])
	}
	var events []event.Event
	for v := g.From; v <= g.To && uint64(len(events)) < n; v++ {
		events = append(events, p.event(g.Aggregate, v))
	}
	p.window.Fill(p.now, g, events)
}

// invariant holds after every step.
func (p *pair) invariant(t *rapid.T) {
	u := p.window.Usage()
	if u.Bytes < 0 || u.Entries < 0 || u.Fills < 0 {
		t.Fatalf("usage fell below nothing: %+v", u)
	}
	waiting := 0
	for _, s := range p.shards {
		for i := range p.checkpoint(t, s) - s.base {
			if !s.settled[s.base+i] {
				t.Fatalf("the checkpoint has passed %v, which is not settled", s.records[s.base+i])
			}
		}
		waiting += s.read - s.base - len(s.settled)
	}
	// What was in hand when its lease was lost is counted until it comes back.
	inHand := 0
	for _, run := range p.hands {
		inHand += len(run.Events)
	}
	if u.Entries < waiting || u.Entries > waiting+inHand {
		t.Fatalf("%d records are not settled and %d in hand, the window counts %d", waiting, inHand, u.Entries)
	}
}

func TestPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		pick := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		actions := map[string]func(*rapid.T){
			"": p.invariant,
			"read": func(t *rapid.T) {
				p.readPage(t, p.shards[pick(len(p.shards), "shard")], rapid.IntRange(1, 5).Draw(t, "limit"))
			},
			"claim": func(t *rapid.T) { p.claim(t, rapid.IntRange(1, 4).Draw(t, "limit")) },
			"done": func(t *rapid.T) {
				if len(p.hands) == 0 {
					t.Skip("nothing in hand")
				}
				p.done(t, pick(len(p.hands), "run"), rapid.SampledFrom([]string{"applied", "applied", "applied", "cut short", "the target forgot", "lost after the effect", "lost before the effect"}).Draw(t, "how"))
			},
			"somebody else applies": func(t *rapid.T) {
				a := fmt.Sprintf("a%d", pick(len(p.head), "aggregate"))
				if p.target[a] < p.below(a) {
					p.target[a]++
				}
			},
			"unseen": func(*rapid.T) { p.asked = append(p.asked, p.window.Unseen(2)...) },
			"learn": func(t *rapid.T) {
				if len(p.asked) == 0 {
					t.Skip("nothing asked")
				}
				i := pick(len(p.asked), "asked")
				a := p.asked[i]
				p.asked = append(p.asked[:i], p.asked[i+1:]...)
				if rapid.IntRange(0, 3).Draw(t, "unreadable") == 0 {
					p.window.Unlearned(a, p.now.Add(time.Second))
					return
				}
				p.settle(t, p.window.Learn(p.now, a, event.Position{Version: p.target[a]}))
			},
			"time passes": func(t *rapid.T) {
				p.now = p.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
				p.due()
			},
			"fill": func(t *rapid.T) {
				if len(p.gaps) == 0 {
					t.Skip("no gap")
				}
				p.answerGap(t, pick(len(p.gaps), "gap"), uint64(rapid.IntRange(0, 4).Draw(t, "events")))
			},
			"pause":  func(*rapid.T) { p.window.Suspend() },
			"resume": func(t *rapid.T) { p.window.Resume(p.now, rapid.IntRange(1, 3).Draw(t, "limit")) },
			"wake":   func(t *rapid.T) { p.window.Wake(p.now, fmt.Sprintf("a%d", pick(len(p.head), "aggregate"))) },
			"lose a lease": func(t *rapid.T) {
				s := p.shards[pick(len(p.shards), "shard")]
				at := p.checkpoint(t, s)
				p.window.Drop(p.now, s.handle)
				p.take(s, at)
			},
			"take follows": func(*rapid.T) { p.follows = append(p.follows, p.window.Follows(2)...) },
			"follow": func(t *rapid.T) {
				if len(p.follows) == 0 {
					t.Skip("nothing to follow")
				}
				p.follow(t, pick(len(p.follows), "follow"))
			},
			"redrive": func(t *rapid.T) { p.redrive(fmt.Sprintf("a%d", pick(len(p.head), "aggregate"))) },
			"markers are listed": func(t *rapid.T) {
				a := fmt.Sprintf("a%d", pick(len(p.head), "aggregate"))
				if m := p.markers[a]; m != nil {
					p.settle(t, p.window.Block(a, m.seen))
				} else {
					p.window.Unblock(a)
				}
			},
			"shed": func(t *rapid.T) { p.window.Shed(rapid.IntRange(0, 30).Draw(t, "bytes")) },
		}
		t.Repeat(actions)
		p.finish(t)
	})
}

// finish lets everything go well from here on; then everything must be in
// effect and settled.
func (p *pair) finish(t *rapid.T) {
	for a := range p.head {
		p.redrive(a)
	}
	p.window.Resume(p.now, math.MaxInt)
	for range 2000 {
		for p.follows = append(p.follows, p.window.Follows(100)...); len(p.follows) > 0; {
			p.follow(t, 0)
		}
		for _, s := range p.shards {
			p.readPage(t, s, 100)
		}
		p.asked = append(p.asked, p.window.Unseen(100)...)
		for _, a := range p.asked {
			p.settle(t, p.window.Learn(p.now, a, event.Position{Version: p.target[a]}))
		}
		p.asked = nil
		for p.claim(t, 1000) {
		}
		for len(p.hands) > 0 {
			p.done(t, 0, "applied")
		}
		p.now = p.now.Add(500 * time.Millisecond)
		p.due()
		for len(p.gaps) > 0 {
			p.answerGap(t, 0, 1000)
		}
		p.invariant(t)
		if p.complete() {
			break
		}
	}
	// A record of its own brought every version that is not there by now.
	for _, s := range p.shards {
		if !s.frontier.Settled() {
			t.Fatalf("after 1000 s without a fault shard %d still waits: %+v", s.handle, p.window.Usage())
		}
		if at := p.checkpoint(t, s); at != len(s.records) {
			t.Fatalf("the checkpoint stands after %d of %d records", at, len(s.records))
		}
	}
	for a, head := range p.head {
		if p.target[a] != head {
			t.Fatalf("%s ended at %d of %d", a, p.target[a], head)
		}
	}
	if u := p.window.Usage(); u != (reorder.Usage{}) {
		t.Fatalf("nothing waits, and the window still holds %+v", u)
	}
}

func (p *pair) complete() bool {
	for _, s := range p.shards {
		if s.read < len(s.records) || !s.frontier.Settled() {
			return false
		}
	}
	return true
}
