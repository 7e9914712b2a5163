package source

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// group is one consumer group at work on a fake stream: rows that survive, and
// a listing and answers that do not.
type group struct {
	t       *rapid.T
	stream  *fakeStream
	ever    map[ShardID][]ShardID // every shard that ever was, with its parents
	rows    map[ShardID]Row
	listing *Listing
	asked   map[ShardID]bool
	reading map[ShardID]bool
	made    int
}

func newGroup(t *rapid.T) *group {
	g := &group{
		t: t, stream: newFake(rapid.IntRange(1, 5).Draw(t, "page")), ever: make(map[ShardID][]ShardID),
		rows: make(map[ShardID]Row), reading: make(map[ShardID]bool),
	}
	g.restart()
	for range rapid.IntRange(1, 3).Draw(t, "roots") {
		g.create()
	}
	return g
}

// restart forgets what a process forgets.
func (g *group) restart() {
	g.listing, g.asked = new(Listing), make(map[ShardID]bool)
}

// create adds a shard under a random id: a new one may stand before or behind
// any cursor.
func (g *group) create(parents ...ShardID) {
	g.made++
	id := ShardID(fmt.Sprintf("%02d-%d", rapid.IntRange(0, 99).Draw(g.t, "id"), g.made))
	g.stream.shards[id] = shard(id, parents...)
	g.ever[id] = parents
}

func (g *group) pick(what string, ok func(*fakeShard) bool) (ShardID, bool) {
	var out []ShardID
	for _, id := range slices.Sorted(maps.Keys(g.stream.shards)) {
		if ok(g.stream.shards[id]) {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return "", false
	}
	return rapid.SampledFrom(out).Draw(g.t, what), true
}

func (g *group) split() {
	id, ok := g.pick("split", func(s *fakeShard) bool { return !s.Closed })
	if !ok || g.made > 25 {
		return
	}
	g.stream.shards[id].Closed = true
	for range rapid.IntRange(1, 2).Draw(g.t, "children") {
		g.create(id)
	}
}

func (g *group) merge() {
	open := func(s *fakeShard) bool { return !s.Closed }
	a, _ := g.pick("merge", open)
	b, ok := g.pick("with", open)
	if !ok || a == b || g.made > 25 {
		return
	}
	g.stream.shards[a].Closed, g.stream.shards[b].Closed = true, true
	g.create(a, b)
}

// trim removes a closed shard without living ancestors, as a stream does.
func (g *group) trim() {
	id, ok := g.pick("trim", func(s *fakeShard) bool {
		return s.Closed && !slices.ContainsFunc(s.Parents, func(p ShardID) bool { return g.stream.shards[p] != nil })
	})
	if ok {
		delete(g.stream.shards, id)
	}
}

func (g *group) discover() {
	if rapid.Bool().Draw(g.t, "throttled") {
		g.stream.fail["shards"] = []error{nil, ErrThrottled}
	}
	err := Discover(g.t.Context(), g.stream, g.listing, Budget{Calls: rapid.IntRange(1, 8).Draw(g.t, "calls")})
	if err != nil && !errors.Is(err, ErrThrottled) {
		g.t.Fatal(err)
	}
	delete(g.stream.fail, "shards")
}

func (g *group) lineage() Lineage { return Lineage{Rows: g.rows, Listing: g.listing, Asked: g.asked} }

// hide takes a shard out of the listing, or puts it back.
func (g *group) hide() {
	if id, ok := g.pick("hide", func(*fakeShard) bool { return true }); ok {
		g.stream.shards[id].hidden = !g.stream.shards[id].hidden
	}
}

// children asks for the children of a finished shard.
func (g *group) children() {
	id, ok := g.pick("parent", func(s *fakeShard) bool { return g.rows[s.ID].Finished })
	if !ok {
		return
	}
	found, err := g.stream.Children(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	g.listing.Found(found...)
}

// makeRows makes the first rows that are missing, and may die in between.
func (g *group) makeRows(most int) {
	for i, s := range g.lineage().Unmade() {
		if i == most {
			return
		}
		for _, p := range s.Parents {
			if _, ok := g.rows[p]; !ok && g.listing.Has(p) {
				g.t.Fatalf("%s is made before its parent %s", s.ID, p)
			}
		}
		g.rows[s.ID] = Row{Parents: s.Parents}
	}
}

// ask asks for the parents that nothing is known of, and forgets what was
// answered before.
func (g *group) ask() {
	g.asked = make(map[ShardID]bool)
	for _, id := range slices.Sorted(maps.Keys(g.rows)) {
		if g.rows[id].Finished || g.reading[id] {
			continue
		}
		for _, p := range (Lineage{Rows: g.rows, Listing: g.listing}).Verdict(id).Unknown {
			there, err := Exists(g.t.Context(), g.stream, p)
			if err != nil {
				g.t.Fatal(err)
			}
			g.asked[p] = there
		}
	}
}

// step starts every shard that is ready, which must have no parent that the
// stream still has and the group has not finished.
func (g *group) step() {
	for _, id := range slices.Sorted(maps.Keys(g.rows)) {
		row := g.rows[id]
		if row.Finished || g.reading[id] {
			continue
		}
		v := g.lineage().Verdict(id)
		if !v.Ready() {
			continue
		}
		for _, p := range g.ever[id] {
			if !g.rows[p].Finished && g.stream.shards[p] != nil {
				g.t.Fatalf("%s is read before its parent %s; verdict %+v", id, p, v)
			}
		}
		g.reading[id] = true
	}
}

// finish reads shards to their end: those that are closed, or trimmed away.
func (g *group) finish(all bool) {
	for _, id := range slices.Sorted(maps.Keys(g.reading)) {
		s := g.stream.shards[id]
		if s != nil && !s.Closed || !all && rapid.Bool().Draw(g.t, "goes on") {
			continue
		}
		g.rows[id] = Row{Parents: g.rows[id].Parents, Finished: true}
		delete(g.reading, id)
	}
}

// TestLineageKeepsOrderAndEnds: whatever order shards come, are listed, asked
// for, hidden and trimmed in, and wherever a process dies, no shard is read
// before a parent that could have been read; and when the stream stands still,
// every shard is read.
func TestLineageKeepsOrderAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGroup(t)
		t.Repeat(map[string]func(*rapid.T){
			"split":    func(*rapid.T) { g.split() },
			"merge":    func(*rapid.T) { g.merge() },
			"trim":     func(*rapid.T) { g.trim() },
			"discover": func(*rapid.T) { g.discover() },
			"rows":     func(t *rapid.T) { g.makeRows(rapid.IntRange(1, 4).Draw(t, "rows")) },
			"ask":      func(*rapid.T) { g.ask() },
			"step":     func(*rapid.T) { g.step() },
			"finish":   func(*rapid.T) { g.finish(false) },
			"hide":     func(*rapid.T) { g.hide() },
			"children": func(*rapid.T) { g.children() },
			"restart":  func(*rapid.T) { g.restart() },
		})

		for _, s := range g.stream.shards {
			s.Closed, s.hidden = true, false
		}
		for range 2 * len(g.ever) {
			if err := Discover(t.Context(), g.stream, g.listing, Budget{}); err != nil {
				t.Fatal(err)
			}
			g.makeRows(len(g.ever))
			g.ask()
			g.step()
			g.finish(true)
		}
		for id := range g.stream.shards {
			if !g.rows[id].Finished {
				t.Errorf("%s was never read: %+v", id, g.lineage().Verdict(id))
			}
		}
		for id, row := range g.rows {
			if !row.Finished {
				t.Errorf("%s has a row and was never finished", id)
			}
		}
	})
}
