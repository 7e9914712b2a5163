package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/source"
)

func latest(o *pipeline.Options) { o.Start = source.Latest }

// TestH10_PinnedByTheServicesClock: a group that starts at latest is pinned a
// minute before the service's own clock, whatever this machine's says, and
// shards that closed before they were listed start there as well.
func TestH10_PinnedByTheServicesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := 3 * time.Second // the service's clock, against ours
		w := newWorld(t, localaws.Options{Shards: 1, Now: func() time.Time { return time.Now().Add(-behind) }})
		w.append("before", 4)
		time.Sleep(2 * time.Minute)
		w.append("after", 4)
		closed := w.shard()
		if err := w.engine.Roll(eventsTable, closed); err != nil {
			t.Fatal(err)
		}
		w.append("after", 4)
		started := time.Now()
		r := w.start("one", latest)
		eventually(t, 20*time.Second, "what came since the pin is applied", func() bool { return w.has("view", "after", 8) })
		pin, err := w.controlStore("check", "check").Pin(t.Context(), pinOf(w, started))
		if err != nil {
			t.Fatal(err)
		}
		// The Date of an answer is a whole second.
		want := started.Add(-behind - time.Minute)
		if got := pin.Start.Time; got.Before(want.Add(-time.Second)) || got.After(want.Add(time.Second)) {
			t.Errorf("pinned at %v, want about %v", got, want)
		}
		r.end()
		w.applied("view", "after", 8)
		w.applied("view", "before", 0)
		if got := r.Stats(); got.Records != 8 {
			t.Errorf("%d records were read, want the 8 after the pin", got.Records)
		}
	})
}

// TestH10_CrashBetweenTheRows: a worker that dies after half of the lease rows
// leaves the pin that its successor goes on with.
func TestH10_CrashBetweenTheRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 6})
		started := time.Now()
		for _, a := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			w.append(a, 2)
		}
		w.engine.Inject(localaws.Fault{ // the third row is the last that lands
			Match: func(c localaws.Call) bool {
				return c.App == "millrace/g/one.1" && c.Table == controlTable && c.Operation != "Query" && c.Operation != "GetItem"
			},
			Do: localaws.TimeOut, After: 4,
		})
		first := w.start("one", latest)
		eventually(t, time.Minute, "half of the rows are there", func() bool { return len(w.leases()) >= 3 })
		first.crash()
		half := len(w.leases())
		if half == 6 {
			t.Fatal("all rows were made; this tests nothing")
		}
		time.Sleep(10 * time.Minute)
		second := w.start("two", latest)
		eventually(t, time.Minute, "what the first was to read is applied", w.caughtUp)
		pin, err := w.controlStore("check", "check").Pin(t.Context(), pinOf(w, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		if got := pin.Start.Time; got.After(started) || got.Before(started.Add(-2*time.Minute)) {
			t.Errorf("pinned at %v, want by the first worker, started at %v", got, started)
		}
		second.end()
		w.wholly()
	})
}

// TestH10_ListedLater: a shard that no listing showed at first starts at the
// pin, not where the listing found it.
func TestH10_ListedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		hidden := w.shard()
		if err := w.engine.HideShard(eventsTable, hidden, true); err != nil {
			t.Fatal(err)
		}
		r := w.start("one", latest)
		for _, a := range []string{"a", "b", "c", "d", "e"} {
			w.append(a, 3)
		}
		time.Sleep(5 * time.Minute)
		if w.caughtUp() {
			t.Fatal("the hidden shard has none of the aggregates; this tests nothing")
		}
		if err := w.engine.HideShard(eventsTable, hidden, false); err != nil {
			t.Fatal(err)
		}
		eventually(t, 90*time.Second, "the hidden shard's records are applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}
