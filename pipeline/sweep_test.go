package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

func sweeping(every time.Duration) func(*pipeline.Options) {
	return func(o *pipeline.Options) { o.Sweep = every }
}

// TestH16_MarkerThatThePositionHasPassed: a build without the fix writes its
// marker after one with the fix has gone by. The sweep ends it, and what was
// parked behind it takes effect.
func TestH16_MarkerThatThePositionHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		w.append("a", 4)
		r := w.start("fixed", withMarkers(markers), sweeping(time.Minute))
		eventually(t, 10*time.Second, "all is applied", func() bool { return w.has("view", "a", 4) })
		markers.mark(t, "a", 2, 4, "zombie")
		eventually(t, 2*time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		w.append("a", 3)
		eventually(t, 10*time.Second, "the aggregate goes on", func() bool { return w.has("view", "a", 7) })
		if s := r.Stats(); s.Healed != 1 {
			t.Errorf("stats are %+v", s)
		}
		r.end()
		w.wholly()
	})
}

// TestH16_ZombieWritesAMarkerHoursLater, and a successor reads it before the
// sweep does: it parks what comes by reference, and the sweep brings it back
// once nothing on record is above the position. Until then a follower is on
// record above it, so that only a redrive or the aggregate's next worker may
// end it: nothing is lost either way.
func TestH16_ZombieWritesAMarkerHoursLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		w.append("a", 4)
		r := w.start("one", withMarkers(markers), sweeping(time.Minute))
		eventually(t, 10*time.Second, "all is applied", func() bool { return w.has("view", "a", 4) })
		time.Sleep(time.Hour)
		markers.mark(t, "a", 3, 3, "zombie")
		w.append("a", 1) // the worker does not know, and passes the block
		eventually(t, 10*time.Second, "the worker goes by", func() bool { return w.has("view", "a", 5) })
		eventually(t, 2*time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		r.end()
		w.wholly()
	})
}

// TestH14_AppliedLiveThenHealed: blocked at 2 with followers on record, the
// worker restarts with the fix, and its first new record has it apply all that
// was on record. Nobody redrives; the sweep ends the marker.
func TestH14_AppliedLiveThenHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		w.faults.refuse("a", 2)
		w.append("a", 5)
		first := w.start("before", withMarkers(markers))
		eventually(t, 10*time.Second, "the followers are on record", func() bool { return markers.marker(t, "a").SeenVersion == 5 })
		first.end()
		w.faults.heal()
		second := w.start("after", withMarkers(markers), sweeping(time.Minute))
		w.append("a", 1)
		eventually(t, 10*time.Second, "all is applied live", func() bool { return w.has("view", "a", 6) })
		eventually(t, 2*time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		if n := markers.count(failure.ClaimName); n != 0 {
			t.Errorf("%d claims", n)
		}
		second.end()
		w.wholly()
	})
}

// hole makes versions 1 and 3 to 6 of an aggregate, and has it blocked for 2.
func (w *world) hole(markers *markerTable, r func() *running) *running {
	w.t.Helper()
	w.write("a", 0, happened())
	w.write("a", 2, happened(), happened(), happened(), happened())
	running := r()
	eventually(w.t, 30*time.Second, "the hole is blocked", func() bool { return markers.marker(w.t, "a").SeenVersion == 6 })
	if got := markers.marker(w.t, "a"); got.Cause.Class != event.Gap.String() || got.BlockedVersion != 2 {
		w.t.Fatalf("the marker is %+v", got)
	}
	return running
}

// TestH17_GapEndsWhenItsRecordArrives: the missing version is written after
// all. Its record has the worker redrive the aggregate at once, long before the
// next sweep, and only that aggregate.
func TestH17_GapEndsWhenItsRecordArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		markers := newMarkerTable()
		r := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(24*time.Hour)) })
		w.append("b", 3)
		time.Sleep(time.Minute) // past the first sweep, which finds it missing
		if got := markers.marker(t, "a"); got.State != failure.Blocked {
			t.Fatalf("the marker is %+v", got)
		}
		w.write("a", 1, happened())
		eventually(t, 10*time.Second, "all is in effect", func() bool { return w.has("view", "a", 6) })
		eventually(t, 10*time.Second, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		w.append("a", 2)
		eventually(t, 10*time.Second, "the aggregate goes on", func() bool { return w.has("view", "a", 8) })
		r.end()
		w.wholly()
	})
}

// TestH17_ArrivalOutlivesAFailedLook: the event store cannot be asked when the
// record of the missing version arrives. That must not leave the aggregate to
// the next look, which is a day away.
func TestH17_ArrivalOutlivesAFailedLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		r := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(24*time.Hour)) })
		time.Sleep(time.Minute)
		before := w.calls("TransactGetItems", r.app)
		w.engine.Inject(localaws.Fault{
			Match: func(c localaws.Call) bool { return c.App == r.app && c.Operation == "TransactGetItems" }, Do: localaws.Throttle, Times: 12, // more than one look makes
		})
		w.write("a", 1, happened())
		eventually(t, time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		if n := w.calls("TransactGetItems", r.app) - before; n < 13 {
			t.Errorf("%d calls, of which twelve fail", n)
		}
		r.end()
		w.wholly()
	})
}

// TestH17_GapEndsBySweep: the record of the missing version never comes, since
// the stream has forgotten it before anybody read it; the item is there. The
// looks for it grow further apart, up to an hour.
func TestH17_GapEndsBySweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		first := w.hole(markers, func() *running { return w.start("one", withMarkers(markers)) })
		first.end()
		w.write("a", 1, happened())
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		second := w.start("two", withMarkers(markers), sweeping(time.Minute))
		eventually(t, 2*time.Minute, "all is in effect", func() bool { return w.has("view", "a", 6) })
		eventually(t, time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
		if s := second.Stats(); s.Healed != 1 {
			t.Errorf("stats are %+v", s)
		}
		second.end()
	})
}

// TestH17_LooksGrowApart: a version that stays missing is asked for ever more
// seldom, and never given up.
func TestH17_LooksGrowApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		r := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(10*time.Second)) })
		confirms := func() int { return w.calls("TransactGetItems", r.app) }
		before := confirms()
		time.Sleep(25 * time.Minute)
		early := confirms() - before
		time.Sleep(50 * time.Minute)
		late := confirms() - before - early
		if early < 5 || early > 10 || late < 1 || late > 3 {
			t.Errorf("%d looks in the first twenty-five minutes and %d in the next fifty", early, late)
		}
		r.end()
	})
}

// TestASweepThatIsKilled leaves a claim, which the next worker's sweeps take
// over; an operator's claim they leave alone.
func TestASweepThatIsKilled(t *testing.T) {
	for _, tc := range []struct {
		job  string
		ends bool
	}{{"sweep/dead", true}, {"operator", false}} {
		t.Run(tc.job, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				markers := newMarkerTable()
				r := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(time.Minute)) })
				m := markers.marker(t, "a")
				if _, _, err := markers.Apply(t.Context(), m.Key, failure.Claim(m.Generation, "claimed", tc.job)); err != nil {
					t.Fatal(err)
				}
				w.write("a", 1, happened())
				time.Sleep(5 * time.Minute)
				if got := markers.marker(t, "a"); got.NotLive() == tc.ends {
					t.Errorf("the marker is %+v", got)
				}
				r.end()
				if tc.ends {
					w.wholly()
				}
			})
		})
	}
}

// TestSweepsAtOnce: two workers' sweepers, and an operator's redrive beside
// them, end the same blocks under live traffic. Each version takes effect once.
func TestSweepsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 3})
		markers := newMarkerTable()
		var names []string
		for i := range 12 {
			name := fmt.Sprint("h", i)
			names = append(names, name)
			w.write(name, 0, happened())
			w.write(name, 2, happened(), happened())
		}
		one := w.start("one", withMarkers(markers), sweeping(20*time.Second))
		two := w.start("two", withMarkers(markers), sweeping(20*time.Second))
		standing := func() (n int) {
			for _, name := range names {
				if markers.marker(t, name).NotLive() {
					n++
				}
			}
			return n
		}
		eventually(t, time.Minute, "all are blocked", func() bool { return standing() == len(names) })
		job := w.redriver(markers, "operator")
		for i, name := range names {
			w.write(name, 1, happened())
			w.append(name, 1)
			if i%3 == 0 {
				if _, err := job.Redrive(context.Background(), markers.marker(t, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(t, 3*time.Minute, "all are live", func() bool { return standing() == 0 })
		for _, name := range names {
			eventually(t, time.Minute, "all is in effect", func() bool { return w.has("view", name, 5) })
		}
		one.end()
		two.end()
		w.wholly()
	})
}

// TestASweepFailsWhereItMeetsAnotherCause: what is behind the hole cannot be
// applied either. The aggregate stays blocked, for the new reason.
func TestASweepFailsWhereItMeetsAnotherCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers := newMarkerTable()
		w.faults.refuse("a", 4)
		r := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(time.Minute)) })
		w.write("a", 1, happened())
		eventually(t, 3*time.Minute, "it is blocked anew", func() bool { return markers.marker(t, "a").BlockedVersion == 4 })
		if got := markers.marker(t, "a"); got.State != failure.Blocked || got.Cause.Class != event.Permanent.String() || got.SeenVersion != 6 {
			t.Errorf("the marker is %+v", got)
		}
		w.applied("view", "a", 3)
		w.faults.heal()
		if result, err := w.redriver(markers, "operator").Redrive(t.Context(), markers.marker(t, "a")); err != nil || result.Outcome != redrive.Released {
			t.Errorf("the redrive ended %+v, %v", result, err)
		}
		r.end()
		w.wholly()
	})
}

// TestStopDuringASweep: a worker that is told to stop in the middle of a sweep
// ends in time, and the next one goes on.
func TestStopDuringASweep(t *testing.T) {
	for _, after := range []time.Duration{10, 30, 60, 90, 120, 200} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, localaws.Options{Shards: 1})
			markers := newMarkerTable()
			first := w.hole(markers, func() *running { return w.start("one", withMarkers(markers), sweeping(24*time.Hour)) })
			time.Sleep(time.Minute)
			w.write("a", 1, happened())
			eventually(t, 10*time.Second, "the aggregate is claimed", func() bool { return markers.count(failure.ClaimName) > 0 })
			time.Sleep(after * time.Millisecond)
			began := time.Now()
			first.end()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the stop took %v", took)
			}
			second := w.start("two", withMarkers(markers), sweeping(time.Minute))
			eventually(t, 10*time.Minute, "the marker is ended", func() bool { return !markers.marker(t, "a").NotLive() })
			second.end()
			w.wholly()
		})
	}
}
