package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

var (
	seeds = flag.Uint64("seeds", 6, "how many seeds TestSeeds runs")
	first = flag.Uint64("first", 1, "the first of them")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stall is how long a world may go without a call before it counts as hanging,
// on the wall clock: in a bubble that hangs no other clock moves.
const stall = 30 * time.Second

// play runs one world in a bubble, watched from outside.
func play(t *testing.T, plan Plan, tamper Tamper) (e Evidence, found []Violation) {
	t.Helper()
	var moves atomic.Int64
	defer watch(plan, &moves)()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if e, err = Run(plan, tamper, &moves); err != nil {
			t.Fatal(err)
		}
	})
	return e, Check(e)
}

// watch ends the test process with every goroutine's stack when a world stands
// still: go test's own time-out would come later and say less.
func watch(plan Plan, moves *atomic.Int64) (done func()) {
	stopped, returned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		tick := time.NewTicker(stall)
		defer tick.Stop()
		last := int64(-1)
		for {
			select {
			case <-stopped:
				return
			case <-tick.C:
			}
			now := moves.Load()
			if now == last {
				_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
				panic(fmt.Sprintf("no call for %v of real time in the world of\n%v", stall, plan))
			}
			last = now
		}
	}()
	return func() {
		close(stopped)
		<-returned
	}
}

// TestSeeds plays one world a seed. A failing seed is played again by
//
//	go test ./internal/sim -run '^TestSeeds$' -seeds=1 -first=SEED
func TestSeeds(t *testing.T) {
	var longest time.Duration
	began := time.Now()
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			plan := NewPlan(seed)
			e, found := play(t, plan, Tamper{})
			longest = max(longest, e.Settled)
			if len(found) > 0 {
				t.Error(Report(plan, e, found))
			}
		})
	}
	t.Logf("%d seeds, %.0f a minute; the longest way from the last fault to everything applied took %v",
		*seeds, float64(*seeds)/time.Since(began).Minutes(), longest)
}
