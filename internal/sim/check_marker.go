package sim

import "time"

// blocks judges the markers.
func (c *checker) blocks() {
	ends := map[version]Marker{}
	generations := map[string]bool{}
	for _, m := range c.Markers {
		of := version{m.Sink, m.Aggregate, 0}
		old := ends[of]
		c.step(old, m)
		if m.Generation != old.Generation {
			if generations[m.Generation] {
				c.violated("marker", m.Aggregate, "at %s %s gave the marker in %s generation %s, which had been before", m.At.Format(clock), m.By, m.Sink, m.Generation)
			}
			generations[m.Generation] = true
		}
		for _, p := range c.passed[m.Aggregate] {
			if !p.at.After(m.At) && !c.settled(version{m.Sink, m.Aggregate, p.version}, m.At) {
				c.violated("ahead", m.Aggregate, "at %s %s left version %d, which a checkpoint has passed, neither applied nor on record in %s", m.At.Format(clock), m.By, p.version, m.Sink)
			}
		}
		ends[of] = m
	}
	for of, m := range ends {
		if m.holds() {
			c.violated("held", of.aggregate, "in the end it is still %s at %d in %s", m.State, m.Blocked, of.sink)
		}
	}
}

// step judges one change of a marker.
func (c *checker) step(old, m Marker) {
	say := func(rule, what string) {
		c.violated(rule, m.Aggregate, "at %s %s %s: in %s %+v became %+v", m.At.Format(clock), m.By, what, m.Sink, old, m)
	}
	begins := m.holds() && m.Block != old.Block
	switch {
	case old.holds() && m.holds() && m.Seen < old.Seen:
		say("seen", "took versions off the record")
	case old.holds() && !m.holds() && !c.inEffect(m, old.Seen):
		say("freed", "ended a block below what it has on record")
	case begins && (m.State != "blocked" || m.Seen < m.Blocked || m.Blocked < 1):
		say("marker", "blocked without a version on record")
	case begins && !c.inEffect(m, m.Blocked-1):
		say("marker", "blocked at a version before those below it were applied")
	case begins && old.State == "blocked":
		say("marker", "blocked what was blocked already")
	case !old.holds() && m.State == "redriving":
		say("marker", "claimed what was not blocked")
	case m.State != old.State && m.Generation == old.Generation, begins && m.Generation == old.Generation, m.Job != old.Job && m.Job != "" && m.Generation == old.Generation:
		say("marker", "changed the state under the same generation")
	case m.holds() && !begins && m.Blocked != old.Blocked:
		say("marker", "moved the version that failed")
	}
}

// inEffect reports whether a version was applied when the marker changed.
func (c *checker) inEffect(m Marker, number int) bool {
	at, ok := c.applied[version{m.Sink, m.Aggregate, number}]
	return number == 0 || ok && !at.After(m.At)
}

// overtaken reports whether the position had passed a marker at a time.
func (c *checker) overtaken(m Marker, when time.Time) bool {
	m.At = when
	return c.inEffect(m, m.Seen)
}

// letters judges what the queue got. Its times are to the millisecond, rounded
// down.
func (c *checker) letters() {
	blocks, sent := map[string]Marker{}, map[string]time.Time{}
	for _, m := range c.Markers {
		if _, known := blocks[m.Block]; m.holds() && !known {
			blocks[m.Block] = m
		}
	}
	for _, l := range c.Letters {
		m, known := blocks[l.Block]
		if !known || m.Sink != l.Sink || m.Aggregate != l.Aggregate || m.Blocked != l.Version || l.At.Add(time.Millisecond).Before(m.At) {
			c.violated("letter", l.Aggregate, "at %s there was a letter of block %s at version %d in %s, which was not", l.At.Format(clock), l.Block, l.Version, l.Sink)
		}
		if at, known := sent[l.Block]; !known || l.At.Before(at) {
			sent[l.Block] = l.At
		}
	}
	standing := map[version]Marker{}
	for _, m := range c.Markers {
		of := version{m.Sink, m.Aggregate, 0}
		if at, ok := sent[m.Notified]; m.Notified != "" && m.Notified != standing[of].Notified && (!ok || at.After(m.At)) {
			c.violated("letter", m.Aggregate, "at %s %s took the letter of block %s for sent, which the queue did not have", m.At.Format(clock), m.By, m.Notified)
		}
		standing[of] = m
	}
	c.rested()
}

// rested judges the blocks that stood when the world had come to rest: those
// that end by themselves had ended, and the letters of the others were in the
// queue, neither unsent nor deleted too early.
func (c *checker) rested() {
	standing := map[version]Marker{}
	for _, m := range c.Markers {
		if !m.At.After(c.Rested) {
			standing[version{m.Sink, m.Aggregate, 0}] = m
		}
	}
	for _, m := range standing {
		if m.holds() && (m.State == "blocked" && m.Class == "gap" || c.overtaken(m, c.Rested)) {
			c.violated("held", m.Aggregate, "it was still %s at %d in %s, class %s, seen %d, when all else had come to rest", m.State, m.Blocked, m.Sink, m.Class, m.Seen)
		}
		if m.State == "blocked" && !c.Told[m.Block] {
			c.violated("letter", m.Aggregate, "the letter of its block %s at %d in %s was not in the queue when all else had come to rest", m.Block, m.Blocked, m.Sink)
		}
	}
}
