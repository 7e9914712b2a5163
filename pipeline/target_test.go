package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"millrace/event"
	"millrace/sinks"
	"millrace/sinks/sinktest"
)

// targetFaults says how a target in memory fails, and may change at any time.
type targetFaults struct {
	mu      sync.Mutex
	refused map[string]bool          // aggregate@version
	poison  uint64                   // the version that is refused of all aggregates
	spared  string                   // but this one
	down    map[string]error         // sinks that answer this to everybody
	slow    map[string]time.Duration // aggregates whose runs take time
	hung    map[string]chan struct{} // aggregates whose runs hang until closed
	deaf    bool                     // what hangs ignores its context
	calls   int                      // runs that arrived
	under   int                      // runs under way
}

func newTargetFaults() *targetFaults {
	return &targetFaults{refused: map[string]bool{}, down: map[string]error{}, slow: map[string]time.Duration{}, hung: map[string]chan struct{}{}}
}

func (f *targetFaults) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// refuse makes one version of an aggregate fail for good.
func (f *targetFaults) refuse(aggregate string, version uint64) {
	f.set(func() { f.refused[fmt.Sprintf("%s@%d", aggregate, version)] = true })
}

// refuseAll makes one version of every aggregate but one fail for good.
func (f *targetFaults) refuseAll(version uint64, but string) {
	f.set(func() { f.poison, f.spared = version, but })
}

// heal takes every refusal back.
func (f *targetFaults) heal() {
	f.set(func() {
		clear(f.refused)
		f.poison = 0
	})
}

// outage makes a sink fail for everybody, or work again.
func (f *targetFaults) outage(sink string, down bool) {
	if !down {
		f.answer(sink, nil)
		return
	}
	f.answer(sink, &event.Error{Class: event.Transient, Op: "applying", Err: errors.New("the target is down")})
}

// answer makes a sink answer everybody with one error; nil: it works again.
func (f *targetFaults) answer(sink string, err error) { f.set(func() { f.down[sink] = err }) }

// delay makes an aggregate's runs take time.
func (f *targetFaults) delay(aggregate string, d time.Duration) {
	f.set(func() { f.slow[aggregate] = d })
}

// hang makes an aggregate's runs wait until they are let go; deaf ones do not
// even return when their context ends.
func (f *targetFaults) hang(aggregate string, deaf bool) (letGo func()) {
	gate := make(chan struct{})
	f.set(func() { f.hung[aggregate], f.deaf = gate, deaf })
	return func() {
		f.set(func() { delete(f.hung, aggregate) })
		close(gate)
	}
}

// arrived is how many runs reached the target, and how many are under way.
func (f *targetFaults) arrived() (calls, under int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.under
}

func (f *targetFaults) options() sinktest.MemoryOptions {
	return sinktest.MemoryOptions{
		Before: f.before,
		Refuse: func(e event.Event) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.refused[fmt.Sprintf("%s@%d", e.Aggregate, e.Version)] || e.Version == f.poison && e.Aggregate != f.spared {
				return &event.Error{Class: event.Permanent, Op: "applying", Err: errors.New("refused")}
			}
			return nil
		},
	}
}

func (f *targetFaults) before(ctx context.Context, id sinks.Identity, run event.Run) error {
	f.mu.Lock()
	f.calls++
	f.under++
	wait, gate, deaf, down := f.slow[run.Aggregate], f.hung[run.Aggregate], f.deaf, f.down[id.Sink]
	f.mu.Unlock()
	defer f.set(func() { f.under-- })
	if down != nil {
		return down
	}
	over := ctx.Done()
	if gate != nil && deaf {
		over = nil
	}
	if gate != nil {
		select {
		case <-gate:
		case <-over:
			return context.Cause(ctx)
		}
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
