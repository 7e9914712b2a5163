// Package jitter is the one source of every wait's randomness. A wait is a
// pure function of a seed, the name of what waits and how often it has
// waited, so that one seed gives one history, and no two timers of a fleet
// share an instant.
package jitter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Source draws waits and identifiers. The zero value is ready for use and
// draws as seed 0 does. It is safe for concurrent use.
type Source struct {
	Seed uint64
}

// New returns a source with a seed of its own, for production.
func New() Source { return Source{Seed: rand.Uint64()} }

// draw mixes its arguments into 64 bits and depends on nothing else: FNV-1a
// over the name, then the finalizer of splitmix64.
func (s Source) draw(name string, n int) uint64 {
	h := s.Seed ^ 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	h ^= uint64(n) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// unit returns a number in [0, 1).
func (s Source) unit(name string, n int) float64 {
	return float64(s.draw(name, n)>>11) / (1 << 53)
}

// Around returns d give or take a tenth, for what happens periodically; n
// counts the waits of that name.
func (s Source) Around(d time.Duration, name string, n int) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*s.unit(name, n)))
}

// Backoff returns the wait before repetition n (0 is the first) with full
// jitter: up to base doubled n times, at most limit, and never quite nothing.
func (s Source) Backoff(base, limit time.Duration, name string, n int) time.Duration {
	ceiling := limit
	if n < 30 && base<<n < limit {
		ceiling = base << n
	}
	return time.Duration(float64(ceiling) * (0.01 + 0.99*s.unit(name, n)))
}

// ID draws an identifier of 16 hexadecimal digits: a token or a heartbeat.
func (s Source) ID(name string, n int) string {
	return fmt.Sprintf("%016x", s.draw(name, n))
}

// Sleep waits for d or until the context ends, whose cause it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
