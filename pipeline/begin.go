package pipeline

import (
	"context"
	"fmt"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/sinks"
	"millrace/source"
)

const (
	// beginMargin is how much older than the group an event may seem to be: the
	// clocks of those who append differ.
	beginMargin = 5 * time.Minute
	// retention is how far back a stream's trim horizon lies (Developer Guide,
	// "Change data capture for DynamoDB Streams": 24 hours).
	retention = 24 * time.Hour
	// beginPage is how many versions are looked at a time.
	beginPage = 100
)

// begins tells the lane where its group began, before the first record is read.
func (l *lane) begins(pin checkpoint.Pin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := pin.Start.Time
	if pin.Start.Kind == source.TrimHorizon {
		since = pin.At.Add(-retention)
	}
	l.since = since.Add(-beginMargin)
}

// beforeStart reports whether an event is older than the group. One whose time
// cannot be read is not: rather too much is delivered than too little.
func (l *lane) beforeStart(e event.Event) bool {
	at, err := e.Time()
	return err == nil && !at.IsZero() && !at.After(l.since)
}

// beginMissing has those aggregates begin whose positions are zero. The row that
// says where an aggregate begins is written before anything is applied or
// blocked: without it a later look would find nothing applied, and take an older
// version for the first. It returns the aggregates whose positions are known
// then: one whose records went with their shard meanwhile has no beginning yet.
func (l *lane) beginMissing(ctx context.Context, aggregates []string, positions []event.Position) ([]string, []event.Position, error) {
	var known []string
	var at []event.Position
	for i, aggregate := range aggregates {
		if positions[i].Version == 0 {
			lowest := l.lowest(aggregate)
			if lowest == 0 {
				continue
			}
			var err error
			if positions[i], err = l.beginOne(ctx, aggregate, lowest); err != nil {
				return nil, nil, err
			}
		}
		known, at = append(known, aggregate), append(at, positions[i])
	}
	return known, at, nil
}

// lowest is the lowest version that waits for an aggregate's position. With none
// there is nothing to begin with, and nobody needs the position.
func (l *lane) lowest(aggregate string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	lowest := l.window.Lowest(aggregate)
	if lowest == 0 {
		l.window.Unlearned(aggregate, time.Now())
	}
	return lowest
}

func (l *lane) beginOne(ctx context.Context, aggregate string, arrived uint64) (event.Position, error) {
	first, err := l.first(ctx, aggregate, arrived)
	if err != nil || first == 1 {
		return event.Position{}, err
	}
	call, cancel := context.WithTimeout(ctx, l.sink.Call)
	defer cancel()
	at, err := l.sink.Sink.(sinks.Beginner).Begin(call, aggregate, event.Position{Version: first - 1})
	if err != nil {
		return at, fmt.Errorf("beginning %s with version %d: %w", aggregate, first, err)
	}
	return at, nil
}

// first is the version that an aggregate begins with: the lowest of those that
// are younger than the group, all the way down from one that the stream has
// brought. What arrives first need not be it.
func (l *lane) first(ctx context.Context, aggregate string, arrived uint64) (uint64, error) {
	first := arrived
	for to := arrived; to > 1; {
		from := max(to, beginPage+1) - beginPage
		older, page := uint64(0), from
		err := l.w.opts.Store.Range(ctx, aggregate, from, to-1, func(events []event.Event) error {
			for _, e := range events {
				if l.beforeStart(e) {
					older = e.Version
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return 0, err
		case older > 0:
			return older + 1, nil
		}
		first, to = page, page
	}
	return first, nil
}
