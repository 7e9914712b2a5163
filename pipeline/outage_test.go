package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// load is traffic of a thousand events a second, of which the time from append
// to effect is taken.
type load struct {
	w        *world
	appended sync.Map // aggregate@version to time.Time
	mu       sync.Mutex
	took     []delay
}

type delay struct{ at, took time.Duration }

const (
	loadAggregates = 40
	buffer         = 24 << 20 // of what a minute's load takes, a quarter
)

// run appends for a while, a batch of 50 every 50 ms.
func (l *load) run(began time.Time, d time.Duration) {
	l.w.t.Helper()
	padding := event.String(strings.Repeat("x", 300))
	for tick := 0; time.Since(began) < d; tick++ {
		a := fmt.Sprintf("load-%02d", tick*7%loadAggregates)
		batch := make([]eventstore.NewEvent, 50)
		now := time.Now()
		for i := range batch {
			batch[i] = happened()
			batch[i].Attributes["padding"] = padding
			l.appended.Store(fmt.Sprint(a, "@", l.w.heads[a]+uint64(i)+1), now)
		}
		l.w.write(a, l.w.heads[a], batch...)
		<-time.After(time.Until(began.Add(time.Duration(tick+1) * 50 * time.Millisecond)))
	}
}

// timed is a sink whose effects' delays are taken.
type timed struct {
	sinks.Sink
	l     *load
	began time.Time
}

func (s timed) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	<-time.After(5 * time.Millisecond) // as a call takes
	outcomes := s.Sink.Apply(ctx, runs)
	now := time.Now()
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	for _, e := range runs[0].Events {
		if at, ok := s.l.appended.Load(fmt.Sprint(e.Aggregate, "@", e.Version)); ok && e.Version <= outcomes[0].Position.Version {
			s.l.took = append(s.l.took, delay{now.Sub(s.began), now.Sub(at.(time.Time))})
		}
	}
	return outcomes
}

// quantiles are the median and the 99th percentile of what took effect between
// two times.
func (l *load) quantiles(from, to time.Duration) (p50, p99 time.Duration, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var took []time.Duration
	for _, d := range l.took {
		if d.at >= from && d.at < to {
			took = append(took, d.took)
		}
	}
	slices.Sort(took)
	if len(took) == 0 {
		return 0, 0, 0
	}
	return took[len(took)/2], took[len(took)*99/100], len(took)
}

// outageUnderLoad takes one of two sinks away for a while of full traffic,
// whose payloads are several times the buffer, and judges what the other sink,
// the records and the control table see of it.
func outageUnderLoad(t *testing.T, after time.Duration, answer error, lasts time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 4})
		markers := newMarkerTable()
		log := w.journal()
		began := time.Now()
		traffic := &load{w: w}
		const fails = 15 * time.Second
		heals := fails + lasts
		var down atomic.Bool
		r := w.start("one", withMarkers(markers), func(o *pipeline.Options) {
			o.Sinks[0].Sink = wrong{o.Sinks[0].Sink, func(_ context.Context, run event.Run) (event.Outcome, bool) {
				if !down.Load() {
					return event.Outcome{}, false
				}
				<-time.After(after)
				return event.Outcome{Position: run.After, Known: true, Err: answer}, true
			}}
			audit := w.memory("audit")
			audit.Sink = timed{audit.Sink, traffic, began}
			o.Sinks = append(o.Sinks, audit)
			o.BufferBytes = buffer
		})
		var most atomic.Int64 // bytes held in the outage
		var charged atomic.Int64
		var scene sync.WaitGroup
		scene.Go(func() {
			<-time.After(fails)
			down.Store(true)
			for time.Since(began) < heals {
				<-time.After(100 * time.Millisecond)
				most.Store(max(most.Load(), int64(r.Stats().Bytes)))
				for _, trouble := range r.Troubles() {
					charged.Add(int64(trouble.Budget.Charged))
				}
			}
			if got := r.Stats().PausedSinks; !slices.Equal(got, []string{"view"}) {
				t.Errorf("paused are %v", got)
			}
			down.Store(false)
		})
		traffic.run(began, heals)
		scene.Wait()
		lag := eventually(t, 30*time.Second, "the sink has caught up", w.caughtUp)
		traffic.run(time.Now(), 5*time.Second)
		eventually(t, 10*time.Second, "everything is applied", func() bool { return w.caughtUp() && r.Stats().Pending == 0 })

		p50, p99, n := traffic.quantiles(5*time.Second, fails)
		p50d, p99d, nd := traffic.quantiles(fails+after, heals)
		t.Logf("the other sink, append to effect: before p50 %v, p99 %v (%d events); during p50 %v, p99 %v (%d events); the paused one caught up in %v",
			p50, p99, n, p50d, p99d, nd, lag)
		if n < 9_000 || nd < int((lasts-after).Seconds()-2)*1000 {
			t.Errorf("%d events before and %d during the outage are no full traffic", n, nd)
		}
		if p50d > p50*5/4 || p99d > p99*5/4 {
			t.Errorf("the other sink was slower in the outage")
		}
		if lag > 15*time.Second {
			t.Errorf("the sink needed %v after the outage", lag)
		}
		if most.Load() > buffer || most.Load() < buffer/3 {
			t.Errorf("%d bytes were held, the buffer has %d", most.Load(), buffer)
		}
		if markers.count(failure.BlockName) != 0 || charged.Load() != 0 {
			t.Errorf("%d aggregates were blocked, %d attempts charged", markers.count(failure.BlockName), charged.Load())
		}
		if s := r.Stats(); len(s.PausedSinks) != 0 || s.Pending != 0 || len(r.Troubles()) != 0 {
			t.Errorf("after it the stats are %+v, the troubles %v", s, r.Troubles())
		}
		if p, q := log.lines("is paused"), log.lines("answers again"); p != 1 || q != 1 {
			t.Errorf("paused was logged %d times, resumed %d times", p, q)
		}
		for aggregate, head := range w.heads {
			w.applied("audit", aggregate, head)
		}
		r.end()
		w.wholly()
	})
}

// TestC8_OutageHoldsNobodyElse: a target whose calls time out, under full traffic.
// While they do, what is in hand cannot be shed.
func TestC8_OutageHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	outageUnderLoad(t, 8*time.Second, &event.Error{Class: event.Transient, Op: "applying", Err: errBroken}, time.Minute)
}

// TestH19c_ForbiddenBlocksNobody: a permission that is taken away and given
// back is an outage as any other, whose letters would be thousands.
func TestH19c_ForbiddenBlocksNobody(t *testing.T) {
	t.Parallel()
	outageUnderLoad(t, 5*time.Millisecond, &event.Error{Class: event.Unavailable, Op: "applying", Err: errors.New("AccessDeniedException")}, 25*time.Second)
}

// TestC8_FullBudgetAfterAnOutage: a record that was tried in an outage, and that
// fails by itself afterwards, is tried as often and as long as any other.
func TestC8_FullBudgetAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		down := &event.Error{Class: event.Transient, Op: "applying", Err: errBroken}
		w.faults.answer("view", down)
		for a := range 30 {
			w.append(fmt.Sprint("a", a), 1)
		}
		w.append("bad", 1)
		r := w.start("one", withMarkers(markers), failing("bad", true, down))
		eventually(t, 10*time.Second, "the sink is paused", func() bool { return len(r.Stats().PausedSinks) == 1 })
		time.Sleep(20 * time.Minute)
		for _, trouble := range r.Troubles() {
			if trouble.Budget.Charged != 0 {
				t.Errorf("the outage is charged: %+v", trouble)
			}
		}
		w.faults.answer("view", nil)
		back := time.Now()
		quiet := w.beside("view", 300*time.Millisecond)
		eventually(t, 20*time.Second, "the others are applied", func() bool { return w.has("view", "a29", 1) })
		eventually(t, 2*time.Minute, "the bad one is blocked", func() bool { return markers.marker(t, "bad").NotLive() })
		if took := time.Since(back); took < 30*time.Second {
			t.Errorf("it was blocked %v after the outage", took)
		}
		quiet()
		if n := markers.count(failure.BlockName); n != 1 {
			t.Errorf("%d aggregates were blocked", n)
		}
		r.end()
	})
}

// probed is a sink that can be asked whether it is back.
type probed struct {
	sinks.Sink
	probe func(context.Context) error
}

func (p probed) Probe(ctx context.Context) error { return p.probe(ctx) }

// TestPausedSinkIsAskedNotTried: nobody hammers a sink that is down: one run
// about every five seconds, or, where it can be asked, none at all. When it
// answers, everything goes on at once.
func TestPausedSinkIsAskedNotTried(t *testing.T) {
	for name, asks := range map[string]bool{"by a run": false, "by its probe": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				var probes atomic.Int64
				var back atomic.Bool
				r := w.start("one", func(o *pipeline.Options) {
					if asks {
						o.Sinks[0].Sink = probed{o.Sinks[0].Sink, func(context.Context) error {
							if probes.Add(1) == 2 {
								panic("a probe that panics is a failure")
							}
							if !back.Load() {
								return errBroken
							}
							return nil
						}}
					}
				})
				w.faults.outage("view", true)
				for a := range 100 {
					w.append(fmt.Sprint("a", a), 1)
				}
				eventually(t, 10*time.Second, "the sink is paused", func() bool { return len(r.Stats().PausedSinks) == 1 })
				time.Sleep(10 * time.Second) // the calls that were under way, and the first trials
				before, _ := w.faults.arrived()
				asked := probes.Load()
				for a := range 100 {
					w.append(fmt.Sprint("b", a), 1)
					time.Sleep(600 * time.Millisecond)
				}
				calls, _ := w.faults.arrived()
				tries := int64(calls - before)
				if asks {
					if tries != 0 {
						t.Errorf("%d runs reached a sink that can be asked", tries)
					}
					tries = probes.Load() - asked
				}
				if tries < 8 || tries > 13 {
					t.Errorf("it was tried %d times in a minute", tries)
				}
				w.faults.outage("view", false)
				back.Store(true)
				eventually(t, 7*time.Second, "everything is applied", w.caughtUp)
				r.end()
				w.wholly()
			})
		})
	}
}

// TestTrafficThatStopsInAnOutage: the last records of a paused sink are applied
// also when nothing follows them, and a stop in the outage loses nothing.
func TestTrafficThatStopsInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		w.faults.outage("view", true)
		for a := range 50 {
			w.append(fmt.Sprint("a", a), 2)
		}
		first := w.start("one")
		eventually(t, 10*time.Second, "the sink is paused", func() bool { return len(first.Stats().PausedSinks) == 1 })
		time.Sleep(time.Minute)
		first.end()
		second := w.start("two")
		eventually(t, 20*time.Second, "its successor pauses it too", func() bool { return len(second.Stats().PausedSinks) == 1 })
		time.Sleep(10 * time.Minute)
		w.faults.outage("view", false)
		eventually(t, 7*time.Second, "everything is applied", w.caughtUp)
		second.end()
		w.wholly()
	})
}
