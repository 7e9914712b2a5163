package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/eventstore"
	"millrace/failure/notify"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// The parts of every world.
const (
	workers      = 2
	group        = "sim"
	eventsTable  = "orders-events"
	controlTable = "millrace"
	viewTable    = "orders-view"
	viewSink     = "view" // the read model on the engine
	logSink      = "log"  // the guarded sink in memory
	queueName    = "on-failure"
	setupApp     = "setup"
)

// Bound is how long after the last fault everything must have been applied and
// every checkpoint must have passed it. Leases expire in 10 s, but the first
// listing that shows a shard may be a minute away, and retries of what failed
// for an unknown reason pause for up to a minute.
const Bound = 3 * time.Minute

// Tamper breaks the workers of a world on purpose, to see that it is noticed.
// Each function puts something between the worker and what it uses; nil leaves
// that as it is.
type Tamper struct {
	Sink    func(sinks.Sink) sinks.Sink
	Control func(pipeline.Control) pipeline.Control
	Stream  func(pipeline.Stream) pipeline.Stream
	Markers func(pipeline.Markers) pipeline.Markers // of redrivers too
	Queue   func(notify.Queue) notify.Queue
	Judge   func(notify.Markers) notify.Markers // of letters that are over
	// Unguarded takes the guard from the sink in memory.
	Unguarded bool
	// Bound replaces the bound, since what is broken may never come to rest.
	Bound time.Duration
}

// world is one run of a plan.
type world struct {
	plan   Plan
	tamper Tamper
	moves  *atomic.Int64
	engine *localaws.Engine
	memory *memory
	began  time.Time

	// life ends when the workers are to stop for good.
	life  context.Context //nolint:containedctx // the world's own life, not a caller's
	over  context.CancelFunc
	tasks sync.WaitGroup
	jobs  sync.WaitGroup // redrives that the plan has started

	mu        sync.Mutex
	processes map[string]*process // by application
	slots     [workers]*process   // that run now
	heads     map[string]int
	reads     []Read
	notes     []Violation // what the world itself saw go wrong
	mended    bool
}

// Run lets a plan's world happen, in the bubble of the caller. moves counts
// calls, so that somebody outside can see that the world goes on.
func Run(plan Plan, tamper Tamper, moves *atomic.Int64) (Evidence, error) {
	w := &world{
		plan: plan, tamper: tamper, moves: moves, began: time.Now(),
		processes: map[string]*process{}, heads: map[string]int{},
	}
	o := plan.Engine
	o.Latency = w.latency
	w.engine = localaws.New(o)
	defer func() { _ = w.engine.Close() }()
	w.memory = newMemory(chance(plan.Seed), tamper.Unguarded, func(e event.Event) error { return w.poisoned(logSink, w.newest(), e) })
	w.life, w.over = context.WithCancel(context.Background())
	defer w.over()
	w.engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: w.dead})
	if err := w.setUp(context.Background()); err != nil {
		return Evidence{}, err
	}
	for slot := range workers {
		w.tasks.Go(func() { w.keep(slot) })
	}
	var appenders sync.WaitGroup
	for _, aggregate := range sorted(plan.Writes) {
		appenders.Go(func() { w.appendTo(aggregate) })
	}
	for _, s := range plan.Steps {
		w.sleepUntil(s.At)
		s.Do(w)
	}
	w.sleepUntil(plan.Quiet)
	w.disarm()
	appenders.Wait()
	rested := w.settle()
	w.over()
	w.tasks.Wait()
	w.memory.landing.Wait()
	return w.evidence(rested), nil
}

func (w *world) setUp(ctx context.Context) error {
	store, err := w.eventStore(setupApp)
	if err != nil {
		return err
	}
	view, err := w.view(setupApp, mended)
	if err != nil {
		return err
	}
	if w.plan.Queue == 0 {
		w.makeQueue(ctx)
	}
	return errors.Join(store.EnsureTable(ctx), w.control(setupApp, setupApp).EnsureTable(ctx), view.EnsureTable(ctx))
}

func (w *world) sleepUntil(at time.Duration) { w.sleep(time.Until(w.began.Add(at))) }

// sleep cannot be cut short: the world ends when it ends.
func (w *world) sleep(d time.Duration) { pause(context.Background(), d) }

// latency is the engine's; every call of the world passes here. Calls are told
// apart by their time: which of two at once is the first is chance.
func (w *world) latency(c localaws.Call) time.Duration {
	w.moves.Add(1)
	w.mu.Lock()
	if c.Operation == "GetRecords" {
		w.reads = append(w.reads, Read{Shard: c.Key, App: c.App, At: time.Now()})
	}
	p := w.processes[c.App]
	w.mu.Unlock()
	slow := time.Duration(0)
	if p != nil {
		p.called()
		if c.Operation != "Query" {
			slow = p.slow
		}
	}
	return slow + chance(w.plan.Seed).between(time.Millisecond, 9*time.Millisecond, "latency", c.App, c.Operation, c.Key, time.Now().UnixNano())
}

// dead tells the calls of processes that crashed before the service had them.
func (w *world) dead(c localaws.Call) bool {
	w.mu.Lock()
	p := w.processes[c.App]
	w.mu.Unlock()
	return p != nil && p.silenced()
}

// note records what the world itself saw go wrong.
func (w *world) note(rule, subject, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, Violation{Rule: rule, Subject: subject, Text: fmt.Sprintf(format, args...)})
}

func (w *world) process(slot int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[slot]
}

func (w *world) head(aggregate string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heads[aggregate]
}

// openShard picks one of the shards that take records, "" when there is none.
func (w *world) openShard(n uint64) string {
	var open []string
	for _, s := range w.engine.Shards(eventsTable) {
		if !s.Closed {
			open = append(open, s.ID)
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[n%uint64(len(open))]
}

func (w *world) eventStore(app string) (*eventstore.Store, error) {
	return eventstore.New(eventstore.Options{
		Client: w.client(app), Table: eventsTable, Layout: event.Orders(),
		Jitter: w.jitter("store", app),
	})
}

func (w *world) control(app, boot string) *control.Store {
	return control.New(control.Options{
		Client: w.client(app), Table: controlTable, Boot: boot, Jitter: w.jitter("control", app),
	})
}

// jitter is a source of its own for each user.
func (w *world) jitter(of, app string) jitter.Source {
	return jitter.Source{Seed: chance(w.plan.Seed).number("jitter", of, app)}
}

func identity(sink string) sinks.Identity {
	return sinks.Identity{Group: group, Source: eventsTable, Sink: sink, Version: 1}
}
