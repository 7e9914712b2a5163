package pipeline_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
	"millrace/source"
)

// TestSuccessorTime: who takes over from a worker that died has its shards
// within the lease and two scans; who takes over from one that stopped, within
// a scan.
func TestSuccessorTime(t *testing.T) {
	for _, tc := range []struct {
		name     string
		leave    func(*running)
		from, to time.Duration
	}{
		// The last renewal may be 3.3 s old; the watcher counts from its own
		// look, a scan of at most 1.1 s later, and looks again each scan.
		{"killed", (*running).crash, 6700 * time.Millisecond, 12500 * time.Millisecond},
		{"stopped", (*running).end, 0, 1500 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 3})
				w.append("a", 3)
				first := w.start("one")
				eventually(t, 20*time.Second, "the first worker has the shards", w.owned(first.name))
				second := w.start("two")
				time.Sleep(30 * time.Second)
				w.append("a", 3)
				tc.leave(first)
				took := eventually(t, time.Minute, "the second worker has them", w.owned(second.name))
				if took < tc.from || took > tc.to {
					t.Errorf("the hand-over took %v, want %v to %v", took, tc.from, tc.to)
				}
				w.append("a", 3)
				eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
				second.end()
				w.wholly()
			})
		})
	}
}

// TestFault17_RenewalsGoOnDuringSlowWork: a run of a minute costs no lease.
func TestFault17_RenewalsGoOnDuringSlowWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.delay("a", time.Minute)
		w.append("a", 1)
		first := w.start("one", patient)
		eventually(t, 20*time.Second, "the first worker has the shard", w.owned(first.name))
		second := w.start("two")
		during(t, time.Minute, "the lease stays where it is", w.owned(first.name))
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		if got := first.Stats(); got.Fenced != 0 || got.Retries != 0 {
			t.Errorf("counted %+v", got)
		}
		first.end()
		second.end()
		w.wholly()
	})
}

// TestFault18_NoOrphanAfterFailedRenewals: a worker whose renewals fail for
// long gives the shard up when somebody else has it, and is free to take it
// again; nobody is left owning a shard that it does not read.
func TestFault18_NoOrphanAfterFailedRenewals(t *testing.T) {
	for _, rival := range []bool{true, false} {
		name := "alone"
		if rival {
			name = "with a rival"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				first := w.start("one")
				eventually(t, 20*time.Second, "the first worker has the shard", w.owned(first.name))
				var second *running
				if rival {
					second = w.start("two")
					time.Sleep(5 * time.Second)
				}
				healed := w.engine.Inject(localaws.Fault{Match: isControl(first.app), Do: localaws.Throttle})
				w.append("a", 3)
				time.Sleep(30 * time.Second)
				healed()
				w.append("a", 3)
				eventually(t, 30*time.Second, "everything is applied", w.caughtUp)
				owner, reader := first, "one"
				if rival {
					owner, reader = second, "two"
					eventually(t, 10*time.Second, "the first worker knows that it lost", func() bool { return first.Stats().Shards == 0 })
					if got := first.Stats().Fenced; got != 1 {
						t.Errorf("fenced %d times, want once", got)
					}
				}
				eventually(t, 10*time.Second, "the owner is "+reader, w.owned(owner.name))
				if got := owner.Stats().Shards; got != 1 {
					t.Errorf("the owner holds %d shards", got)
				}
				first.end()
				if rival {
					second.end()
				}
				w.wholly()
			})
		})
	}
}

// TestFault20_StepsDownBeforeTheLeaseEnds: with a control table that refuses
// every renewal, reading stops within the trust window: 0.7 of the lease less
// a call, from the last renewal sent.
func TestFault20_StepsDownBeforeTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one")
		eventually(t, 20*time.Second, "the shard is taken", w.owned(r.name))
		time.Sleep(10 * time.Second)
		healed := w.engine.Inject(localaws.Fault{Match: isControl(r.app), Do: localaws.Throttle})
		time.Sleep(5600 * time.Millisecond)
		before := w.calls("GetRecords", r.app)
		time.Sleep(20 * time.Second)
		if got := w.calls("GetRecords", r.app); got != before {
			t.Errorf("%d reads after trust had ended", got-before)
		}
		if got := r.Stats().Retries; got == 0 {
			t.Error("the refusals were not counted")
		}
		healed()
		w.append("a", 3)
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestFault15_CheckpointsNeverGoBack: under lost answers, late writes and
// throttles the checkpoint in the table only grows.
func TestFault15_CheckpointsNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Seed: 3, Shards: 2})
		r := w.start("one")
		for _, do := range []localaws.Action{localaws.LoseAnswer, localaws.FailAfter, localaws.Throttle} {
			w.engine.Inject(localaws.Fault{Match: isWrite(r.app), Do: do, Share: 0.2})
		}
		w.engine.Inject(localaws.Fault{Match: isWrite(r.app), Do: localaws.Slow, Share: 0.3, Delay: time.Second})
		for range 20 {
			w.append("a", 2)
			w.append("b", 2)
			time.Sleep(2 * time.Second)
		}
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		r.end()
		at, moves := map[event.Value]string{}, 0
		for _, c := range w.engine.History(controlTable) {
			now, ok := c.New["position"].(event.String)
			if !ok {
				continue
			}
			if was := at[c.Key["sk"]]; cmp.Compare(string(now), was) < 0 {
				t.Errorf("%v went back from %s to %s", c.Key["sk"], was, now)
			} else if string(now) != was {
				moves++
			}
			at[c.Key["sk"]] = string(now)
		}
		if moves < 8 {
			t.Errorf("checkpoints moved %d times; this tests nothing", moves)
		}
		for a, n := range w.heads {
			w.applied("view", a, n)
		}
		w.oneReader()
	})
}

// TestH26_RenewalsLandLate: renewals that take effect after a successor has
// the lease change nothing in its row.
func TestH26_RenewalsLandLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 3)
		first := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second := w.start("two")
		time.Sleep(5 * time.Second)
		w.engine.Inject(localaws.Fault{Match: isWrite(first.app), Do: localaws.LandLate, Delay: 30 * time.Second, Hold: true})
		w.append("a", 3)
		eventually(t, 30*time.Second, "the successor has the shard", w.owned(second.name))
		w.append("a", 3)
		during(t, time.Minute, "the successor keeps it", w.owned(second.name))
		taken := false
		for _, c := range w.engine.History(controlTable) {
			taken = taken || c.New["owner"] == event.String(second.name)
			if taken && c.App == first.app {
				t.Errorf("the old owner changed the row after the take-over: %v", c.New)
			}
		}
		if got := second.Stats().Fenced; got != 0 {
			t.Errorf("the successor was fenced %d times", got)
		}
		second.end()
		first.endsLeaving(1) // for all that it has heard
		w.wholly()
	})
}

// TestH26_RetryFindsAnOldRenewal: a renewal takes effect and its answer is lost;
// long after, a retry finds it in the row. Trust used to count from the retry,
// and the worker read on while others already saw the lease expire.
func TestH26_RetryFindsAnOldRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one")
		eventually(t, 20*time.Second, "the worker has the shard", w.owned(r.name))
		var mu sync.Mutex
		var reads []time.Time
		w.engine.Inject(localaws.Fault{Do: localaws.Slow, Match: func(c localaws.Call) bool {
			mu.Lock()
			defer mu.Unlock()
			if c.Operation == "GetRecords" {
				reads = append(reads, c.Time)
			}
			return false
		}})
		w.engine.Inject(localaws.Fault{Match: isWrite(r.app), Do: localaws.LoseAnswer, Times: 1})
		healed := w.engine.Inject(localaws.Fault{Match: isWrite(r.app), Do: localaws.Throttle})
		time.Sleep(9 * time.Second)
		healed()
		time.Sleep(15 * time.Second)
		r.end()

		var beats []time.Time // when the row's heartbeat changed
		for _, c := range w.engine.History(controlTable) {
			if c.Old["heartbeat"] != nil && c.New["heartbeat"] != nil && !event.Equal(c.Old["heartbeat"], c.New["heartbeat"]) {
				beats = append(beats, c.At)
			}
		}
		for _, at := range reads {
			last := beats[0]
			for _, beat := range beats {
				if !beat.After(at) {
					last = beat
				}
			}
			if age := at.Sub(last); age > 7*time.Second {
				t.Errorf("a read at %v, when the heartbeat in the row was %v old", at, age)
			}
		}
		if at := len(reads); at == 0 || time.Since(reads[at-1]) > 2*time.Second {
			t.Error("the worker does not read any more")
		}
	})
}

// TestH26_FrozenWorkerWakesUp: a worker that was frozen beyond its lease
// changes no row when it wakes, and nothing takes effect twice.
func TestH26_FrozenWorkerWakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		w.append("a", 3)
		first := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second := w.start("two")
		time.Sleep(5 * time.Second)
		w.engine.Client(first.app).Freeze()
		w.append("a", 3)
		eventually(t, 30*time.Second, "the successor has the shards", w.owned(second.name))
		w.append("a", 3)
		eventually(t, 10*time.Second, "everything is applied", w.caughtUp)
		woken := time.Now()
		w.engine.Client(first.app).Thaw()
		during(t, 30*time.Second, "the successor keeps them", w.owned(second.name))
		for _, c := range w.engine.History(controlTable) {
			if c.App == first.app && !c.At.Before(woken) {
				t.Errorf("the woken worker changed %v", c.New)
			}
		}
		if got := first.Stats(); got.Shards != 0 || got.Fenced != 2 {
			t.Errorf("the woken worker holds %d shards and was fenced %d times; want 0 and 2", got.Shards, got.Fenced)
		}
		first.end()
		second.end()
		for a, n := range w.heads {
			w.applied("view", a, n)
		}
		w.atTheEnd()
	})
}

// TestH4_SinksOfARow: a sink that joins is unverified, and a worker that lacks
// a listed sink leaves the shard alone.
func TestH4_SinksOfARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		var log strings.Builder
		w.append("a", 3)
		first := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		first.end()
		id := source.ShardID(w.shard())
		if got := w.leases()[id]; !slices.Equal(got.Sinks, []string{"view@1"}) || len(got.Unverified) != 0 {
			t.Fatalf("the row lists %v, unverified %v", got.Sinks, got.Unverified)
		}
		second := w.start("two", func(o *pipeline.Options) { o.Sinks = append(o.Sinks, w.memory("audit")) })
		w.append("a", 2)
		eventually(t, 20*time.Second, "both sinks have everything", func() bool { return w.caughtUp() && w.has("audit", "a", 5) })
		second.end()
		if got := w.leases()[id]; !slices.Equal(got.Sinks, []string{"audit@1", "view@1"}) || !slices.Equal(got.Unverified, []string{"audit@1"}) {
			t.Errorf("the row lists %v, unverified %v", got.Sinks, got.Unverified)
		}
		w.log = &log
		third := w.start("three") // has view only
		w.append("a", 1)
		during(t, time.Minute, "the shard is left alone", w.owned(""))
		third.end()
		if got := third.Stats(); got.Records != 0 || strings.Count(log.String(), "speaks for sinks") != 1 {
			t.Errorf("%d records were read, and the log is\n%s", got.Records, log.String())
		}
		fourth := w.start("four", func(o *pipeline.Options) { o.Sinks = append(o.Sinks, w.memory("audit")) })
		eventually(t, 20*time.Second, "both sinks have everything", func() bool { return w.caughtUp() && w.has("audit", "a", 6) })
		fourth.end()
		w.wholly()
		w.applied("audit", "a", 6)
	})
}

// superseded answers every run as a target does that a newer build owns.
type superseded struct{ sinks.Sink }

var errNewer = &event.Error{Class: event.Superseded, Op: "applying", Err: errors.New("version 2 owns the items")}

func (superseded) Apply(_ context.Context, runs []event.Run) []event.Outcome {
	out := make([]event.Outcome, len(runs))
	for i, run := range runs {
		out[i] = event.Outcome{Position: run.After, Known: true, Err: errNewer}
	}
	return out
}

// TestH28_SupersededSinkStopsTheWorker: with the reason, and with its leases
// released.
func TestH28_SupersededSinkStopsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 2)
		r := w.start("one", func(o *pipeline.Options) { o.Sinks[0].Sink = superseded{o.Sinks[0].Sink} })
		err := <-r.done
		if !errors.Is(err, errNewer) {
			t.Fatalf("the worker returned %v", err)
		}
		row := w.leases()[source.ShardID(w.shard())]
		if row.Owner != "" || row.Checkpoint != (source.Start{Kind: source.TrimHorizon}) || row.State != checkpoint.Active {
			t.Errorf("the row was left as %+v", row)
		}
		w.applied("view", "a", 0)
		second := w.start("two")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second.end()
		w.wholly()
	})
}

// TestFault24_GroupsShareNothing: two groups on one control table each read
// everything, and one without a name is refused.
func TestFault24_GroupsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		other := identity("view")
		other.Group = "h"
		w.append("a", 4)
		first := w.start("one")
		second := w.start("two", func(o *pipeline.Options) {
			o.Group, o.Sinks[0].Sink = "h", w.target.Open(other)
		})
		w.append("a", 4)
		eventually(t, 20*time.Second, "both groups have everything", func() bool {
			return w.caughtUp() && len(w.target.Versions(other, "a")) == 8
		})
		first.end()
		second.end()
		for _, group := range []string{"g", "h"} {
			rows, err := w.controlStore("check", "check").List(t.Context(), group, eventsTable)
			if err != nil || len(rows) != 2 {
				t.Errorf("group %s has %d rows, %v", group, len(rows), err)
			}
		}
		_, o := w.options("three")
		o.Group = ""
		if _, err := pipeline.NewWorker(o); err == nil {
			t.Error("a worker without a group was made")
		}
	})
}

// TestTroublesGoWithTheLease: what stands still in a shard that was lost is not
// this worker's trouble any more.
func TestTroublesGoWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 2)
		w.append("a", 2)
		first := w.start("one")
		eventually(t, 20*time.Second, "a is in trouble", func() bool { return len(first.Troubles()) == 1 })
		second := w.start("two")
		time.Sleep(5 * time.Second)
		healed := w.engine.Inject(localaws.Fault{Match: isControl(first.app), Do: localaws.Throttle})
		eventually(t, 30*time.Second, "the second worker has the shard", w.owned(second.name))
		healed()
		eventually(t, 20*time.Second, "the trouble has moved", func() bool {
			return len(first.Troubles()) == 0 && len(second.Troubles()) == 1
		})
		w.faults.heal()
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		first.end()
		second.end()
		w.wholly()
	})
}
