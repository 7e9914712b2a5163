package failure

// Who takes a step; what a way to the end may consist of is said in these.
type who uint8

const (
	byWorker who = 1 << iota
	byRedriver
	bySweeper
	byAppender
	byDeploy
	byFault
	lostAnswer
)

var (
	workerNames   = [...]string{"W0", "W1"}
	redriverNames = [...]string{"R0", "R1"}
)

// config is one arrangement of actors.
type config struct {
	name      string
	head      uint8 // appended at the start
	fixes     uint8 // workers (bit i) that may get the fix by a restart
	rolling   bool  // the second worker of a hand-over has the fix
	split     uint8 // versions (bit v) of the second shard; 0: one shard whose lease moves
	alone     bool  // the first worker alone
	redrivers int
	poisons   uint8 // versions (bit v) that fail without the fix
	skip      bool  // a redriver may skip a poison
	heal      bool
	letters   bool
	lost      uint8 // writes that may lose their answer
	toHead    bool  // redrivers may go on to the head
	forget    bool  // live rows are deleted at leisure
}

const versions = 3

// model explores one configuration.
type model struct {
	config
	mutate    func(Transition) Transition
	unguarded bool // a mutant: the target accepts everything
	mayDelete func(row row, current bool) bool

	memory []result // by question; made of zeros
	asked  []uint64 // the questions answered so far
	out    []step
	broken string
}

// step is an edge of the graph.
type step struct {
	next   world
	by     who
	name   string
	what   string
	broken string
}

func newModel(c config, mutate func(Transition) Transition) *model {
	m := &model{memory: make([]result, 1<<20)}
	m.reset(c, mutate)
	return m
}

// reset makes another model of one, whose large memory it keeps.
func (m *model) reset(c config, mutate func(Transition) Transition) {
	for _, at := range m.asked {
		m.memory[at] = result{}
	}
	if mutate == nil {
		mutate = func(t Transition) Transition { return t }
	}
	*m = model{config: c, mutate: mutate, mayDelete: letterMayGo, memory: m.memory, asked: m.asked[:0], out: m.out}
}

func letterMayGo(r row, current bool) bool {
	id := stale
	if current {
		id = present
	}
	m := Marker{State: stateNames[r.state]}
	if r.blockID {
		m.BlockID = present
	}
	return MayDelete(m, id)
}

func (m *model) violate(what string) {
	if m.broken == "" {
		m.broken = what
	}
}

func (m *model) start() world {
	w := world{head: m.head, lost: m.lost}
	w.workers[0] = worker{alive: true, at: unknown}
	if m.split != 0 {
		w.workers[1] = worker{alive: true, at: unknown}
	}
	for i := range w.redrivers {
		w.redrivers[i].at = unknown
	}
	return w
}

// shard is the versions that a worker's shard carries, bit by bit.
func (m *model) shard(i int) uint8 {
	switch {
	case m.split == 0:
		return 1<<(versions+1) - 2
	case i == 1:
		return m.split
	}
	return (1<<(versions+1) - 2) &^ m.split
}

func (m *model) leaseOf(i int) int {
	if m.split == 0 {
		return 0
	}
	return i
}

func (m *model) owns(w *world, i int) bool { return m.split != 0 || int(w.owner) == i }

// take makes one step and keeps its outcome.
//
//go:norace
func (m *model) take(w *world, by who, name, what string, do func(*world)) {
	next := *w
	m.broken = ""
	do(&next)
	if m.broken == "" {
		m.broken = m.check(&next)
	}
	m.out = append(m.out, step{next: next, by: by, name: name, what: what, broken: m.broken})
}

// send makes a write twice over: once with its answer, and once without, as a
// write that lands later or never.
func (m *model) send(w *world, by who, name, what string, s slot, answered func(*world), forget func(*world)) {
	m.take(w, by, name, what, answered)
	if w.lost > 0 && w.slot.kind == noWrite {
		m.take(w, byFault|lostAnswer, name, what, func(w *world) {
			w.lost--
			w.slot = s
			forget(w)
		})
	}
}

// successors are all steps that the world may take.
//
//go:norace
func (m *model) successors(w *world) []step {
	m.out = m.out[:0]
	if w.head < versions {
		m.take(w, byAppender, "appender", "appends", func(w *world) { w.head++ })
	}
	for i := range w.workers {
		if w.workers[i].alive {
			m.workerSteps(w, i)
		}
	}
	if m.split == 0 && !m.alone && w.owner == 0 {
		m.take(w, byFault, "W1", "takes the lease", func(w *world) {
			w.owner = 1
			w.workers[1] = restarted(w.checkpoint[0], m.rolling)
		})
	}
	for i := range m.redrivers {
		m.redriverSteps(w, i)
	}
	if m.heal || m.letters {
		m.sweeperSteps(w)
	}
	if w.slot.kind != noWrite {
		m.take(w, byFault, "the lost write", "lands", m.land)
	}
	if m.forget && w.row.state == live_ {
		m.take(w, byFault, "the live row", "is deleted", func(w *world) {
			w.row = row{}
			m.ageGenerations(w)
			m.ageBlocks(w)
		})
	}
	return m.out
}

func restarted(at uint8, fix bool) worker {
	return worker{alive: true, fix: fix, got: at, done: at, at: unknown}
}

// reach is how far a run from at may go, and whether its first event fails.
func (m *model) reach(at, to uint8, fix bool) (w uint8, failed bool) {
	for v := at + 1; v <= to && !fix; v++ {
		if m.poisons&(1<<v) != 0 {
			return v - 1, v == at+1
		}
	}
	return to, false
}

func (m *model) workerSteps(w *world, i int) {
	me := w.workers[i]
	name := workerNames[i]
	lease := m.leaseOf(i)
	for v := me.got + 1; v <= w.head; v++ {
		if m.shard(i)&(1<<v) != 0 {
			m.take(w, byWorker, name, "fetches", func(w *world) {
				w.workers[i].got = v
				if me.at != unknown {
					w.workers[i].settle(me.at)
				}
			})
			break
		}
	}
	if believes := w.row.notLive(); believes != me.blocked {
		m.take(w, byWorker, name, "loads the marker", func(w *world) {
			w.workers[i].forget()
			w.workers[i].blocked = believes
		})
	}
	if me.at == unknown && !me.blocked {
		m.take(w, byWorker, name, "reads the position", func(w *world) {
			w.workers[i].at = w.at
			w.workers[i].settle(w.at)
		})
	}
	switch {
	case me.blocked && me.got > me.done:
		m.follow(w, i, name)
	case me.failed && !me.blocked:
		m.block(w, i, name)
	case me.at < me.got && !me.blocked:
		m.process(w, i, name)
	}
	if w.checkpoint[lease] < me.done && m.owns(w, i) {
		m.take(w, byWorker, name, "checkpoints", func(w *world) { w.checkpoint[lease] = me.done })
	}
	if !m.owns(w, i) {
		m.take(w, byFault, name, "dies", func(w *world) { w.workers[i] = worker{} })
		return
	}
	m.take(w, byFault, name, "crashes", func(w *world) { w.workers[i] = restarted(w.checkpoint[lease], me.fix) })
	if !me.fix && m.fixes&(1<<i) != 0 {
		m.take(w, byDeploy, name, "gets the fix", func(w *world) { w.workers[i] = restarted(w.checkpoint[lease], true) })
	}
}

// settle counts down what the worker fetched up to v.
func (o *worker) settle(v uint8) { o.done = max(o.done, min(v, o.got)) }

func (o *worker) forget() { o.at, o.blocked, o.failed = unknown, false, false }

func (m *model) process(w *world, i int, name string) {
	me := w.workers[i]
	to, failed := m.reach(me.at, me.got, me.fix)
	if failed {
		m.take(w, byWorker, name, "meets a poison", func(w *world) { w.workers[i].failed = true })
		return
	}
	m.send(w, byWorker, name, "applies", slot{kind: applyWrite, x: me.at, y: to}, func(w *world) {
		me := &w.workers[i]
		switch {
		case m.apply(w, me.at, to):
			me.at = to
		case w.at > me.at:
			me.at = w.at
		default:
			me.forget()
			return
		}
		me.settle(me.at)
	}, func(w *world) { w.workers[i].forget() })
}

func (m *model) block(w *world, i int, name string) {
	s := slot{kind: blockWrite, x: w.workers[i].at + 1}
	m.send(w, byWorker, name, "blocks", s, func(w *world) {
		me := &w.workers[i]
		switch answer := m.mark(w, s); {
		case answer.verdict.Succeeded():
			me.forget()
			me.blocked = true
			me.settle(s.x)
		case answer.verdict == FollowInstead:
			me.forget()
			me.blocked = true
		default:
			me.forget()
		}
	}, func(w *world) { w.workers[i].forget() })
}

func (m *model) follow(w *world, i int, name string) {
	s := slot{kind: followWrite, x: w.workers[i].got}
	m.send(w, byWorker, name, "follows", s, func(w *world) {
		me := &w.workers[i]
		if m.mark(w, s).verdict.Succeeded() {
			me.settle(s.x)
			return
		}
		me.forget()
	}, func(w *world) { w.workers[i].forget() })
}
