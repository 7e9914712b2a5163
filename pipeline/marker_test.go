package pipeline_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/localaws"
)

// meddling lets something happen right before a write on a marker.
type meddling struct {
	redrive.Markers
	before func(name failure.Name)
}

func (m meddling) Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error) {
	m.before(t.Name)
	return m.Markers.Apply(ctx, key, t)
}

// seen is how far an aggregate's marker has its followers on record.
func (w *world) seen(aggregate string, version uint64) func() bool {
	return func() bool { return w.standing()[aggregate].SeenVersion == version }
}

// TestH2b_ALateFollowTakesNothingBack: a raise of the marker loses its answer
// and lands long after another one has gone further, and is settled.
func TestH2b_ALateFollowTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 2)
		w.append("a", 2)
		r := w.start("one", w.onTable)
		eventually(t, 10*time.Second, "the block stands", w.seen("a", 2))
		var raised atomic.Bool
		defer w.engine.Inject(localaws.Fault{
			Match: func(c localaws.Call) bool {
				hit := c.Operation == "UpdateItem" && strings.HasPrefix(c.Key, "M|")
				if hit {
					raised.Store(true)
				}
				return hit
			},
			Do: localaws.LandLate, Delay: 20 * time.Second, Times: 1,
		})()
		w.append("a", 1)
		eventually(t, 10*time.Second, "the marker is being raised", raised.Load)
		w.append("a", 3)
		eventually(t, 10*time.Second, "all followers are on record", w.seen("a", 6))
		during(t, 30*time.Second, "they stay on record", w.seen("a", 6))
		r.end()
		w.faults.heal()
		if got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), w.standing()["a"]); err != nil || got.To != 6 {
			t.Fatalf("the redrive ended %+v, %v", got, err)
		}
		w.wholly()
	})
}

// TestCase05_H2c_FollowerBetweenCaughtUpAndLive: the job has applied all that
// was on record, and right before it releases the marker live traffic puts
// more there.
func TestCase05_H2c_FollowerBetweenCaughtUpAndLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 2)
		w.append("a", 3)
		r := w.start("one", w.onTable)
		eventually(t, 10*time.Second, "the follower is on record", w.seen("a", 3))
		w.faults.heal()
		releases := 0
		job := w.redriver(meddling{w.markers("job"), func(name failure.Name) {
			if name != failure.ReleaseName {
				return
			}
			if releases++; releases <= 2 {
				w.append("a", 2)
				eventually(t, 10*time.Second, "live traffic follows", w.seen("a", w.heads["a"]))
			}
		}}, "job")
		got, err := job.Redrive(t.Context(), w.standing()["a"])
		if err != nil || got.Outcome != redrive.Released || got.To != 7 || releases != 3 {
			t.Fatalf("the redrive ended %+v, %v after %d releases", got, err, releases)
		}
		w.append("a", 2)
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestH14_AMarkerThatLiveTrafficHasPassedIsReleased: the block's worker dies,
// its successor has the fix and knows nothing of the block. The aggregate is
// hot: its head is elsewhere at each look.
func TestH14_AMarkerThatLiveTrafficHasPassedIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 2)
		w.append("a", 2)
		first := w.start("one", w.onTable)
		eventually(t, 10*time.Second, "the block stands", w.seen("a", 2))
		first.crash()
		w.faults.heal()
		w.append("a", 3)
		second := w.start("two", w.onTable)
		eventually(t, 30*time.Second, "the successor applies everything", w.caughtUp)
		appended := make(chan struct{})
		go func() {
			defer close(appended)
			for range 100 {
				w.append("a", 1)
			}
		}()
		if m, ok := w.standing()["a"]; ok { // a sweeper may have been quicker
			got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), m)
			if err != nil || got.Outcome != redrive.Released {
				t.Errorf("the redrive ended %+v, %v", got, err)
			}
		}
		<-appended
		if len(w.standing()) != 0 {
			t.Errorf("still not live: %+v", w.standing())
		}
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second.end()
		w.wholly()
	})
}

// TestH15_ADeadJobHoldsNobody: a job dies right after its claim. Followers are
// settled all the same, by the worker that knows of the block and by one that
// does not; and another job can claim the row.
func TestH15_ADeadJobHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.faults.refuse("a", 2)
		w.append("a", 2)
		first := w.start("one", w.onTable)
		eventually(t, 10*time.Second, "the block stands", w.seen("a", 2))

		ctx, kill := context.WithCancel(t.Context())
		dying := w.redriver(meddling{w.markers("dead"), func(failure.Name) {}}, "dead")
		dying.Events = between{dying.Events, func(uint64) { kill() }}
		if got, err := dying.Redrive(ctx, w.standing()["a"]); err == nil {
			t.Fatalf("the job did not die: %+v", got)
		}
		if got := w.standing()["a"]; got.State != failure.Redriving || got.Job != "dead" {
			t.Fatalf("the dead job left %+v", got)
		}

		settled := func(r *running) func() bool { return func() bool { return r.Stats().Pending == 0 } }
		w.append("a", 2)
		eventually(t, 10*time.Second, "the worker follows", w.seen("a", 4))
		eventually(t, 10*time.Second, "and settles", settled(first))
		first.crash()
		w.append("a", 2)
		second := w.start("two", w.onTable)
		eventually(t, 30*time.Second, "its successor becomes a follower", w.seen("a", 6))
		eventually(t, 10*time.Second, "and settles", settled(second))
		if n := second.Stats().Blocked; n != 0 {
			t.Errorf("the successor blocked %d times what was blocked", n)
		}

		w.faults.heal()
		got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), w.standing()["a"])
		if err != nil || got.Outcome != redrive.Released || got.To != 6 {
			t.Fatalf("the next job ended %+v, %v", got, err)
		}
		second.end()
		w.wholly()
	})
}
