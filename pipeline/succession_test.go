package pipeline_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/localaws"
	"millrace/pipeline"
)

// TestAStreamEndsForItsSuccessor: a worker leaves its stream when that is
// disabled, all of it is settled, and there is another; not before.
func TestAStreamEndsForItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := w.journal()
		w.faults.refuse("a", 2)
		var asked atomic.Int64
		var another atomic.Bool
		succeeded := func(context.Context) (bool, error) {
			if asked.Add(1) == 1 {
				return true, errors.New("no answer")
			}
			return another.Load(), nil
		}
		r := w.start("one", func(o *pipeline.Options) { o.Succeeded = succeeded })
		w.append("a", 2)
		w.append("b", 3)
		eventually(t, 20*time.Second, "all but the refused is applied", func() bool { return w.has("view", "a", 1) && w.has("view", "b", 3) })
		if err := w.engine.DisableStream(eventsTable); err != nil {
			t.Fatal(err)
		}
		during(t, 5*time.Minute, "it waits for what is not settled", func() bool { return len(r.done) == 0 && asked.Load() == 0 })
		w.faults.heal()
		during(t, 5*time.Minute, "it waits for a successor", func() bool { return len(r.done) == 0 })
		if n := asked.Load(); n < 2 || n > 40 {
			t.Errorf("asked %d times in five minutes", n)
		}
		if n := log.lines("disabled and read to its end"); n != 1 {
			t.Errorf("%d lines say that nothing comes, want one", n)
		}
		another.Store(true)
		eventually(t, time.Minute, "it ends", func() bool { return len(r.done) == 1 })
		if err := <-r.done; !errors.Is(err, pipeline.ErrStreamEnded) {
			t.Errorf("it ends with %v", err)
		}
		w.wholly()
	})
}
