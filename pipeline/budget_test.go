package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// beside appends to others, one event after the other, until it is told to be
// quiet, which then waits until all of them are applied. A budget is used up
// beside such traffic alone.
func (w *world) beside(sink string, every time.Duration) (quiet func()) {
	w.t.Helper()
	stop := make(chan struct{})
	var writer sync.WaitGroup
	var n uint64
	names := []string{"ann", "bob", "cho", "n72"} // on either side of every split
	others := uint64(len(names))
	writer.Go(func() {
		for ; ; n++ {
			if _, err := w.store.Append(context.Background(), names[n%others], n/others, happened()); err != nil {
				w.t.Errorf("writing beside: %v", err)
				return
			}
			select {
			case <-stop:
				n++
				return
			case <-time.After(every):
			}
		}
	})
	quiet = sync.OnceFunc(func() {
		close(stop)
		writer.Wait()
		for i, name := range names {
			if head := (n + others - 1 - uint64(i)) / others; head > 0 {
				w.heads[name] = head
			}
		}
	})
	w.t.Cleanup(quiet)
	return quiet
}

// wrong wraps a sink; what it says of a run is answered instead of the sink's
// answer, unless it has no answer.
type wrong struct {
	sinks.Sink
	says func(ctx context.Context, run event.Run) (event.Outcome, bool)
}

func (s wrong) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	if o, ok := s.says(ctx, runs[0]); ok {
		return []event.Outcome{o}
	}
	return s.Sink.Apply(ctx, runs)
}

var errBroken = errors.New("it does not answer")

// failing answers an aggregate with one error, or, where it is unknown whether
// the run took effect, with that.
func failing(aggregate string, known bool, err error) func(*pipeline.Options) {
	return func(o *pipeline.Options) {
		o.Sinks[0].Sink = wrong{o.Sinks[0].Sink, func(_ context.Context, run event.Run) (event.Outcome, bool) {
			return event.Outcome{Position: run.After, Known: known, Err: err}, run.Aggregate == aggregate
		}}
	}
}

// TestF3_OneThatFailsWhileOthersPass: it is blocked after its budget and not
// before, its followers are on record, and a redrive brings it back; whether
// the sink knows where it stands or not.
func TestF3_OneThatFailsWhileOthersPass(t *testing.T) {
	for name, known := range map[string]bool{"the sink knows that nothing took effect": true, "nobody knows": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 2})
				markers := newMarkerTable()
				broken := &event.Error{Class: event.Transient, Op: "applying", Err: errBroken}
				quiet := w.beside("view", 300*time.Millisecond)
				r := w.start("one", withMarkers(markers), failing("bad", known, broken))
				time.Sleep(3 * time.Second)
				w.append("bad", 3)
				began := time.Now()
				took := eventually(t, 2*time.Minute, "the aggregate is blocked", func() bool { return markers.marker(t, "bad").NotLive() })
				w.append("bad", 2)
				eventually(t, 10*time.Second, "its followers are on record", func() bool { return markers.marker(t, "bad").SeenVersion == 5 })
				got := markers.marker(t, "bad")
				if took < 30*time.Second || took > 50*time.Second {
					t.Errorf("blocked after %v", took)
				}
				if got.BlockedVersion != 1 || got.Cause.Class != "transient" || got.Cause.Attempts < 6 || got.Cause.First.Before(began) ||
					!strings.Contains(got.Cause.Text, fmt.Sprintf("giving up after %d attempts over ", got.Cause.Attempts)) {
					t.Errorf("the marker is %+v", got)
				}
				quiet()
				eventually(t, 10*time.Second, "nothing is held", func() bool { return r.Stats().Pending == 0 && len(r.Troubles()) == 0 })
				result, err := w.redriver(markers, "job").Redrive(t.Context(), got)
				if err != nil || result.Outcome != redrive.Released {
					t.Fatalf("the redrive ended %+v, %v", result, err)
				}
				eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
				r.end()
				w.wholly()
			})
		})
	}
}

// TestH19b_OneEventAMinute: with so little traffic no breaker sees an outage.
// Whatever the sink answers to everybody, no aggregate is blocked, and when it
// is back everything is applied.
func TestH19b_OneEventAMinute(t *testing.T) {
	t.Parallel()
	for _, class := range []event.Class{event.Transient, event.Unknown, event.Batch, event.Unavailable} {
		t.Run(class.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				markers := newMarkerTable()
				w.append("a0", 1)
				r := w.start("one", withMarkers(markers))
				eventually(t, 10*time.Second, "the first is applied", w.caughtUp)
				w.faults.answer("view", &event.Error{Class: class, Op: "applying", Err: errBroken})
				for minute := range 30 {
					w.append(fmt.Sprint("a", minute%3), 1)
					time.Sleep(time.Minute)
				}
				troubles := r.Troubles()
				if len(troubles) != 3 || troubles[0].Attempts < 20 || troubles[0].Class != class {
					t.Errorf("the troubles are %+v", troubles)
				}
				for _, trouble := range troubles {
					if trouble.Budget.Charged != 0 || trouble.Budget.Age != 0 {
						t.Errorf("an outage used up %+v", trouble)
					}
				}
				w.faults.answer("view", nil)
				eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
				if n := markers.count(failure.BlockName); n != 0 {
					t.Errorf("%d aggregates were blocked", n)
				}
				r.end()
				w.wholly()
			})
		})
	}
}

// TestH19a_OutageLongerThanTheAge: before it and after it others are answered.
// No record has grown old by it.
func TestH19a_OutageLongerThanTheAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		r := w.start("one", withMarkers(markers))
		for a := range 10 {
			w.append(fmt.Sprint("a", a), 2)
		}
		eventually(t, 10*time.Second, "they are applied", w.caughtUp)
		w.faults.outage("view", true)
		for a := range 10 {
			w.append(fmt.Sprint("a", a), 2)
		}
		time.Sleep(20 * time.Minute)
		w.faults.outage("view", false)
		quiet := w.beside("view", 100*time.Millisecond)
		eventually(t, 30*time.Second, "everything is applied", w.caughtUp)
		quiet()
		eventually(t, 10*time.Second, "what was written beside too", w.caughtUp)
		if n := markers.count(failure.BlockName); n != 0 {
			t.Errorf("%d aggregates were blocked", n)
		}
		r.end()
		w.wholly()
	})
}

// TestPanicIsAFailureOfItsRecord: a sink that panics takes no worker down. Its
// record is blocked, once the position says that it is not in effect, with the
// place of the panic; one whose position cannot be asked for without a panic
// waits.
func TestPanicIsAFailureOfItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		w.append("unlucky", 2)
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.append("bad", 3)
		w.append("unlucky", 1) // at first sight with version 3: its position is asked for
		w.append("good", 3)
		r := w.start("one", withMarkers(markers), func(o *pipeline.Options) {
			o.Sinks[0].Sink = panicking{wrong{o.Sinks[0].Sink, func(_ context.Context, run event.Run) (event.Outcome, bool) {
				if run.Aggregate == "bad" {
					_ = run.Events[len(run.Events)]
				}
				return event.Outcome{}, false
			}}}
		})
		eventually(t, 30*time.Second, "the record is blocked", func() bool { return markers.marker(t, "bad").SeenVersion == 3 })
		got := markers.marker(t, "bad")
		if got.BlockedVersion != 1 || got.Cause.Class != "permanent" || got.Cause.Type != "*event.Panic" || got.Cause.Attempts != 1 ||
			len(got.Cause.Frames) == 0 || !strings.Contains(got.Cause.Frames[0], "budget_test.go") {
			t.Errorf("the marker is %+v", got)
		}
		eventually(t, 10*time.Second, "the good is applied", func() bool { return w.has("view", "good", 3) })
		eventually(t, 10*time.Second, "the other is in trouble", func() bool {
			troubles := r.Troubles()
			return len(troubles) == 1 && troubles[0].Aggregate == "unlucky" && strings.Contains(troubles[0].Err.Error(), "no position of unlucky")
		})
		r.end()
	})
}

// panicking panics when it is asked where unlucky stands.
type panicking struct{ sinks.Sink }

func (p panicking) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	for _, aggregate := range aggregates {
		if aggregate == "unlucky" {
			panic("no position of " + aggregate)
		}
	}
	return p.Sink.Positions(ctx, aggregates)
}
