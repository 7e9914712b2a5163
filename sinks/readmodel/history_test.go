package readmodel_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/sinks/readmodel"
)

// move is one thing that happens in a history: a worker applies a run from
// what it believes, and something goes wrong on the way, or not.
type move struct {
	Worker int
	Length uint64
	Fault  localaws.Action
	Wait   time.Duration // before the move
	Rewind bool          // the worker starts again at an older version, as after a failover
}

const head = 14

// TestEveryStateIsTheFoldOfItsHistory: two workers that know nothing of each
// other, answers lost, writes that land long after their worker gave up. After
// every single write that the table accepted, the item is the fold of versions
// 1 to its position, and the position only ever grew.
func TestEveryStateIsTheFoldOfItsHistory(t *testing.T) {
	faults := rapid.SampledFrom([]localaws.Action{
		0, 0, 0, localaws.Throttle, localaws.FailBefore, localaws.FailAfter, localaws.LoseAnswer, localaws.LandLate,
	})
	moves := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Worker: rapid.IntRange(0, 1).Draw(t, "worker"),
			Length: rapid.Uint64Range(1, 5).Draw(t, "length"),
			Fault:  faults.Draw(t, "fault"),
			Wait:   time.Duration(rapid.IntRange(0, 8).Draw(t, "wait")) * time.Second,
			Rewind: rapid.IntRange(0, 5).Draw(t, "rewind") == 0,
		}
	}), 1, 25)
	rapid.Check(t, func(rt *rapid.T) {
		history := moves.Draw(rt, "history")
		var err error
		synctest.Test(t, func(t *testing.T) { err = play(t, history) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func play(t *testing.T, history []move) error {
	t.Helper()
	b := newBench(t)
	p, err := ordersview.Projection()
	if err != nil {
		return err
	}
	events := order(head)
	workers := []*believer{{sink: b.sink(b.folding(p))}, {sink: b.sink(b.folding(p))}}
	for _, m := range history {
		time.Sleep(m.Wait)
		w := workers[m.Worker]
		if m.Rewind {
			w.believes /= 2
		}
		if w.believes == head {
			continue
		}
		remove := func() {}
		if m.Fault != 0 {
			remove = b.Inject(localaws.Fault{Match: isUpdate, Do: m.Fault, Times: 1, Delay: 5 * time.Second})
		}
		err := w.step(t.Context(), events, min(head, w.believes+m.Length))
		remove()
		if err != nil {
			return err
		}
	}
	time.Sleep(time.Minute) // the last late write has landed
	for range 2 {           // the first may learn that it was wrong about the position
		if err := workers[0].step(t.Context(), events, head); err != nil {
			return err
		}
	}
	if workers[0].believes != head {
		return fmt.Errorf("without faults the end was not reached: %d of %d", workers[0].believes, head)
	}
	return b.judge(p, events)
}

// judge looks at all that ever stood in the table.
func (b bench) judge(p projection.Projection, events []event.Event) error {
	var last uint64
	for _, change := range b.History(table) {
		stored := change.New
		var position uint64
		if _, err := fmt.Sscan(string(stored["lastProcessedVersion"].(event.Number)), &position); err != nil {
			return err
		}
		if position <= last || position > head {
			return fmt.Errorf("the position went from %d to %d", last, position)
		}
		want, err := projection.Replay(p, events[:position])
		if err != nil {
			return err
		}
		for name, v := range want {
			if !event.Equal(stored[name], v) {
				return fmt.Errorf("at %d attribute %s is %v, the fold says %v", position, name, stored[name], v)
			}
		}
		last = position
	}
	if last != head {
		return fmt.Errorf("the table ends at %d, want %d", last, head)
	}
	return nil
}

// believer is a worker with a belief about the position of one order.
type believer struct {
	sink     *readmodel.Sink
	believes uint64
}

func (w *believer) step(ctx context.Context, events []event.Event, last uint64) error {
	if w.believes >= last {
		return nil
	}
	got := apply(ctx, w.sink, event.Run{
		Aggregate: "order-1", After: event.Position{Version: w.believes}, Events: events[w.believes:last],
	})
	switch {
	case got.Known && got.Err == nil && got.Position.Version < last:
		return fmt.Errorf("run %d..%d ended at %d without an error", w.believes+1, last, got.Position.Version)
	case got.Known:
		w.believes = got.Position.Version
		return nil
	}
	at, err := w.sink.Positions(ctx, []string{"order-1"})
	if err != nil {
		return err
	}
	w.believes = at[0].Version
	return nil
}

// order is a history of one order.
func order(n uint64) []event.Event {
	events := run("order-1", 0, n).Events
	for i := range events {
		item, _ := events[i].Image.Item()
		item = item.Clone()
		item["type"], item["amount"] = event.String(ordersview.ItemAdded), event.Number("0.1")
		if i == 0 {
			item["type"], item["customer"] = event.String(ordersview.OrderPlaced), event.String("Ada")
		}
		events[i].Image = event.Decoded(item)
	}
	return events
}
