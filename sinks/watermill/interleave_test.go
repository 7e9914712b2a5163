package watermill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"millrace/event"
	"millrace/sinks"
	"millrace/sinks/position"
	"millrace/sinks/watermill"
)

// TestH24_FirstDeliveriesAreInOrder: two workers that know nothing of each
// other publish one aggregate. They stop at each read, each message and each
// move, and go on in any order; calls fail, lose their answers, land late;
// workers crash and begin again from where the row stands, or are told to read
// an old page once more. In every history the first deliveries are in order and
// complete, repeats have their first id, and the row passes nothing that was
// not accepted.
func TestH24_FirstDeliveriesAreInOrder(t *testing.T) {
	b := newBench(t)
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		histories++
		w := &world{ctx: t.Context(), store: b.store, broker: &broker{}, aggregate: fmt.Sprint("order#", histories)}
		workers := []*worker{w.worker(), w.worker()}
		finish := func() {
			for _, each := range workers {
				for each.busy {
					each.resume(none)
				}
			}
		}
		rt.Cleanup(finish) // for histories that end early
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			if n := rapid.IntRange(0, 8).Draw(rt, "who"); n == 8 {
				w.land()
			} else {
				workers[n%2].step(rt)
			}
			w.check(rt)
		}
		finish()
		for len(w.late) > 0 {
			w.land()
		}
		// Faults have ended: one worker brings it to the end, and needs two runs
		// at most, since what it believes may be old.
		last := workers[0]
		for range 2 {
			last.ask()
			if last.believes < head {
				last.start(head - last.believes)
				for last.busy {
					last.resume(none)
				}
			}
		}
		w.check(rt)
		if w.row != head {
			rt.Fatalf("the row ends at %d, want %d; delivered %v", w.row, head, w.broker.versions(w.aggregate))
		}
		if err := firsts(w.broker.log, w.aggregate, head); err != nil {
			rt.Fatalf("%v; delivered %v", err, w.broker.versions(w.aggregate))
		}
	})
}

const head = 12

// world is what two workers share. One goroutine runs at a time.
type world struct {
	ctx       context.Context
	store     *position.Store
	broker    *broker
	aggregate string
	late      []func() // moves that have not landed yet
	row       uint64   // as seen by check
}

// check holds the row against what was delivered.
func (w *world) check(rt *rapid.T) {
	at, err := w.store.Positions(w.ctx, identity(), []string{w.aggregate})
	if err != nil {
		rt.Fatal(err)
	}
	if at[0].Version < w.row {
		rt.Fatalf("the row fell from %d to %d", w.row, at[0].Version)
	}
	w.row = at[0].Version
	delivered := uint64(0)
	for _, v := range w.broker.versions(w.aggregate) {
		if v == delivered+1 {
			delivered++
		} else if v > delivered {
			rt.Fatalf("version %d went out before version %d", v, delivered+1)
		}
	}
	if w.row > delivered {
		rt.Fatalf("the row stands at %d, and %d is the last version that went out", w.row, delivered)
	}
}

// land lets the oldest late move happen.
func (w *world) land() {
	if len(w.late) > 0 {
		w.late[0]()
		w.late = w.late[1:]
	}
}

// fault is what becomes of one call.
type fault int

const (
	none   fault = iota
	refuse       // no effect, and an answer that says so
	lose         // the effect, and no answer
	drop         // no effect, and no answer
	late         // the effect later, and no answer
	crash        // the worker is gone before the call
)

// worker runs one Apply at a time in a goroutine that stops before each call.
type worker struct {
	*world
	sink     *watermill.Sink
	believes uint64
	busy     bool
	crashed  bool
	arrived  chan *event.Outcome // nil: before a call
	fate     chan fault
}

func (w *world) worker() *worker {
	each := &worker{world: w, arrived: make(chan *event.Outcome), fate: make(chan fault)}
	each.boot()
	return each
}

func (w *worker) boot() {
	sink, err := watermill.New(watermill.Options{Publisher: w, Topic: "orders", Identity: identity(), Positions: w})
	if err != nil {
		panic(err) // the options are the test's own
	}
	w.sink, w.crashed = sink, false
}

// step starts a run, or lets the one under way make its next call.
func (w *worker) step(rt *rapid.T) {
	if w.busy {
		w.resume(rapid.SampledFrom([]fault{none, none, none, none, refuse, lose, drop, late, crash}).Draw(rt, "fate"))
		return
	}
	if w.believes == head || rapid.IntRange(0, 5).Draw(rt, "old page") == 0 {
		w.believes = rapid.Uint64Range(0, min(w.row, head-1)).Draw(rt, "believes")
	}
	w.start(rapid.Uint64Range(1, min(4, head-w.believes)).Draw(rt, "length"))
}

func (w *worker) start(length uint64) {
	w.busy = true
	r := run(w.aggregate, w.believes, w.believes+length)
	go func() {
		outcome := apply(w.ctx, w.sink, r)
		w.arrived <- &outcome
	}()
	w.wait()
}

func (w *worker) resume(f fault) {
	w.fate <- f
	w.wait()
}

// wait lets the worker come to its next call, or to its end, which it takes in
// as the pipeline does.
func (w *worker) wait() {
	outcome := <-w.arrived
	if outcome == nil {
		return
	}
	w.busy = false
	switch {
	case w.crashed:
		w.boot()
		w.ask()
	case outcome.Known:
		w.believes = outcome.Position.Version
	default:
		w.ask()
	}
}

func (w *worker) ask() {
	at, err := w.sink.Positions(w.ctx, []string{w.aggregate})
	if err != nil {
		panic(err) // nothing fails outside of Apply
	}
	w.believes = at[0].Version
}

// call stops before a call and returns what becomes of it.
func (w *worker) call() fault {
	if !w.busy {
		return none
	}
	if w.crashed {
		return crash
	}
	w.arrived <- nil
	f := <-w.fate
	w.crashed = f == crash
	return f
}

var errSilence = errors.New("no answer")

func silence() error { return &event.Error{Class: event.Transient, Op: "calling", Err: errSilence} }

// Publish is the worker's publisher.
func (w *worker) Publish(topic string, messages ...*message.Message) error {
	switch w.call() {
	case none:
		return w.broker.Publish(topic, messages...)
	case lose, late:
		if err := w.broker.Publish(topic, messages...); err != nil {
			return err
		}
	default:
	}
	return silence()
}

// Close closes nothing.
func (w *worker) Close() error { return nil }

// Positions is the worker's way to the control table, as Move is.
func (w *worker) Positions(ctx context.Context, id sinks.Identity, aggregates []string) ([]event.Position, error) {
	if w.call() != none {
		return nil, silence()
	}
	return w.store.Positions(ctx, id, aggregates)
}

// Move moves the row, perhaps.
func (w *worker) Move(ctx context.Context, id sinks.Identity, aggregate string, from, to event.Position) (event.Position, error) {
	move := func() (event.Position, error) { return w.store.Move(ctx, id, aggregate, from, to) }
	switch w.call() {
	case none:
		return move()
	case refuse:
		return event.Position{}, &event.Error{Class: event.Transient, Op: "moving", Err: &types.ProvisionedThroughputExceededException{}}
	case lose:
		if _, err := move(); err != nil {
			return event.Position{}, err
		}
	case late:
		w.late = append(w.late, func() {
			if _, err := move(); err != nil {
				panic(err) // a late move may be refused, which is no error
			}
		})
	default:
	}
	return event.Position{}, silence()
}
