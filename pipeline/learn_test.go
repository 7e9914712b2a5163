package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// unreadable is a sink that cannot read positions while it is shut: of every
// aggregate, or of one and of all that are asked for with it.
type unreadable struct {
	sinks.Sink
	only  string
	shut  atomic.Bool
	asked atomic.Int64
}

func (u *unreadable) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	u.asked.Add(1)
	if u.shut.Load() && (u.only == "" || slices.Contains(aggregates, u.only)) {
		return nil, &event.Error{Class: event.Permanent, Op: "reading positions", Err: errors.New("somebody else's")}
	}
	return u.Sink.Positions(ctx, aggregates)
}

// applyAhead has the first versions of aggregates applied by a worker that
// ends, so that the next one sees later ones first.
func applyAhead(w *world, aggregates []string) {
	w.t.Helper()
	r := w.start("ahead")
	for _, a := range aggregates {
		w.append(a, 2)
	}
	eventually(w.t, time.Minute, "the first versions are applied", w.caughtUp)
	r.end()
}

func (w *world) shutSink(only string) (*unreadable, func(*pipeline.Options)) {
	u := &unreadable{Sink: w.memory("view").Sink, only: only}
	u.shut.Store(true)
	return u, func(o *pipeline.Options) { o.Sinks[0].Sink = u }
}

// TestAPositionThatCannotBeReadHoldsItsAggregateAlone: positions are read a
// hundred at a time, and one item that is somebody else's must not hold up the
// ninety-nine.
func TestAPositionThatCannotBeReadHoldsItsAggregateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		aggregates := []string{"bad"}
		for i := range 150 {
			aggregates = append(aggregates, fmt.Sprintf("a%d", i))
		}
		applyAhead(w, aggregates)
		for _, a := range aggregates {
			w.append(a, 1)
		}
		u, change := w.shutSink("bad")
		r := w.start("one", change)
		eventually(t, 20*time.Second, "all others are applied", func() bool {
			return !slices.ContainsFunc(aggregates[1:], func(a string) bool { return !w.has("view", a, 3) })
		})
		w.append("bad", 1)
		during(t, 5*time.Minute, "the one is in trouble", func() bool {
			got := r.Troubles()
			return len(got) == 1 && got[0].Aggregate == "bad" && got[0].Version == 0 && got[0].Class == event.Permanent
		})
		w.applied("view", "bad", 2)
		if n := u.asked.Load(); n > 300 {
			t.Errorf("positions were asked for %d times in five minutes", n)
		}
		u.shut.Store(false)
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble: %+v", got)
		}
		r.end()
		w.wholly()
	})
}

// TestATargetThatCannotBeReadIsNobodysTrouble: where all positions fail, no
// aggregate is to blame, and none is asked for by itself again and again.
func TestATargetThatCannotBeReadIsNobodysTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		aggregates := []string{"a", "b", "c"}
		applyAhead(w, aggregates)
		for _, a := range aggregates {
			w.append(a, 1)
		}
		u, change := w.shutSink("")
		r := w.start("one", change)
		during(t, 5*time.Minute, "no aggregate is in trouble", func() bool { return len(r.Troubles()) == 0 })
		if n := u.asked.Load(); n < 4 || n > 200 {
			t.Errorf("positions were asked for %d times in five minutes", n)
		}
		u.shut.Store(false)
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestTroubleEndsWhereOnlyTheAnswerWasLost: a run that took effect without an
// answer has no run after it that could end the trouble.
func TestTroubleEndsWhereOnlyTheAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		mute := &muted{Sink: w.memory("view").Sink}
		r := w.start("one", func(o *pipeline.Options) { o.Sinks[0].Sink = mute })
		w.append("a", 1)
		eventually(t, 20*time.Second, "it is applied", w.caughtUp)
		eventually(t, 20*time.Second, "nothing is in trouble", func() bool {
			return mute.lost.Load() == 1 && r.Stats().Pending == 0 && len(r.Troubles()) == 0
		})
		r.end()
		w.wholly()
	})
}

// muted is a sink that loses its first answer.
type muted struct {
	sinks.Sink
	lost atomic.Int64
}

func (m *muted) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	outcomes := m.Sink.Apply(ctx, runs)
	if m.lost.CompareAndSwap(0, 1) {
		outcomes[0] = event.Outcome{Err: &event.Error{Class: event.Transient, Op: "applying", Err: errors.New("no answer")}}
	}
	return outcomes
}
