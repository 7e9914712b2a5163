package pipeline_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/localaws"
)

// TestC10_StopDuringAGrant: a grant that is under way when the stop comes takes
// effect all the same. It used to be given up, and its shard stood still until
// the lease of a worker that was gone expired.
func TestC10_StopDuringAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		w.append("a", 3)
		w.engine.Inject(localaws.Fault{
			Match: func(c localaws.Call) bool { return c.Operation == "UpdateItem" && strings.HasPrefix(c.Key, "L|") },
			Do:    localaws.Slow, Delay: time.Second, Times: 1,
		})
		r := w.start("one")
		eventually(t, 20*time.Second, "the lease rows are there", func() bool { return len(w.leases()) == 2 })
		time.Sleep(100 * time.Millisecond) // the first grant is under way, and no other
		if took := r.stopped(0); took < 500*time.Millisecond || took > 5*time.Second {
			t.Errorf("the stop took %v, want the rest of the grant and a release", took)
		}
		for id, owner := range w.owners() {
			if owner != "" {
				t.Errorf("%s is left to %s", id, owner)
			}
		}
		second := w.start("two")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second.end()
		w.wholly()
	})
}

// TestGrantWithoutAnAnswerIsTakenAgain: the answers of a grant and of its
// repetition are lost, and the lease is the worker's without its knowing. It
// used to wait for the expiry of its own lease.
func TestGrantWithoutAnAnswerIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("a", 3)
		w.engine.Inject(localaws.Fault{
			Match: func(c localaws.Call) bool { return c.Operation == "UpdateItem" && strings.HasPrefix(c.Key, "L|") },
			Do:    localaws.LoseAnswer, Times: 2,
		})
		r := w.start("one")
		// Two cycles of two seconds at most, and not the ten of the lease.
		eventually(t, 5*time.Second, "everything is applied", w.caughtUp)
		r.end()
		w.wholly()
	})
}
