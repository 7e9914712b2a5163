package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/failure"
	"millrace/pipeline"
	"millrace/sinks"
	"millrace/source"
)

// poison are the events that kill whoever applies them, as one does that no
// memory is enough for.
type poison struct {
	mu    sync.Mutex
	fatal map[string]bool // sink/aggregate@version
}

func newPoison(events ...string) *poison {
	p := &poison{fatal: map[string]bool{}}
	for _, e := range events {
		p.fatal[e] = true
	}
	return p
}

func (p *poison) cure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.fatal)
}

func (p *poison) kills(sink string, run event.Run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(run.Events, func(e event.Event) bool {
		return p.fatal[fmt.Sprintf("%s/%s@%d", sink, e.Aggregate, e.Version)]
	})
}

// lethal is a sink that dies with its worker.
type lethal struct {
	sinks.Sink
	name   string
	poison *poison
	dead   chan struct{} // closed when the worker has died
	die    func()
}

func (l *lethal) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	if l.poison.kills(l.name, runs[0]) {
		l.die()
	}
	select {
	case <-l.dead: // no call of a dead worker reaches the target
		<-ctx.Done()
		return []event.Outcome{{Err: ctx.Err()}}
	default:
		return l.Sink.Apply(ctx, runs)
	}
}

// mortal is a worker that poison kills.
type mortal struct {
	*running
	dead chan struct{}
}

func (w *world) mortal(name string, p *poison, change ...func(*pipeline.Options)) *mortal {
	dead := make(chan struct{})
	r := w.start(name, append(change, func(o *pipeline.Options) {
		app := "millrace/g/" + o.Worker
		die := sync.OnceFunc(func() {
			w.engine.Client(app).Cut()
			close(dead)
		})
		for i, s := range o.Sinks {
			o.Sinks[i].Sink = &lethal{Sink: s.Sink, name: s.Name, poison: p, dead: dead, die: die}
		}
	})...)
	return &mortal{running: r, dead: dead}
}

// dies waits until the worker has died, or for something that only a living
// one can bring about.
func (m *mortal) dies(what string, lives func() bool) bool {
	m.t.Helper()
	died := false
	eventually(m.t, 10*time.Minute, what, func() bool {
		select {
		case <-m.dead:
			died = true
			return true
		default:
			return lives()
		}
	})
	if died {
		m.crash()
	}
	return died
}

// generations starts one worker after the other until one of them lives to
// see what is waited for. It returns that one, and how many died before.
func (w *world) generations(p *poison, what string, lives func() bool, change ...func(*pipeline.Options)) (*mortal, int) {
	w.t.Helper()
	for deaths := range 20 {
		if m := w.mortal("mortal", p, change...); !m.dies(what, lives) {
			return m, deaths
		}
	}
	w.t.Fatalf("after 20 workers still not: %s", what)
	return nil, 0
}

// of is the marker of an aggregate in a sink.
func (m *markerTable) of(t *testing.T, sink, aggregate string) failure.Marker {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	key := failure.Key{Group: "g", Table: eventsTable, Sink: sink, SinkVersion: 1, Aggregate: aggregate}
	marker, err := failure.ParseMarker(key, m.rows[key])
	if err != nil {
		t.Fatal(err)
	}
	return marker
}

// crashed reports whether an aggregate is blocked as one that kills.
func (m *markerTable) crashed(t *testing.T, sink, aggregate string, version uint64) bool {
	t.Helper()
	got := m.of(t, sink, aggregate)
	return got.NotLive() && got.BlockedVersion == version && got.Cause.Class == "crash"
}

// barren is what the rows tell of vanished holders, all together.
func (w *world) barren() (grants int, found []checkpoint.Attempt) {
	w.t.Helper()
	for _, row := range w.leases() {
		grants = max(grants, row.Barren.Grants)
		for _, a := range []checkpoint.Attempt{row.Barren.Attempt, row.Barren.Suspect} {
			if a != (checkpoint.Attempt{}) {
				found = append(found, a)
			}
		}
	}
	return grants, found
}

// unburdened reports whether no row has anything to tell of vanished holders.
func (w *world) unburdened() bool {
	grants, found := w.barren()
	return grants == 0 && len(found) == 0
}

// shardOf is the shard that an aggregate's first record is in.
func (w *world) shardOf(aggregate string) source.ShardID {
	w.t.Helper()
	for _, c := range w.engine.History(eventsTable) {
		if c.New["pk"] == event.String(aggregate) {
			return source.ShardID(c.Shard)
		}
	}
	w.t.Fatalf("%s has no record", aggregate)
	return ""
}
