package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"millrace/event"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

// incidents happen on the way, each at its share of the events or after.
func (r *run) incidents(ctx context.Context) error {
	random := rand.New(rand.NewPCG(r.demo.Seed, 2))
	kill := 0.3 + 0.1*random.Float64()
	type step struct {
		share float64
		do    func(context.Context) error
	}
	all := []step{{0, r.splitHot}, {0, r.release}, {0.20, r.roll}, {0.30, r.splitByHash}, {kill, r.kill}, {0.80, r.roll}}
	if r.blocked != nil {
		// The worker is killed while aggregates are blocked: what it knew of them
		// its successor must find.
		all = slices.Insert(all, 4, step{kill, r.blocks})
		all = slices.Insert(all, 6, step{kill, r.look}, step{0.65, r.fix})
	}
	for _, step := range all {
		if err := r.traffic.until(ctx, step.share); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// late is how long the lower half of the split aggregate is held back at most:
// longer than any demo, since its records are let go when the gap is filled.
const late = time.Hour

// splitHot splits the hot aggregate's items above the newest one and holds the
// lower half back, so that two shards carry the aggregate and the upper half
// arrives first: a gap that only the event store can fill.
func (r *run) splitHot(ctx context.Context) error {
	if !r.traffic.hot.gap {
		return nil // it has too few events
	}
	for r.traffic.hotVersion.Load() < r.traffic.hot.before {
		if err := jitter.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	var err error
	if r.held, err = r.splitAt(r.traffic.hot.cut); err != nil {
		return err
	}
	close(r.traffic.cut)
	r.note("the hot aggregate is split: two shards carry it, the lower one lags")
	return nil
}

// splitAt splits the hot aggregate's shard at a version and returns the shard
// of what lies below, which lags from then on.
func (r *run) splitAt(version uint64) (lower string, err error) {
	before := r.openShards()
	if err := r.engine.SplitCollection("orders-events", event.String(hotAggregate), event.Orders().VersionKey(version)); err != nil {
		return lower, fmt.Errorf("splitting the hot aggregate's shard: %w", err)
	}
	isLower := func(s localaws.ShardInfo) bool { return !s.Closed && before[s.Parent] } // the first of two children
	shards := r.engine.Shards("orders-events")
	at := slices.IndexFunc(shards, isLower)
	if at < 0 {
		return lower, errors.New("the split shard has no children")
	}
	if err := r.engine.DelayVisible("orders-events", shards[at].ID, late); err != nil {
		return lower, fmt.Errorf("delaying shard %s: %w", shards[at].ID, err)
	}
	return shards[at].ID, nil
}

func (r *run) openShards() map[string]bool {
	open := map[string]bool{}
	for _, s := range r.engine.Shards("orders-events") {
		if !s.Closed {
			open[s.ID] = true
		}
	}
	return open
}

func (r *run) roll(context.Context) error {
	for _, s := range r.engine.Shards("orders-events") {
		if !s.Closed {
			if err := r.engine.Roll("orders-events", s.ID); err != nil {
				return fmt.Errorf("rolling shard %s over: %w", s.ID, err)
			}
			r.note("a shard rolls over: it is closed, a child goes on")
			return nil
		}
	}
	return errors.New("the stream has no open shard")
}

func (r *run) splitByHash(context.Context) error {
	for _, s := range r.engine.Shards("orders-events") {
		if !s.Closed && s.ToHash > s.FromHash {
			if err := r.engine.Split("orders-events", s.ID); err != nil {
				continue // too small; another will do
			}
			r.note("a shard splits in two by hash")
			return nil
		}
	}
	return nil
}

// release lets the lower half's records go once they have taken effect: they
// come as duplicates.
func (r *run) release(ctx context.Context) error {
	if r.held == "" {
		return nil
	}
	// A worker that is busy or new fills the gap within seconds; the proof needs
	// none, so that a demo is not held up for ever.
	limited, cancel := context.WithTimeout(ctx, incidentPatience/2)
	defer cancel()
	for limited.Err() == nil && r.workers.totals().GapsFilled == 0 {
		_ = jitter.Sleep(limited, 20*time.Millisecond) // the loop looks why
	}
	if err := r.engine.DelayVisible("orders-events", r.held, 0); err != nil {
		return fmt.Errorf("letting the records of shard %s go: %w", r.held, err)
	}
	return context.Cause(ctx)
}

func (r *run) kill(context.Context) error {
	r.note("the worker is killed (SIGKILL); a successor starts")
	if err := r.workers.kill(); err != nil {
		return err
	}
	return r.workers.start()
}

func (r *run) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.changes = append(r.changes, text)
	r.show.say("%s", text)
}
