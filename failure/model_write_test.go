package failure

// The writes of the model. Those on the target are the model's own, those on
// the marker are transitions.
const (
	noWrite = iota
	applyWrite
	skipWrite
	blockWrite
	followWrite
	claimWrite
	backWrite
	releaseWrite
	healWrite
	intentWrite
	notifyWrite
)

// transition builds the write that an actor would send.
func transition(s slot) Transition {
	held, x, y := stale, uint64(s.x), uint64(s.y)
	if s.held {
		held = present
	}
	switch s.kind {
	case blockWrite:
		return Block(x, fresh, Cause{})
	case followWrite:
		return Follow(x)
	case claimWrite:
		return Claim(held, fresh, "job")
	case backWrite:
		return BackToBlocked(held, x, y, fresh, Cause{})
	case releaseWrite:
		return Release(held, x, fresh)
	case healWrite:
		return Heal(x, fresh)
	case intentWrite:
		return SkipIntent(held, Skip{Version: x})
	default:
		return Notified(held)
	}
}

// result is what a transition does to a row.
type result struct {
	known, newGeneration, newBlock bool
	verdict                        Verdict
	row                            row
}

// interpret runs a transition on a row; equal questions are answered from
// memory.
//
//go:norace
func (m *model) interpret(r row, s slot) result {
	var p packer
	r.pack(&p)
	at := p.k[0]<<8 | uint64(s.kind-blockWrite)<<5 | uint64(s.x)<<3 | uint64(s.y)<<1
	if s.held {
		at |= 1
	}
	if known := &m.memory[at]; known.known {
		return *known
	}
	t := m.mutate(transition(s))
	item := r.item()
	next, ok := t.Apply(item)
	answer := result{known: true, row: r}
	if ok {
		answer.row, answer.newGeneration, answer.newBlock = rowOf(next)
	} else {
		answer.verdict = Judge(t, item)
	}
	m.memory[at] = answer
	m.asked = append(m.asked, at)
	return answer
}

// mark makes one write on the marker, checks what must never happen with it,
// and ages what others hold.
func (m *model) mark(w *world, s slot) result {
	answer := m.interpret(w.row, s)
	if answer.verdict != Applied {
		return answer
	}
	before := w.row
	w.row = answer.row
	if before.notLive() && w.row.notLive() && w.row.seen < before.seen {
		m.violate("I2: seenVersion fell")
	}
	if before.notLive() && !w.row.notLive() && before.seen > w.at {
		m.violate("I3: live above the position")
	}
	switch s.kind {
	case claimWrite, backWrite, releaseWrite, intentWrite:
		if !s.fresh {
			m.violate("exclusive: a job changed a row that others had changed since")
		}
	default:
	}
	if answer.newGeneration {
		m.ageGenerations(w)
	}
	if w.row.state != before.state || s.kind == claimWrite {
		for i := range w.redrivers {
			w.redrivers[i].fresh = false
		}
		w.slot.fresh = false
	}
	if answer.newBlock {
		m.ageBlocks(w)
	}
	return answer
}

func (m *model) ageGenerations(w *world) {
	for i := range w.redrivers {
		w.redrivers[i].held = false
	}
	if w.slot.kind != notifyWrite {
		w.slot.held = false
	}
}

func (m *model) ageBlocks(w *world) {
	w.old = w.old || w.current
	w.current, w.sweeper.current = false, false
	if w.slot.kind == notifyWrite {
		w.slot.held = false
	}
}

// apply writes the effects of from+1..to under the guard of the target.
func (m *model) apply(w *world, from, to uint8) bool {
	if w.at != from && !m.unguarded {
		return false
	}
	switch {
	case w.at > from:
		m.violate("C2: a version took effect twice")
	case w.at < from:
		m.violate("C1: a version was left out")
	}
	w.at = to
	return true
}

// skip moves the position over a poison without its effect.
func (m *model) skip(w *world, from uint8) bool {
	if w.at != from {
		return false
	}
	if w.row.skip != from+1 {
		m.violate("H25: a version was skipped without a record")
	}
	w.at, w.skips = from+1, true
	return true
}

// land executes the write that lost its answer.
func (m *model) land(w *world) {
	s := w.slot
	w.slot = slot{}
	switch s.kind {
	case applyWrite:
		m.apply(w, s.x, s.y)
	case skipWrite:
		m.skip(w, s.x)
	default:
		m.mark(w, s)
	}
}
