package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/source"
)

// TestFault12_CheckpointPassesNoUnackedRecord: the checkpoint stands before the
// first record that is not in effect, however many after it are.
func TestFault12_CheckpointPassesNoUnackedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("bad", 2)
		w.append("good", 2)
		w.append("bad", 1)
		w.append("bad", 1) // refused
		w.append("good", 40)
		w.append("bad", 3)
		r := w.start("one")
		eventually(t, 20*time.Second, "the good is applied", func() bool { return w.has("view", "good", 42) })
		id := source.ShardID(w.shard())
		want := source.Start{Kind: source.AfterSequence, Sequence: w.sequence("bad", 1)}
		time.Sleep(5 * time.Second)
		during(t, 5*time.Minute, "the checkpoint stands before the refused record", func() bool {
			return w.leases()[id].Checkpoint == want
		})
		if got := r.Troubles(); len(got) != 1 || got[0].Aggregate != "bad" || got[0].Version != 2 || got[0].Class != event.Permanent {
			t.Errorf("the troubles are %+v", got)
		}
		w.applied("view", "bad", 1)
		w.faults.heal()
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble: %+v", got)
		}
		r.end()
		w.wholly()
	})
}

// TestFault13_LateAnswerSettlesNothingNew: an answer to a run of a reading
// that was lost settles no record of the shard's next reading.
func TestFault13_LateAnswerSettlesNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		letGo := w.faults.hang("a", true)
		w.append("a", 3)
		w.append("b", 3)
		first := w.start("one", patient)
		eventually(t, 20*time.Second, "a hangs", func() bool { _, under := w.faults.arrived(); return under == 1 && w.has("view", "b", 3) })
		healed := w.engine.Inject(localaws.Fault{Match: isControl(first.app), Do: localaws.Throttle})
		time.Sleep(8 * time.Second)
		second := w.start("two", patient)
		eventually(t, 30*time.Second, "the second worker has the shard", w.owned(second.name))
		second.crash()
		healed()
		eventually(t, 30*time.Second, "the first worker has it again", w.owned(first.name))
		time.Sleep(5 * time.Second)
		id := source.ShardID(w.shard())
		if got := w.leases()[id].Checkpoint; got.Kind != source.TrimHorizon {
			t.Errorf("the checkpoint passed a record in hand: %+v", got)
		}
		letGo()
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		first.end()
		w.wholly()
	})
}

// TestFault14_SlowAggregateHoldsNobody: while one aggregate's runs hang, the
// others of its shard and of the other shard go on.
func TestFault14_SlowAggregateHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		letGo := w.faults.hang("slow", false)
		w.append("slow", 1)
		r := w.start("one", patient)
		for a := range 10 {
			w.bulk(fmt.Sprintf("a%d", a), 100)
		}
		eventually(t, 30*time.Second, "all others are applied", func() bool {
			for a := range 10 {
				if !w.has("view", fmt.Sprintf("a%d", a), 100) {
					return false
				}
			}
			return true
		})
		w.applied("view", "slow", 0)
		letGo()
		eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestFault21_NotFinishedBeforeItIsSettled: a shard that is read to its end is
// not finished while one of its records waits.
func TestFault21_NotFinishedBeforeItIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 3)
		w.append("a", 3)
		parent := source.ShardID(w.shard())
		if err := w.engine.Roll(eventsTable, string(parent)); err != nil {
			t.Fatal(err)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "two versions are applied", func() bool { return w.has("view", "a", 2) })
		during(t, 2*time.Minute, "the shard is not finished", func() bool { return w.leases()[parent].State == checkpoint.Active })
		r.end()
		if got := w.leases()[parent]; got.State != checkpoint.Active || got.Owner != "" {
			t.Errorf("the stop left the row as %+v", got)
		}
		w.faults.heal()
		second := w.start("two")
		eventually(t, 20*time.Second, "the shard is finished", func() bool { return w.leases()[parent].State == checkpoint.Finished })
		second.end()
		w.wholly()
	})
}

// TestFault23_IdleShardsCostLittle: an idle shard is read about once a second,
// a busy one at most five times.
func TestFault23_IdleShardsCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one")
		time.Sleep(time.Minute)
		before := w.calls("GetRecords", r.app)
		time.Sleep(10 * time.Minute)
		if got := w.calls("GetRecords", r.app) - before; got > 670 || got < 530 {
			t.Errorf("%d reads in ten idle minutes, want 600 give or take a tenth", got)
		}
		before = w.calls("GetRecords", r.app)
		for range 200 {
			w.append("a", 1)
			time.Sleep(100 * time.Millisecond)
		}
		took := 200 * 105 * time.Millisecond
		if got := w.calls("GetRecords", r.app) - before; float64(got) > 5*took.Seconds()+1 || float64(got) < 2.5*took.Seconds() {
			t.Errorf("%d reads in %v of traffic", got, took)
		}
		eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestC8_OutageOfTwentyMinutes: a sink that fails for everybody loses, skips
// and repeats nothing; when it is back everything is applied.
func TestC8_OutageOfTwentyMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		audit := func(o *pipeline.Options) { o.Sinks = append(o.Sinks, w.memory("audit")) }
		r := w.start("one", audit)
		w.faults.outage("view", true)
		for minute := range 20 {
			w.append(fmt.Sprintf("a%d", minute%5), 3)
			time.Sleep(time.Minute)
		}
		for a := range 5 {
			w.applied("audit", fmt.Sprintf("a%d", a), 12)
			w.applied("view", fmt.Sprintf("a%d", a), 0)
		}
		if got := r.Troubles(); len(got) != 5 || got[0].Sink != "view" || got[0].Class != event.Transient {
			t.Errorf("the troubles are %+v", got)
		}
		w.faults.outage("view", false)
		if took := eventually(t, time.Minute, "everything is applied", w.caughtUp); took > 10*time.Second {
			t.Errorf("it took %v after the outage", took)
		}
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble: %+v", got)
		}
		r.end()
		w.wholly()
	})
}

// TestC8_PoisonInAFullBuffer: pages that weigh more than the whole buffer and
// belong to one refused aggregate are shed, and the others are read.
func TestC8_PoisonInAFullBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("bad", 1)
		w.faults.delay("bad", 2*time.Second) // the reader waits for room before the answer comes
		heavy := make([]eventstore.NewEvent, 100)
		for i := range heavy {
			heavy[i] = happened()
			for n := range 30 {
				heavy[i].Attributes[fmt.Sprintf("n%d", n)] = event.Map{"a": event.Null{}} // little on the wire, much in memory
			}
		}
		for i := range 10 {
			w.write("bad", uint64(i*100), heavy...)
		}
		w.append("good", 5)
		r := w.start("one", func(o *pipeline.Options) { o.BufferBytes = 1 }) // the least there is
		eventually(t, 10*time.Second, "the page fills the buffer", func() bool { return r.Stats().Bytes > 2*pipeline.PageRoom })
		eventually(t, time.Minute, "the good is applied", func() bool { return w.has("view", "good", 5) })
		if got := r.Stats(); got.Bytes > 2*pipeline.PageRoom {
			t.Errorf("%d bytes are held", got.Bytes)
		}
		w.faults.heal()
		eventually(t, 5*time.Minute, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestH21_SpanLimit: an aggregate that stands still stops the reading of its
// shard at the span limit and not before, costs no lease, and lets it go on.
func TestH21_SpanLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("bad", 1)
		w.append("bad", 1)
		for a := range 4 {
			w.bulk(fmt.Sprintf("a%d", a), 1000)
		}
		r := w.start("one", func(o *pipeline.Options) { o.Span = 2000 })
		time.Sleep(2 * time.Minute)
		if got := r.Stats(); got.Records != 2000 || got.Fenced != 0 || got.Pending != 1 {
			t.Errorf("%d records were read, %d are pending, fenced %d times; want 2000, 1, 0", got.Records, got.Pending, got.Fenced)
		}
		w.faults.heal()
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}
