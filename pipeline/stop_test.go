package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/source"
)

// patient gives a call of a sink all the time it takes.
func patient(o *pipeline.Options) { o.Sinks[0].Call = 24 * time.Hour }

// stopped ends a worker and returns how long that took. Some of its leases may
// be left to expire.
func (r *running) stopped(left int) time.Duration {
	r.t.Helper()
	start := time.Now()
	if left > 0 {
		r.endsLeaving(left)
	} else {
		r.end()
	}
	return time.Since(start)
}

// TestC10_StopInABacklog: a stop fetches nothing more, settles what was read,
// writes the checkpoint and releases the leases; the next worker goes on
// exactly there.
func TestC10_StopInABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		for a := range 5 {
			w.bulk(fmt.Sprintf("a%d", a), 1000)
		}
		for a := range 5 {
			w.faults.delay(fmt.Sprintf("a%d", a), 300*time.Millisecond)
		}
		first := w.start("one")
		eventually(t, 20*time.Second, "the second page was read", func() bool { return first.Stats().Pages >= 2 })
		if took := first.stopped(0); took > 2*time.Second {
			t.Errorf("the stop took %v", took)
		}
		read := first.Stats()
		if read.Records >= 5000 || read.Retries != 0 || len(first.Troubles()) != 0 {
			t.Errorf("read %d records, %d retries, troubles %v", read.Records, read.Retries, first.Troubles())
		}
		row := w.leases()[source.ShardID(w.shard())]
		if row.Owner != "" || row.Checkpoint.Kind != source.AfterSequence {
			t.Errorf("the row was left as %+v", row)
		}
		second := w.start("two")
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		second.end()
		if got := second.Stats(); got.Records+read.Records != 5000 || got.Duplicates != 0 {
			t.Errorf("read %d and %d records, %d repeats; want 5000 together and none twice", read.Records, got.Records, got.Duplicates)
		}
		w.wholly()
	})
}

// TestC10_SinkHangs: a call that returns when it is cancelled lets the leases
// be released with the checkpoint; one that never returns has them expire, and
// the worker says so.
func TestC10_SinkHangs(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf=%v", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				letGo := w.faults.hang("stuck", deaf)
				w.append("before", 2)
				w.append("stuck", 1)
				w.append("behind", 3)
				r := w.start("one", patient)
				eventually(t, 20*time.Second, "the others are applied", func() bool { return w.has("view", "behind", 3) })
				retries := r.Stats().Retries
				left := 0
				if deaf {
					left = 1
				}
				took := r.stopped(left)
				if took > 25*time.Second {
					t.Errorf("the stop took %v, more than the drain's 25 s", took)
				}
				if got := r.Stats(); got.Retries != retries || len(r.Troubles()) != 0 {
					t.Errorf("our own stop counted: %d retries, troubles %v", got.Retries-retries, r.Troubles())
				}
				row := w.leases()[source.ShardID(w.shard())]
				// The second record of before is the last that nothing precedes unsettled.
				want := source.Start{Kind: source.AfterSequence, Sequence: w.sequence("before", 2)}
				if row.Checkpoint != want {
					t.Errorf("the checkpoint is %+v, want %+v", row.Checkpoint, want)
				}
				if released := row.Owner == ""; released == deaf {
					t.Errorf("the owner is %q", row.Owner)
				}
				letGo()
				second := w.start("two")
				eventually(t, time.Minute, "everything is applied", w.caughtUp)
				second.end()
				w.wholly()
			})
		})
	}
}

// TestC10_ThrottledControlTable: a control table that answers nobody does not
// hold the stop longer than its time, and a stop that leaves leases behind says
// so.
func TestC10_ThrottledControlTable(t *testing.T) {
	for _, tc := range []struct {
		name  string
		times int
		left  int
	}{{"throttled for a while", 4, 0}, {"throttled for good", 0, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				w.append("a", 5)
				r := w.start("one")
				eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
				w.engine.Inject(localaws.Fault{Match: isControl(r.app), Do: localaws.Throttle, Times: tc.times})
				if took := r.stopped(tc.left); took > 25*time.Second {
					t.Errorf("the stop took %v", took)
				}
				if owner := w.leases()[source.ShardID(w.shard())].Owner; (owner != "") != (tc.left > 0) {
					t.Errorf("the owner is %q", owner)
				}
				second := w.start("two")
				eventually(t, 20*time.Second, "the successor has the shard", w.owned(second.name))
				second.end()
				w.wholly()
			})
		})
	}
}

// TestFault16_StopsAtAnyMoment: workers are stopped at many moments of a
// backlog; none sends on what is closed, and nothing is lost or repeated.
func TestFault16_StopsAtAnyMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 3, Readers: -1}) // each worker is one more reader within the second
		for i := range 25 {
			for a := range 6 {
				w.append(fmt.Sprintf("a%d", a), 3)
			}
			r := w.start("one")
			time.Sleep(time.Duration(i) * 7 * time.Millisecond)
			r.end()
			if got := r.Stats(); got.Retries != 0 || len(r.Troubles()) != 0 {
				t.Errorf("stop %d counted as a failure: %+v", i, got)
			}
		}
		r := w.start("last")
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestFault19_ReleasedOnDrain: a clean exit leaves no owner and the last
// checkpoint.
func TestFault19_ReleasedOnDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 4})
		for _, a := range []string{"a", "b", "c", "d"} {
			w.append(a, 3)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		if took := r.stopped(0); took > 500*time.Millisecond {
			t.Errorf("a stop with nothing to do took %v", took)
		}
		for id, row := range w.leases() {
			if row.Owner != "" {
				t.Errorf("shard %s still has the owner %s", id, row.Owner)
			}
		}
		w.wholly()
	})
}

// TestFault22_OwnStopIsNoFailure: a run that our stop cut short is neither a
// trouble nor a repetition.
func TestFault22_OwnStopIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.delay("a", time.Hour)
		w.append("a", 3)
		r := w.start("one", patient)
		eventually(t, 20*time.Second, "the run is under way", func() bool { _, under := w.faults.arrived(); return under == 1 })
		r.end()
		if got := r.Stats(); got.Retries != 0 || got.Fenced != 0 || got.Runs != 1 || len(r.Troubles()) != 0 {
			t.Errorf("our own stop counted: %+v, %v", got, r.Troubles())
		}
		w.applied("view", "a", 0)
		w.faults.delay("a", 0)
		second := w.start("two")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second.end()
		w.wholly()
	})
}

// TestStopCutShort: a second signal cuts what is under way, which the end says;
// where nothing is left to cut it changes nothing.
func TestStopCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 1)
		holds, stands := w.start("one"), (*running)(nil)
		eventually(t, 10*time.Second, "it is applied", w.caughtUp)
		stands = w.start("two")
		<-time.After(5 * time.Second)
		stands.kill()
		stands.stop()
		if err := <-stands.done; err != nil {
			t.Errorf("a worker without a lease ended with %v", err)
		}
		holds.kill()
		holds.stop()
		if err := <-holds.done; !errors.Is(err, pipeline.ErrLeasesLeft) || !strings.Contains(err.Error(), "1 leases are left to expire: the stop was cut short") {
			t.Errorf("it ended with %v", err)
		}
		third := w.start("three")
		w.append("a", 1)
		eventually(t, 30*time.Second, "its successor goes on", w.caughtUp)
		third.stop()
		if err := <-third.done; err != nil {
			t.Error(err)
		}
		third.kill() // it had drained
		w.wholly()
	})
}
