package failure

import (
	"fmt"
	"slices"
	"strings"
)

// check says what must hold in every state; "" when it does.
//
//go:norace
func (m *model) check(w *world) string {
	for i := range w.workers {
		if o := &w.workers[i]; o.alive && !m.accounted(w, i, o.done) {
			return "I1: a settled version is on no record"
		}
		if lease := m.leaseOf(i); !m.accounted(w, i, w.checkpoint[lease]) {
			return "I1: the checkpoint passed a version that is on no record"
		}
	}
	if m.letters && w.row.notLive() && w.row.notified == 1 && !w.current {
		return "H20: a block counts as told, and no letter of it is in the queue"
	}
	return ""
}

// accounted reports whether everything of a shard up to v is on record.
//
//go:norace
func (m *model) accounted(w *world, i int, v uint8) bool {
	for ; v > w.at; v-- {
		if m.shard(i)&(1<<v) != 0 {
			return w.row.notLive() && w.row.seen >= v // the highest decides
		}
	}
	return true
}

// goal is what must be reachable from every state by steps of some kinds.
type goal struct {
	name   string
	by     who
	within func(c config) bool
	met    func(m *model, w *world) bool
}

var goals = []goal{
	{"C12: everything is applied and released", byWorker | byRedriver | bySweeper | byAppender | byDeploy, func(c config) bool { return c.redrivers > 0 }, (*model).ended},
	{"C8: the shards go on, whoever else does or does not", byWorker, func(config) bool { return true }, (*model).flowing},
	{"H16: a marker that the position has passed ends", bySweeper, func(c config) bool { return c.heal }, (*model).healed},
	{"H20: a block is told", bySweeper, func(c config) bool { return c.letters }, (*model).told},
}

func (m *model) ended(w *world) bool {
	return w.at == versions && !w.row.notLive() && m.flowing(w)
}

// flowing: every record of every owned shard is settled and checkpointed.
func (m *model) flowing(w *world) bool {
	for i := range w.workers {
		if !w.workers[i].alive || !m.owns(w, i) {
			continue
		}
		for v := w.checkpoint[m.leaseOf(i)] + 1; v <= w.head; v++ {
			if m.shard(i)&(1<<v) != 0 {
				return false
			}
		}
	}
	return true
}

func (m *model) healed(w *world) bool { return !w.row.notLive() || w.row.seen > w.at }

func (m *model) told(w *world) bool {
	return w.row.state != blocked_ || w.row.notified == 1 && w.current
}

// found is what a search ended with.
type found struct {
	states int
	what   string // "" when all is well
	steps  int    // the shortest way there
	trace  []string
}

// table is a set of keys in order of arrival, with open addressing.
type table struct {
	keys  []key
	index []uint32 // 0: free, else position in keys + 1
}

func newTable() *table { return &table{index: make([]uint32, 1<<16)} }

//go:norace
func (t *table) at(k key) uint64 {
	h := (k[0] ^ k[1]*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return h ^ h>>31
}

// add returns the key's position, and whether it is new.
//
//go:norace
func (t *table) add(k key) (uint32, bool) {
	if 2*len(t.keys) >= len(t.index) {
		t.grow()
	}
	mask := uint64(len(t.index) - 1)
	for at := t.at(k) & mask; ; at = (at + 1) & mask {
		switch n := t.index[at]; {
		case n == 0:
			t.keys = append(t.keys, k)
			t.index[at] = uint32(len(t.keys))
			return uint32(len(t.keys) - 1), true
		case t.keys[n-1] == k:
			return n - 1, false
		}
	}
}

//go:norace
func (t *table) grow() {
	t.index = make([]uint32, 2*len(t.index))
	mask := uint64(len(t.index) - 1)
	for i, k := range t.keys {
		at := t.at(k) & mask
		for t.index[at] != 0 {
			at = (at + 1) & mask
		}
		t.index[at] = uint32(i + 1)
	}
}

// graph is everything that was reached.
type graph struct {
	*table
	parent []uint32
	from   []uint32 // edges, in order of their source
	to     []uint32
	by     []who
}

// search visits every state, breadth first, and stops at the first that is
// wrong. With progress it then asks for the ways to each goal.
//
//go:norace
func (m *model) search(progress bool) found {
	g := &graph{table: newTable(), parent: []uint32{0}}
	start := m.start()
	g.add(start.pack())
	for at := uint32(0); int(at) < len(g.keys); at++ {
		w := g.keys[at].unpack()
		for _, s := range m.successors(&w) {
			if s.broken != "" {
				trace := append(m.trace(g, at), s.String())
				return found{states: len(g.keys), what: s.broken, steps: len(trace), trace: trace}
			}
			next, isNew := g.add(s.next.pack())
			if isNew {
				g.parent = append(g.parent, at)
			}
			if progress && next != at {
				g.from, g.to, g.by = append(g.from, at), append(g.to, next), append(g.by, s.by)
			}
		}
	}
	f := found{states: len(g.keys)}
	if progress {
		for _, goal := range goals {
			if !goal.within(m.config) {
				continue
			}
			if stuck, ok := m.stuck(g, goal); ok {
				f.what, f.trace = goal.name, m.trace(g, stuck)
				f.steps = len(f.trace)
				return f
			}
		}
	}
	return f
}

// stuck returns the first state from which no way leads to a goal.
//
//go:norace
func (m *model) stuck(g *graph, goal goal) (uint32, bool) {
	first := make([]uint32, len(g.keys)+1) // of the edges into each state
	for i, to := range g.to {
		if g.by[i]&goal.by != 0 {
			first[to+1]++
		}
	}
	for i := range g.keys {
		first[i+1] += first[i]
	}
	into := make([]uint32, first[len(g.keys)])
	fill := slices.Clone(first)
	for i, to := range g.to {
		if g.by[i]&goal.by != 0 {
			into[fill[to]] = g.from[i]
			fill[to]++
		}
	}
	good := make([]bool, len(g.keys))
	var queue []uint32
	for i, k := range g.keys {
		if w := k.unpack(); goal.met(m, &w) {
			good[i] = true
			queue = append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range into[first[at]:first[at+1]] {
			if !good[from] {
				good[from] = true
				queue = append(queue, from)
			}
		}
	}
	at := slices.Index(good, false)
	return uint32(max(at, 0)), at >= 0
}

// trace names the steps that lead to a state, by the shortest way.
func (m *model) trace(g *graph, at uint32) []string {
	var steps []string
	for at != 0 {
		before := g.parent[at]
		w := g.keys[before].unpack()
		for _, s := range m.successors(&w) {
			if s.next.pack() == g.keys[at] {
				steps = append(steps, s.String())
				break
			}
		}
		at = before
	}
	slices.Reverse(steps)
	return steps
}

// String tells a step in a trace.
func (s step) String() string {
	if s.by&lostAnswer != 0 {
		return s.name + " " + s.what + ", answer lost"
	}
	return s.name + " " + s.what
}

func (f found) String() string {
	if f.what == "" {
		return fmt.Sprintf("%d states", f.states)
	}
	return fmt.Sprintf("%s, after %d steps:\n  %s", f.what, f.steps, strings.Join(f.trace, "\n  "))
}
