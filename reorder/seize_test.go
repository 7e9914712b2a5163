package reorder

import (
	"errors"
	"testing"
	"time"

	"millrace/event"
)

var errTest = errors.New("refused")

// offer takes in one record.
func offer(w *Window, now time.Time, shard Shard, aggregate string, version uint64) {
	w.Offer(now, shard, 100, []Offered{{Event: event.Event{Aggregate: aggregate, Version: version, Image: event.Decoded(event.Item{"x": event.Null{}}), Layout: event.Orders()}, Ordinal: version}})
}

// TestSeize: whatever state an aggregate is in, nobody gets it while it is
// seized, nothing of it is lost, and it goes on where its position is found to
// be then.
func TestSeize(t *testing.T) {
	now := time.Now()
	for name, arrange := range map[string]func(*Window){
		"unknown":     func(*Window) {},
		"unseen":      func(w *Window) { offer(w, now, 1, "a", 3) },
		"being asked": func(w *Window) { offer(w, now, 1, "a", 3); w.Unseen(10) },
		"queued":      func(w *Window) { offer(w, now, 1, "a", 1) },
		"behind a gap": func(w *Window) {
			offer(w, now, 1, "a", 3)
			w.Unseen(10)
			w.Learn(now, "a", event.Position{Version: 1})
		},
		"blocked": func(w *Window) { w.Block("a", 2); offer(w, now, 1, "a", 3) },
		"held": func(w *Window) {
			offer(w, now, 1, "a", 1)
			w.Next(10)
			w.Done(now, "a", event.Outcome{Known: true, Err: errTest}, now.Add(time.Hour))
		},
		"idle": func(w *Window) {
			offer(w, now, 1, "a", 1)
			w.Next(10)
			w.Done(now, "a", event.Outcome{Known: true, Position: event.Position{Version: 1}}, time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Options{})
			arrange(w)
			if !w.Seize("a", event.Orders()) || w.Seize("a", event.Orders()) || !w.InHand("a") {
				t.Fatal("it is not seized, or twice")
			}
			offer(w, now, 2, "a", 4)
			if refs := w.Block("a", 9); len(refs) != 0 {
				t.Errorf("a block settles %v", refs)
			}
			if refs := w.Learn(now, "a", event.Position{Version: 9}); len(refs) != 0 {
				t.Errorf("a position settles %v", refs)
			}
			w.Due(now.Add(24 * time.Hour))
			if run, ok := w.Next(10); ok {
				t.Errorf("somebody else is given %+v", run)
			}
			w.Done(now, "a", event.Outcome{}, now)
			w.Due(now.Add(time.Second))
			if asked := w.Unseen(10); len(asked) != 1 || asked[0] != "a" {
				t.Fatalf("asked for are %v", asked)
			}
			if refs := w.Learn(now, "a", event.Position{Version: 4}); len(refs) == 0 {
				t.Error("at its head nothing is settled")
			}
			if u := w.Usage(); u.Entries != 0 || u.Bytes != 0 {
				t.Errorf("it holds %+v", u)
			}
			offer(w, now, 2, "a", 5)
			if run, ok := w.Next(10); !ok || run.After.Version != 4 || run.Events[0].Layout == nil {
				t.Errorf("it goes on with %+v", run)
			}
		})
	}
}
