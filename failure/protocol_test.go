package failure

import (
	"fmt"
	"testing"
)

// protocol is the table of the marker protocol, written down a second time and
// in other words: what each write does to each row, and whether it does.
func protocol(r row, s slot) (next row, newGeneration, newBlock, ok bool) {
	next = r
	holds := s.held && r.generation
	recorded := r.seen > 0
	switch s.kind {
	case blockWrite:
		if r.state == noRow || r.state == live_ {
			return row{state: blocked_, blocked: s.x, seen: s.x, skip: r.skip, generation: true, blockID: true}, true, true, true
		}
	case followWrite:
		if r.notLive() && recorded && r.seen < s.x {
			next.seen = s.x
			return next, false, false, true
		}
	case claimWrite:
		if r.notLive() && holds {
			next.state = redriving_
			return next, true, false, true
		}
	case backWrite:
		if r.state == redriving_ && holds && (s.y >= s.x || recorded && r.seen < s.x) {
			next.state, next.blocked, next.seen, next.notified, next.blockID = blocked_, s.x, r.seen, 0, true
			if s.y < s.x {
				next.seen = s.x
			}
			return next, true, true, true
		}
	case releaseWrite:
		if r.state == redriving_ && holds && recorded && r.seen <= s.x {
			next.state, next.blocked, next.seen, next.generation = live_, 0, 0, true
			return next, true, false, true
		}
	case healWrite:
		if r.notLive() && recorded && r.seen <= s.x {
			next.state, next.blocked, next.seen, next.generation = live_, 0, 0, true
			return next, true, false, true
		}
	case intentWrite:
		if r.state == redriving_ && holds {
			next.skip = s.x
			return next, false, false, true
		}
	case notifyWrite:
		if r.state == blocked_ && s.held && r.blockID {
			next.notified = 1
			return next, false, false, true
		}
	}
	return r, false, false, false
}

// rows is every row of small numbers, well-formed or not.
func rows(yield func(row) bool) {
	if !yield(row{}) {
		return
	}
	for state := uint8(live_); state <= redriving_; state++ {
		for n := range uint8(4 * 4 * 3 * 4) {
			r := row{
				state: state, blocked: n % 4, seen: n / 4 % 4, notified: n / 16 % 3,
				generation: n/48%2 == 1, blockID: n/48/2 == 1,
			}
			if r.notified == 1 && !r.blockID {
				continue // no block that it could be the letter of
			}
			if !yield(r) {
				return
			}
		}
	}
}

// strayed compares transitions with the table, on every row and every write of
// a name (all of them, if it is empty), and tells the first difference.
func (m *model) strayed(of Name) string {
	for kind := uint8(blockWrite); kind <= notifyWrite; kind++ {
		if of != "" && transition(slot{kind: kind}).Name != of {
			continue
		}
		for n := range uint8(3 * 4 * 2) {
			s := slot{kind: kind, x: n%3 + 1, y: n / 3 % 4, held: n/12 == 1}
			for r := range rows {
				got := m.interpret(r, s)
				next, newGeneration, newBlock, ok := protocol(r, s)
				if got.row != next || got.newGeneration != newGeneration || got.newBlock != newBlock || (got.verdict == Applied) != ok {
					return fmt.Sprintf("%s of %+v on %+v gave %+v, want %+v, %v", transition(s).Name, s, r, got, next, ok)
				}
			}
		}
	}
	return ""
}

func TestTransitionsAreTheProtocols(t *testing.T) {
	if difference := newModel(config{}, nil).strayed(""); difference != "" {
		t.Error(difference)
	}
}
