package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"millrace/event"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/sinks/sinktest"
)

// The attributes of events and of the read model.
const (
	amountAttribute   = "amount"
	versionsAttribute = "versions" // every version that was folded, in order
	totalAttribute    = "total"    // the sum of the amounts
	positionAttribute = "lastProcessedVersion"
)

// view is a build's sink into the read model's table, of one process.
func (w *world) view(app string, b build) (*readmodel.Sink, error) {
	fold, err := versions(func(e event.Event) error { return w.poisoned(viewSink, b, e) })
	if err != nil {
		return nil, err
	}
	return readmodel.New(readmodel.Options{
		Client: w.client(app), Table: viewTable,
		Key:      []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}},
		Identity: identity(viewSink), Projection: fold, Position: positionAttribute, Jitter: w.jitter("view", app),
	})
}

type state struct {
	versions []string
	total    int
}

// versions is a fold that shows each of its effects: which versions, in which
// order, and from which content. What is refused has none.
func versions(refuse func(event.Event) error) (projection.Projection, error) {
	return projection.New(projection.Fold[state]{
		Apply: func(s state, e event.Event) (state, error) {
			if err := refuse(e); err != nil {
				return s, err
			}
			v, err := e.Image.Get(amountAttribute)
			if err != nil {
				return s, err
			}
			amount, _ := v.(event.Number)
			n, err := strconv.Atoi(string(amount))
			if err != nil {
				return s, fmt.Errorf("reading the amount: %w", err)
			}
			return state{append(s.versions[:len(s.versions):len(s.versions)], strconv.FormatUint(e.Version, 10)), s.total + n}, nil
		},
		Encode: func(s state) (event.Item, error) {
			return event.Item{
				versionsAttribute: event.String(strings.Join(s.versions, " ")),
				totalAttribute:    event.Number(strconv.Itoa(s.total)),
			}, nil
		},
		Decode: func(item event.Item) (s state, err error) {
			text, _ := item[versionsAttribute].(event.String)
			s.versions = strings.Fields(string(text))
			if total, ok := item[totalAttribute].(event.Number); ok {
				if s.total, err = strconv.Atoi(string(total)); err != nil {
					return s, fmt.Errorf("reading the total: %w", err)
				}
			}
			return s, nil
		},
	})
}

// memory is the guarded sink in memory, with its troubles and its log.
type memory struct {
	chance  chance
	target  *sinktest.Memory
	landing sync.WaitGroup // calls under way, those included that nobody waits for

	mu       sync.Mutex
	troubles []trouble
	effects  []Effect
}

// trouble is what happens to a share of the writes for a while.
type trouble struct {
	how   string
	share float64
	id    uint64
	delay time.Duration
	until time.Time
}

func newMemory(c chance, unguarded bool, refuse func(event.Event) error) *memory {
	m := &memory{chance: c}
	m.target = sinktest.NewMemory(sinktest.MemoryOptions{
		Before: func(ctx context.Context, _ sinks.Identity, run event.Run) error {
			if t, ok := m.struck("fail before the effect", run); ok {
				return &event.Error{Class: event.Transient, Op: "writing to memory", Err: fmt.Errorf("trouble %d", t.id)}
			}
			return nil
		},
		// It is asked for each event in the step that makes it take effect.
		Refuse: func(e event.Event) error {
			if err := refuse(e); err != nil {
				return err
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.effects = append(m.effects, Effect{Sink: logSink, Aggregate: e.Aggregate, From: e.Version - 1, To: e.Version, At: time.Now()})
			return nil
		},
		After: func(_ context.Context, _ sinks.Identity, run event.Run) error {
			if _, ok := m.struck("lose their answers", run); ok {
				return errLost
			}
			return nil
		},
		Unguarded: unguarded,
	})
	return m
}

var errLost = &event.Error{Class: event.Transient, Op: "writing to memory", Err: errors.New("the answer is lost")}

func (m *memory) plague(t trouble) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.troubles = append(m.troubles, t)
}

// struck finds the trouble of a kind that a write meets.
func (m *memory) struck(how string, run event.Run) (trouble, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, t := range m.troubles {
		if t.how == how && now.Before(t.until) && m.chance.unit("trouble", t.id, run.Aggregate, run.After.Version, now.UnixNano()) < t.share {
			return t, true
		}
	}
	return trouble{}, false
}

// latency is how long a call takes before its effect.
func (m *memory) latency(process, what string, run event.Run) time.Duration {
	now := time.Now().UnixNano()
	long := m.chance.between(time.Millisecond, 9*time.Millisecond, "memory", process, what, run.Aggregate, now)
	if what == "apply" {
		if t, ok := m.struck("are slow", run); ok {
			long += m.chance.between(0, t.delay, "slow", t.id, run.Aggregate, now)
		}
	}
	return long
}

func (m *memory) log() []Effect {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Effect(nil), m.effects...)
}

// remote puts a network between a process and the sink in memory: calls take
// time, a frozen process neither sends nor receives, and what was sent before a
// crash, or given up, still takes effect.
type remote struct {
	sink    sinks.Sink
	process *process
}

func (r *remote) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	unknown := func() []event.Outcome {
		outcomes := make([]event.Outcome, len(runs))
		for i := range outcomes {
			outcomes[i].Err = &event.Error{Class: event.Transient, Op: "writing to memory", Err: ctx.Err()}
		}
		return outcomes
	}
	r.process.gate.pass()
	if ctx.Err() != nil || r.process.hasCrashed() {
		return unknown()
	}
	m := r.process.w.memory
	answer := make(chan []event.Outcome, 1)
	m.landing.Go(func() {
		<-time.After(m.latency(r.process.id, "apply", runs[0])) // whatever becomes of the caller
		answer <- r.sink.Apply(context.WithoutCancel(ctx), runs)
	})
	var outcomes []event.Outcome
	select {
	case outcomes = <-answer:
	case <-ctx.Done():
		outcomes = unknown()
	}
	r.process.gate.pass()
	return outcomes
}

func (r *remote) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	r.process.gate.pass()
	pause(ctx, r.process.w.memory.latency(r.process.id, "positions", event.Run{Aggregate: aggregates[0]}))
	positions, err := r.sink.Positions(ctx, aggregates)
	r.process.gate.pass()
	return positions, err
}

func (r *remote) Close(ctx context.Context) error { return r.sink.Close(ctx) }

// gate holds up who passes while it is shut.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) pass() {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
}
