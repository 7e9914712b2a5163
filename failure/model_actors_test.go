package failure

func (m *model) redriverSteps(w *world, i int) {
	me := w.redrivers[i]
	name := redriverNames[i]
	gone := redriver{fix: me.fix, at: unknown}
	if me.phase != idle {
		m.take(w, byFault, name, "dies", func(w *world) { w.redrivers[i] = gone })
	}
	leave := func(w *world) { w.redrivers[i] = gone }
	switch me.phase {
	case idle:
		if !me.fix {
			m.take(w, byDeploy, name, "gets the fix", func(w *world) { w.redrivers[i].fix = true })
		}
		if w.row.notLive() {
			m.take(w, byRedriver, name, "reads the row", func(w *world) {
				w.redrivers[i].phase, w.redrivers[i].held, w.redrivers[i].fresh = read, w.row.generation, true
			})
		}
	case read:
		s := slot{kind: claimWrite, held: me.held, fresh: me.fresh}
		m.send(w, byRedriver, name, "claims", s, func(w *world) {
			answer := m.mark(w, s)
			if !answer.verdict.Succeeded() {
				leave(w)
				return
			}
			w.redrivers[i] = redriver{phase: own, fix: me.fix, held: answer.newGeneration, fresh: true, target: w.row.seen, at: unknown}
		}, leave)
	case own:
		m.redrive(w, i, name, leave)
	case broken:
		s := slot{kind: backWrite, x: me.at + 1, y: me.target, held: me.held, fresh: me.fresh}
		m.send(w, byRedriver, name, "gives up", s, func(w *world) {
			if m.mark(w, s).verdict == Again {
				w.redrivers[i].target = w.row.seen
				return
			}
			leave(w)
		}, leave)
	case skipped:
		s := slot{kind: skipWrite, x: me.at}
		m.send(w, byRedriver, name, "skips", s, func(w *world) {
			m.skip(w, me.at) // else it was applied
			w.redrivers[i].phase, w.redrivers[i].at = own, w.at
		}, func(w *world) { w.redrivers[i].phase, w.redrivers[i].at = own, unknown })
	}
}

// redrive applies up to the target, or to the head, and releases.
func (m *model) redrive(w *world, i int, name string, leave func(*world)) {
	me := w.redrivers[i]
	if me.at == unknown {
		m.take(w, byRedriver, name, "reads the position", func(w *world) { w.redrivers[i].at = w.at })
		return
	}
	if me.at >= me.target {
		s := slot{kind: releaseWrite, x: me.at, held: me.held, fresh: me.fresh}
		m.send(w, byRedriver, name, "releases", s, func(w *world) {
			if m.mark(w, s).verdict == Again {
				w.redrivers[i].target = w.row.seen
				return
			}
			leave(w)
		}, leave)
	}
	to := me.target
	if me.at >= me.target && m.toHead {
		to = w.head
	}
	if me.at >= to {
		return
	}
	to, failed := m.reach(me.at, to, me.fix)
	if failed {
		m.take(w, byRedriver, name, "meets a poison", func(w *world) { w.redrivers[i].phase = broken })
		if m.config.skip {
			s := slot{kind: intentWrite, x: me.at + 1, held: me.held, fresh: me.fresh}
			m.send(w, byRedriver, name, "writes the intent to skip", s, func(w *world) {
				if m.mark(w, s).verdict.Succeeded() {
					w.redrivers[i].phase = skipped
					return
				}
				leave(w)
			}, leave)
		}
		return
	}
	m.send(w, byRedriver, name, "applies", slot{kind: applyWrite, x: me.at, y: to}, func(w *world) {
		me := &w.redrivers[i]
		switch {
		case m.apply(w, me.at, to):
			me.at = to
		case w.at > me.at:
			me.at = w.at
		default:
			me.at = unknown
		}
	}, func(w *world) { w.redrivers[i].at = unknown })
}

func (m *model) sweeperSteps(w *world) {
	me := w.sweeper
	rest := func(w *world) { w.sweeper = sweeper{} }
	if me.phase != resting {
		m.take(w, byFault, "sweeper", "crashes", rest)
	}
	switch me.phase {
	case resting:
		m.sweep(w)
	case healing:
		s := slot{kind: healWrite, x: me.at}
		m.send(w, bySweeper, "sweeper", "heals", s, func(w *world) {
			m.mark(w, s)
			rest(w)
		}, rest)
	case sending:
		m.take(w, bySweeper, "sweeper", "sends the letter", func(w *world) {
			w.sweeper.phase = sent
			w.current, w.old = w.current || me.current, w.old || !me.current
		})
	case sent:
		s := slot{kind: notifyWrite, held: me.current}
		m.send(w, bySweeper, "sweeper", "notes the letter", s, func(w *world) {
			m.mark(w, s)
			rest(w)
		}, rest)
	case received:
		m.take(w, bySweeper, "sweeper", "reads the row of a letter", func(w *world) {
			if w.sweeper.phase = deleting; !m.mayDelete(w.row, me.current) {
				rest(w)
			}
		})
	case deleting:
		m.take(w, bySweeper, "sweeper", "deletes the letter", func(w *world) {
			if me.current {
				if w.row.notLive() {
					m.violate("H20: the letter of a standing block was deleted")
				}
				w.current = false
			} else {
				w.old = false
			}
			rest(w)
		})
	}
}

// sweep is what a sweeper may begin.
func (m *model) sweep(w *world) {
	if m.heal && w.row.notLive() {
		m.take(w, bySweeper, "sweeper", "reads the position", func(w *world) { w.sweeper = sweeper{phase: healing, at: w.at} })
	}
	if !m.letters {
		return
	}
	if w.row.state == blocked_ && w.row.notified == 0 {
		m.take(w, bySweeper, "sweeper", "finds a block without a letter", func(w *world) { w.sweeper = sweeper{phase: sending, current: w.row.blockID} })
	}
	for _, current := range []bool{true, false} {
		if current && w.current || !current && w.old {
			m.take(w, bySweeper, "sweeper", "receives a letter", func(w *world) { w.sweeper = sweeper{phase: received, current: current} })
		}
	}
}
