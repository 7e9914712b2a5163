package pipeline

import (
	"context"
	"slices"
	"sync"
)

// gate is what every attempt of a worker passes. While one of its shards is
// careful, one attempt passes at a time, whichever lane and shard it is of:
// what was under way when a worker vanished is then known.
type gate struct {
	mu      sync.Mutex // a leaf: no other lock is taken under it
	changed *sync.Cond
	careful []*shard
	passed  int // attempts under way
}

func newGate() *gate {
	g := &gate{}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// enter waits until an attempt may begin and returns the careful shards, none
// on all but bad days. Without an error, leave must follow.
func (g *gate) enter(ctx context.Context) ([]*shard, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut() {
		if err := g.wait(ctx); err != nil {
			return nil, err
		}
	}
	g.passed++
	return slices.Clone(g.careful), nil
}

// wait is called under the lock.
func (g *gate) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.changed.Broadcast()
	})
	defer stop()
	for g.shut() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		g.changed.Wait()
	}
	return nil
}

// shut is asked under the lock. Attempts that began before a shard was careful
// are waited for: one of them could be the one that kills.
func (g *gate) shut() bool { return len(g.careful) > 0 && g.passed > 0 }

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passed--
	if len(g.careful) > 0 { // else nobody waits
		g.changed.Broadcast()
	}
}

// care has attempts be one at a time from now on.
func (g *gate) care(s *shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.careful = append(g.careful, s)
}

// relax ends that for a shard.
func (g *gate) relax(s *shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.careful = slices.DeleteFunc(g.careful, func(other *shard) bool { return other == s })
	g.changed.Broadcast()
}
