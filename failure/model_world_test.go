package failure

import "millrace/event"

// The model is one aggregate and everybody who may touch it: a world is a
// state of all of them, small enough to be packed into two words. Its writes
// on the marker are this package's own transitions, interpreted.
//
// Generations and block ids are never repeated and only ever compared, so a
// world keeps no names: a holder's is the row's present one, or it is stale
// and stays so.
//
// Each search is one goroutine over memory of its own. Its inner functions are
// left out of the race detector, which makes minutes of the seconds they take.
const unknown = 7 // a position that nobody remembers

// row is the marker; 0 means that an attribute is absent.
type row struct {
	state         uint8 // 0 no row, then live, blocked, redriving
	blocked, seen uint8
	notified      uint8 // 1: the present block, 2: another one
	skip          uint8
	generation    bool
	blockID       bool
}

const (
	noRow = iota
	live_
	blocked_
	redriving_
)

var stateNames = [...]State{"", Live, Blocked, Redriving}

func (r row) notLive() bool { return r.state >= blocked_ }

// worker reads one shard, in order.
type worker struct {
	alive, fix bool
	got        uint8 // fetched up to this version
	done       uint8 // everything of its shard up to here is settled
	at         uint8 // the position it believes in
	blocked    bool  // it believes that the aggregate is blocked
	failed     bool  // version at+1 failed for good
}

// redriver is one job after the other.
type redriver struct {
	phase  uint8
	fix    bool
	held   bool  // the generation it holds is the row's
	fresh  bool  // nobody changed the row's state since it read or claimed it; seen by the checks alone
	target uint8 // seenVersion as it was answered
	at     uint8
}

const (
	idle    = iota
	read    // a row that is not live
	own     // claimed
	broken  // version at+1 failed for good
	skipped // the intent to skip version at+1 is written
)

// sweeper heals markers, sends letters and deletes them.
type sweeper struct {
	phase   uint8
	at      uint8 // the position read, for healing
	current bool  // the letter at hand is of the row's present block
}

const (
	resting  = iota
	healing  // the position is read
	sending  // a block without a letter was read
	sent     // the queue has it
	received // a letter came from the queue
	deleting // and may go
)

// slot holds a write that lost its answer and lands later, or never.
type slot struct {
	kind, x, y  uint8
	held, fresh bool
}

type world struct {
	head, at   uint8 // of the event store; the target's position
	row        row
	skips      bool // a poison was skipped in the target
	checkpoint [2]uint8
	owner      uint8 // of shard 0
	workers    [2]worker
	redrivers  [2]redriver
	sweeper    sweeper
	current    bool // the present block's letter is in the queue
	old        bool // letters of earlier blocks are
	lost       uint8
	slot       slot
}

type key [2]uint64

// packer writes fields of a few bits each.
type packer struct {
	k    key
	word int
	bit  uint
}

//go:norace
func (p *packer) num(v uint8, bits uint) {
	if p.bit+bits > 64 {
		p.word, p.bit = 1, 0
	}
	p.k[p.word] |= uint64(v) << p.bit
	p.bit += bits
}

//go:norace
func (p *packer) flags(flags ...bool) {
	for _, f := range flags {
		var v uint8
		if f {
			v = 1
		}
		p.num(v, 1)
	}
}

//go:norace
func (r row) pack(p *packer) {
	p.num(r.state, 2)
	p.num(r.blocked, 2)
	p.num(r.seen, 2)
	p.num(r.notified, 2)
	p.num(r.skip, 2)
	p.flags(r.generation, r.blockID)
}

//go:norace
func (w *world) pack() key {
	var p packer
	p.num(w.head, 2)
	p.num(w.at, 2)
	w.row.pack(&p)
	p.num(w.checkpoint[0], 2)
	p.num(w.checkpoint[1], 2)
	p.num(w.owner, 1)
	p.num(w.lost, 1)
	p.flags(w.skips, w.current, w.old)
	for _, o := range w.workers {
		p.flags(o.alive, o.fix, o.blocked, o.failed)
		p.num(o.got, 2)
		p.num(o.done, 2)
		p.num(o.at, 3)
	}
	for _, r := range w.redrivers {
		p.num(r.phase, 3)
		p.flags(r.fix, r.held, r.fresh)
		p.num(r.target, 2)
		p.num(r.at, 3)
	}
	p.num(w.sweeper.phase, 3)
	p.num(w.sweeper.at, 2)
	p.flags(w.sweeper.current, w.slot.held, w.slot.fresh)
	p.num(w.slot.kind, 4)
	p.num(w.slot.x, 2)
	p.num(w.slot.y, 2)
	return p.k
}

// unpacker reads what a packer wrote.
type unpacker struct {
	k    key
	word int
	bit  uint
}

//go:norace
func (p *unpacker) num(bits uint) uint8 {
	if p.bit+bits > 64 {
		p.word, p.bit = 1, 0
	}
	v := uint8(p.k[p.word]>>p.bit) & (1<<bits - 1)
	p.bit += bits
	return v
}

//go:norace
func (p *unpacker) flags(flags ...*bool) {
	for _, f := range flags {
		*f = p.num(1) == 1
	}
}

//go:norace
func (k key) unpack() world {
	var w world
	p := unpacker{k: k}
	w.head, w.at = p.num(2), p.num(2)
	w.row = row{state: p.num(2), blocked: p.num(2), seen: p.num(2), notified: p.num(2), skip: p.num(2)}
	p.flags(&w.row.generation, &w.row.blockID)
	w.checkpoint[0], w.checkpoint[1], w.owner, w.lost = p.num(2), p.num(2), p.num(1), p.num(1)
	p.flags(&w.skips, &w.current, &w.old)
	for i := range w.workers {
		o := &w.workers[i]
		p.flags(&o.alive, &o.fix, &o.blocked, &o.failed)
		o.got, o.done, o.at = p.num(2), p.num(2), p.num(3)
	}
	for i := range w.redrivers {
		r := &w.redrivers[i]
		r.phase = p.num(3)
		p.flags(&r.fix, &r.held, &r.fresh)
		r.target, r.at = p.num(2), p.num(3)
	}
	w.sweeper.phase, w.sweeper.at = p.num(3), p.num(2)
	p.flags(&w.sweeper.current, &w.slot.held, &w.slot.fresh)
	w.slot.kind, w.slot.x, w.slot.y = p.num(4), p.num(2), p.num(2)
	return w
}

// The names that stand for generations and block ids when a row is handed to a
// transition: the row's present ones, a fresh one, and stale ones.
const (
	present = "present"
	fresh   = "fresh"
	stale   = "stale"
)

// item is the row as the transitions see it; nil for none.
func (r row) item() event.Item {
	if r == (row{}) {
		return nil
	}
	item := event.Item{}
	text := func(attribute, value string, stands bool) {
		if stands {
			item[attribute] = event.String(value)
		}
	}
	version := func(attribute string, v uint8) {
		if v > 0 {
			item[attribute] = number(uint64(v))
		}
	}
	text(StateAttribute, string(stateNames[r.state]), r.state != noRow)
	text(GenerationAttribute, present, r.generation)
	text(BlockIDAttribute, present, r.blockID)
	text(NotifiedAttribute, present, r.notified == 1)
	text(NotifiedAttribute, stale, r.notified == 2)
	version(BlockedVersionAttribute, r.blocked)
	version(SeenVersionAttribute, r.seen)
	if r.skip > 0 {
		item[SkipAttribute] = Skip{Version: uint64(r.skip)}.value()
	}
	return item
}

// rowOf reads an item back, and says whether its generation and block are new.
func rowOf(item event.Item) (r row, newGeneration, newBlock bool) {
	for i, name := range stateNames {
		if item[StateAttribute] == event.String(name) {
			r.state = uint8(i)
		}
	}
	small := func(attribute string) uint8 {
		v, _ := asVersion(item[attribute])
		return uint8(v)
	}
	r.blocked, r.seen = small(BlockedVersionAttribute), small(SeenVersionAttribute)
	if skip, ok := item[SkipAttribute].(event.Map); ok {
		v, _ := asVersion(skip["version"])
		r.skip = uint8(v)
	}
	r.generation, r.blockID = item[GenerationAttribute] != nil, item[BlockIDAttribute] != nil
	if n := item[NotifiedAttribute]; n != nil {
		r.notified = 2
		if n == item[BlockIDAttribute] {
			r.notified = 1
		}
	}
	return r, item[GenerationAttribute] == event.String(fresh), item[BlockIDAttribute] == event.String(fresh)
}
