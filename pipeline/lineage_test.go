package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/localaws"
	"millrace/source"
)

// TestFault02_ChildWaitsForItsParent: a parent that is read to its end but not
// settled keeps its child closed; settled, it lets it be read.
func TestFault02_ChildWaitsForItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 1)
		w.append("a", 1)
		w.append("b", 3)
		parent := w.shard()
		if err := w.engine.Roll(eventsTable, parent); err != nil {
			t.Fatal(err)
		}
		child := w.shard()
		w.append("b", 3)
		r := w.start("one")
		eventually(t, 10*time.Second, "the parent's b is applied", func() bool { return w.has("view", "b", 3) })
		during(t, 30*time.Second, "the child is not read", func() bool {
			return w.engine.Counters().Shards[child].Calls == 0
		})
		if got := w.leases()[source.ShardID(parent)].State; got != checkpoint.Active {
			t.Errorf("the unsettled parent is %v", got)
		}
		w.applied("view", "b", 3)
		w.faults.heal()
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
		rows := w.leases()
		if got := rows[source.ShardID(parent)]; got.State != checkpoint.Finished || len(got.Children) != 1 || got.Children[0] != source.ShardID(child) {
			t.Errorf("the parent's row is %+v", got)
		}
	})
}

// TestFault03_ParentTrimmed: a child whose parent has left the stream is read,
// and the parent is counted.
func TestFault03_ParentTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 2)
		if err := w.engine.Roll(eventsTable, w.shard()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.append("a", 2)
		r := w.start("one")
		eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
		if got := r.Stats(); got.ShardsGone != 1 || got.GapsFilled != 1 {
			t.Errorf("%d shards gone and %d gaps filled, want 1 and 1", got.ShardsGone, got.GapsFilled)
		}
		r.end()
		w.wholly()
	})
}

// TestFault05_FinishedShardsStayFinished: a restart reads no shard again.
func TestFault05_FinishedShardsStayFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		for _, a := range []string{"a", "b", "c"} {
			w.append(a, 3)
		}
		if err := w.engine.RollAll(eventsTable); err != nil {
			t.Fatal(err)
		}
		w.append("a", 3)
		first := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		eventually(t, 20*time.Second, "both parents are finished", func() bool { return len(w.owners()) == 2 })
		first.end()
		before := w.engine.Counters().Shards
		second := w.start("two")
		time.Sleep(2 * time.Minute)
		second.end()
		after := w.engine.Counters().Shards
		for _, s := range w.engine.Shards(eventsTable) {
			if s.Closed && after[s.ID].Calls != before[s.ID].Calls {
				t.Errorf("finished shard %s was read %d times more", s.ID, after[s.ID].Calls-before[s.ID].Calls)
			}
		}
		if got := second.Stats(); got.Records != 0 || got.Duplicates != 0 {
			t.Errorf("the second worker read %d records again", got.Records)
		}
		w.wholly()
	})
}

// TestFault06_RecordsOfTheLastPage: a shard's last page carries records and no
// next iterator at once.
func TestFault06_RecordsOfTheLastPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1, EmptyPages: -1})
		w.append("a", 7)
		parent := w.shard()
		if err := w.engine.Roll(eventsTable, parent); err != nil {
			t.Fatal(err)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "the parent is finished", func() bool {
			return w.leases()[source.ShardID(parent)].State == checkpoint.Finished
		})
		if got := w.engine.Counters().Shards[parent]; got.Calls != 1 || got.Records != 7 {
			t.Errorf("%d calls and %d records, want one page of 7 that ends the shard", got.Calls, got.Records)
		}
		r.end()
		w.wholly()
	})
}

// TestFault07_ChildOfLatest: a group that started at latest loses nothing that
// is written to a child before the child is found.
func TestFault07_ChildOfLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one", latest)
		eventually(t, 20*time.Second, "the shard is taken", w.owned(r.name))
		for round := range 3 {
			if err := w.engine.Roll(eventsTable, w.shard()); err != nil {
				t.Fatal(err)
			}
			w.append(fmt.Sprintf("a%d", round), 5)
			w.append("b", 5)
			time.Sleep(7 * time.Second)
		}
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
		if got := r.Stats().GapsFilled; got != 0 {
			t.Errorf("%d gaps were filled: records were left out", got)
		}
	})
}

// TestFault08_IteratorsExpire: reading goes on behind the last record.
func TestFault08_IteratorsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		r := w.start("one")
		for range 5 {
			w.append("a", 5)
			w.append("b", 5)
			time.Sleep(3 * time.Second)
			if err := w.engine.ExpireIterators(eventsTable); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
		if got := r.Stats(); got.Records != 50 || got.Duplicates != 0 || got.Trimmed != 0 {
			t.Errorf("%d records, %d repeats, %d trims; want 50, 0, 0", got.Records, got.Duplicates, got.Trimmed)
		}
	})
}

// TestFault09_ShardGone: a shard that leaves the stream under its reader is
// finished and counted, and its child is read.
func TestFault09_ShardGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		parent := w.shard()
		w.append("a", 3)
		r := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		unfreeze := w.engine.Inject(localaws.Fault{
			Match: func(c localaws.Call) bool { return c.Operation == "GetRecords" }, Do: localaws.Throttle,
		})
		w.append("a", 2)
		if err := w.engine.Roll(eventsTable, parent); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.append("a", 2)
		unfreeze()
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		if got := r.Stats(); got.ShardsGone != 1 || got.GapsFilled != 1 {
			t.Errorf("%d shards gone, %d gaps filled; want 1 and 1", got.ShardsGone, got.GapsFilled)
		}
		eventually(t, time.Minute, "the lost shard is finished", func() bool {
			return w.leases()[source.ShardID(parent)].State == checkpoint.Finished
		})
		r.end()
		for a, n := range w.heads {
			w.applied("view", a, n)
		}
	})
}

// TestFault10_TrimmedPastTheCheckpoint: what was trimmed is counted, reading
// goes on at the horizon, and the versions come from the event store.
func TestFault10_TrimmedPastTheCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 3)
		first := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		first.end()
		w.append("a", 3)
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.append("a", 3)
		second := w.start("two")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		if got := second.Stats(); got.Trimmed != 1 || got.GapsFilled != 1 || got.Records != 3 {
			t.Errorf("trimmed %d times, %d gaps filled, %d records; want 1, 1, 3", got.Trimmed, got.GapsFilled, got.Records)
		}
		second.end()
		w.wholly()
	})
}

// TestH11_ParentHidden: a listing that shows a child and not its parent does
// not have the child read first.
func TestH11_ParentHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		parent := w.shard()
		w.append("a", 4)
		if err := w.engine.Roll(eventsTable, parent); err != nil {
			t.Fatal(err)
		}
		child := w.shard()
		w.append("a", 4)
		if err := w.engine.HideParents(eventsTable, true); err != nil {
			t.Fatal(err)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "the child has a row", func() bool { return len(w.leases()) == 1 })
		during(t, 5*time.Minute, "the child is not read", func() bool {
			return w.engine.Counters().Shards[child].Calls == 0
		})
		if err := w.engine.HideParents(eventsTable, false); err != nil {
			t.Fatal(err)
		}
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		if got := r.Stats(); got.ShardsGone != 0 || got.GapsFilled != 0 {
			t.Errorf("%d shards gone, %d gaps filled; want none", got.ShardsGone, got.GapsFilled)
		}
		r.end()
		w.wholly()
	})
}

// TestDisabledStream: a stream that was disabled is read to its end, and its
// shards are finished without children.
func TestDisabledStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		r := w.start("one")
		w.append("a", 4)
		w.append("b", 4)
		if err := w.engine.DisableStream(eventsTable); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, "both shards are finished", func() bool {
			return len(w.leases()) == 2 && len(w.owners()) == 0
		})
		for id, row := range w.leases() {
			if row.Checkpoint.Kind != source.ShardEnd || len(row.Children) != 0 || row.Owner != "" {
				t.Errorf("shard %s ended as %+v", id, row)
			}
		}
		eventually(t, 10*time.Second, "no shard is held", func() bool { return r.Stats().Shards == 0 })
		r.end()
		w.wholly()
	})
}

// TestC5_LineageOfEveryShape: whatever becomes of the shards, each version
// takes effect once and in order, and no record is left unsettled.
func TestC5_LineageOfEveryShape(t *testing.T) {
	text := func(version uint64) event.Value { return event.Orders().VersionKey(version) }
	for _, tc := range []struct {
		name    string
		options localaws.Options
		change  func(w *world) error
	}{
		{"rolls", localaws.Options{Shards: 2}, func(w *world) error { return w.engine.RollAll(eventsTable) }},
		{"rolls by size, permuted", localaws.Options{Shards: 2, RollRecords: 25, Permute: 5}, func(*world) error { return nil }},
		{"splits by hash", localaws.Options{Shards: 1}, func(w *world) error { return w.engine.Split(eventsTable, w.shard()) }},
		{"children numbered below", localaws.Options{Shards: 2, ChildSequences: localaws.SequencesLower}, func(w *world) error { return w.engine.RollAll(eventsTable) }},
		{"children numbered longer", localaws.Options{Shards: 2, ChildSequences: localaws.SequencesLonger}, func(w *world) error { return w.engine.RollAll(eventsTable) }},
		{"late listings", localaws.Options{Shards: 2, ListingLag: 20 * time.Second, ChildFilterLag: 5 * time.Second}, func(w *world) error { return w.engine.RollAll(eventsTable) }},
		{"split above the newest item", localaws.Options{Shards: 1}, func(w *world) error {
			return w.engine.SplitCollection(eventsTable, event.String("a0"), text(w.heads["a0"]+3))
		}},
		{"alternating", localaws.Options{Shards: 1, Permute: 3}, func(w *world) error {
			return w.engine.SplitAlternating(eventsTable, event.String("a1"))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.options.Seed = 5
				w := newWorld(t, tc.options)
				r := w.start("one")
				for round := range 8 {
					for a := range 4 {
						w.append(fmt.Sprintf("a%d", a), 5)
					}
					if round%3 == 1 && (tc.name != "alternating" || round == 1) {
						if err := tc.change(w); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Second)
				}
				eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
				r.end()
				w.wholly()
				if got := r.Stats(); got.ShardsGone+got.Trimmed+got.Fenced+got.Resets != 0 {
					t.Errorf("counted %+v", got)
				}
			})
		})
	}
}
