package sinktest

import (
	"context"
	"sync"

	"millrace/event"
	"millrace/sinks"
)

// MemoryOptions are a target's faults. The hooks run outside every lock, in
// the goroutine of the call, and may wait: a hook that sleeps is latency, one
// that waits for a signal is a worker frozen between check and write.
type MemoryOptions struct {
	// Before runs before a run is compared with the position. Its error ends the
	// run without effect, as a throttle does.
	Before func(context.Context, sinks.Identity, event.Run) error
	// Refuse says why the target refuses an event; nil takes it.
	Refuse func(event.Event) error
	// After runs when the run has taken effect. Its error is a lost answer.
	After func(context.Context, sinks.Identity, event.Run) error
	// Unguarded makes it a target without positions, as a broker is: whatever
	// arrives takes effect, however often. Positions then answers that nothing
	// was applied; the control table's positions stand before such a sink.
	Unguarded bool
}

// Memory is a target in memory that keeps a log of effects. It is safe for
// concurrent use.
type Memory struct {
	options MemoryOptions

	mu      sync.Mutex
	shelves map[shelf]*shelfState
	log     []Effect
}

// shelf is what one identity keeps of one aggregate.
type shelf struct {
	identity  sinks.Identity
	aggregate string
}

type shelfState struct {
	position uint64
	versions []uint64 // in effect, in order of effect
}

// Effect is one event that took effect.
type Effect struct {
	Identity  sinks.Identity
	Aggregate string
	Version   uint64
}

// NewMemory returns an empty target.
func NewMemory(options MemoryOptions) *Memory {
	return &Memory{options: options, shelves: map[shelf]*shelfState{}}
}

// Open returns the sink of one more worker. All sinks of a Memory share it.
func (m *Memory) Open(identity sinks.Identity) sinks.Sink {
	return &memorySink{memory: m, identity: identity}
}

// Log returns all effects so far, in the order in which they happened.
func (m *Memory) Log() []Effect {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Effect(nil), m.log...)
}

// Versions returns the versions of an aggregate that are in effect, in the
// order in which they took effect.
func (m *Memory) Versions(identity sinks.Identity, aggregate string) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]uint64(nil), m.at(identity, aggregate).versions...)
}

// Forget drops an aggregate with its position. The log keeps its effects.
func (m *Memory) Forget(identity sinks.Identity, aggregate string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.shelves, shelf{identity, aggregate})
}

// at is called under the lock.
func (m *Memory) at(identity sinks.Identity, aggregate string) *shelfState {
	key := shelf{identity, aggregate}
	if m.shelves[key] == nil {
		m.shelves[key] = &shelfState{}
	}
	return m.shelves[key]
}

// commit is the one atomic step: position and effect together. It returns the
// position that stands afterwards, and why the event behind it was refused.
func (m *Memory) commit(identity sinks.Identity, run event.Run) (position uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.at(identity, run.Aggregate)
	if m.options.Unguarded {
		at.position = run.After.Version
	}
	if at.position < run.After.Version {
		return at.position, nil
	}
	for _, e := range run.Events {
		if e.Version <= at.position {
			continue
		}
		if m.options.Refuse != nil {
			if err := m.options.Refuse(e); err != nil {
				return at.position, err
			}
		}
		at.position = e.Version
		at.versions = append(at.versions, e.Version)
		m.log = append(m.log, Effect{Identity: identity, Aggregate: run.Aggregate, Version: e.Version})
	}
	return at.position, nil
}

// memorySink is one worker's view of a Memory.
type memorySink struct {
	memory   *Memory
	identity sinks.Identity
}

func (s *memorySink) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	outcomes := make([]event.Outcome, len(runs))
	for i, run := range runs {
		outcomes[i] = s.apply(ctx, run)
	}
	return outcomes
}

func (s *memorySink) apply(ctx context.Context, run event.Run) event.Outcome {
	hooks := s.memory.options
	if hooks.Before != nil {
		if err := hooks.Before(ctx, s.identity, run); err != nil {
			return event.Outcome{Position: run.After, Known: true, Err: err}
		}
	}
	if err := ctx.Err(); err != nil {
		return event.Outcome{Position: run.After, Known: true, Err: err}
	}
	position, refused := s.memory.commit(s.identity, run)
	if hooks.After != nil {
		if err := hooks.After(ctx, s.identity, run); err != nil {
			return event.Outcome{Err: err}
		}
	}
	return event.Outcome{Position: event.Position{Version: position}, Known: true, Err: refused}
}

func (s *memorySink) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	positions := make([]event.Position, len(aggregates))
	if s.memory.options.Unguarded {
		return positions, nil
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	for i, aggregate := range aggregates {
		positions[i].Version = s.memory.at(s.identity, aggregate).position
	}
	return positions, nil
}

func (s *memorySink) Close(context.Context) error { return nil }
