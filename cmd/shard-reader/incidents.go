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

// incidents happen on the way, each at its share of the events.
func (r *run) incidents(ctx context.Context) error {
	random := rand.New(rand.NewPCG(r.demo.Seed, 2))
	kill := 0.35 + 0.3*random.Float64()
	for _, incident := range []struct {
		share float64
		do    func() error
	}{
		{0.08, r.splitHot},
		{0.20, r.roll},
		{0.30, r.splitByHash},
		{kill, func() error { return r.release(ctx) }},
		{kill, r.kill},
		{0.72, func() error { return r.fix(ctx) }},
		{0.80, r.roll},
	} {
		if err := r.traffic.until(ctx, incident.share); err != nil {
			return err
		}
		if err := incident.do(); err != nil {
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
func (r *run) splitHot() error {
	for {
		at := r.traffic.hotHead() + uint64(r.traffic.splitAhead())
		lower, err := r.splitAt(at)
		if err != nil {
			return err
		}
		r.held, r.gap = lower.ID, uint64(r.traffic.hotEvents) >= at
		// The writer may have passed the split before it was made, with an
		// append under way too, and then the lower half stays empty.
		if !r.gap || lower.Records > 0 || r.traffic.hotHead()+maxBatch < at {
			r.note("the hot aggregate is split: two shards carry it, the lower one lags")
			return nil
		}
	}
}

// splitAt splits the hot aggregate's shard at a version and returns the shard
// of what lies below, which lags from then on.
func (r *run) splitAt(version uint64) (lower localaws.ShardInfo, err error) {
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
	return shards[at], nil
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

func (r *run) roll() error {
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

func (r *run) splitByHash() error {
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

// release lets the lower half's records go, which have taken effect by then:
// they come as duplicates.
func (r *run) release(ctx context.Context) error {
	if r.gap {
		// A worker that is busy or new fills it within seconds; the proof needs
		// none, so that a demo is not held up for ever.
		limited, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		for limited.Err() == nil && r.workers.totals().GapsFilled == 0 {
			_ = jitter.Sleep(limited, 20*time.Millisecond) // the loop looks why
		}
	}
	if err := r.engine.DelayVisible("orders-events", r.held, 0); err != nil {
		return fmt.Errorf("letting the records of shard %s go: %w", r.held, err)
	}
	return context.Cause(ctx)
}

func (r *run) kill() error {
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
