package pipeline

import (
	"fmt"
	"sync/atomic"
	"time"
)

// pulse is when a loop made its last step; 0: it has not begun, or waits for
// something that is not its own, such as room.
type pulse struct{ at atomic.Int64 }

func (p *pulse) beat()    { p.at.Store(time.Now().UnixNano()) }
func (p *pulse) resting() { p.at.Store(0) }

// stands is how long the loop has made no step.
func (p *pulse) stands(now time.Time) time.Duration {
	at := p.at.Load()
	if at == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, at))
}

// Health is what a worker knows of itself.
type Health struct {
	// Stuck names the loops that have made no step for far longer than any call of
	// theirs may take: the process is of no use then, and another one should take
	// its place. A sink or a table that does not answer is no such thing.
	Stuck []string
	// Listed is when the lease rows were read last; zero: not yet.
	Listed time.Time
}

// stuckAfter is longer than a loop ever is between two steps, whatever does not
// answer: one listing of markers may take a minute, and a wait before a call is
// repeated half of one.
const stuckAfter = 2 * time.Minute

// Health looks at the worker's loops. It is safe for concurrent use.
func (w *Worker) Health() Health {
	now, bound := time.Now(), max(stuckAfter, 6*w.opts.Lease)
	var h Health
	if at := w.listed.Load(); at != 0 {
		h.Listed = time.Unix(0, at)
	}
	look := func(name string, p *pulse) {
		if stands := p.stands(now); stands > bound {
			h.Stuck = append(h.Stuck, fmt.Sprintf("%s has made no step for %v", name, stands.Round(time.Second)))
		}
	}
	look("the keeper of leases", &w.keeping)
	for _, s := range w.held() {
		if s.isGone() {
			continue
		}
		look("the reader of "+s.key.String(), &s.fetching)
		look("the lease writer of "+s.key.String(), &s.renewing)
	}
	return h
}
