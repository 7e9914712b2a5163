package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/projection"
	"millrace/projection/ordersview"
)

// backlog is a history in an event table of one shard. It is a pure function of
// its fields, so that the process that fills the table and the one that judges
// the read model agree without talking.
type backlog struct {
	Workload   string
	Events     int
	Size       int // bytes of an event's item, as DynamoDB counts them
	Aggregates int // 1: one hot aggregate; else each event's is drawn uniformly
}

// seed fixes which aggregates the events of a history belong to.
const seed = 2026

func (b backlog) table() string { return b.Workload + "-events" }

// written is one event of the history.
type written struct {
	aggregate string
	version   uint64
	event     eventstore.NewEvent
}

// all yields the history in the order in which it is written, which is the
// order in which the stream's only shard reports it.
func (b backlog) all() iter.Seq[written] {
	return func(yield func(written) bool) {
		random := rand.New(rand.NewPCG(seed, uint64(b.Aggregates))) //nolint:gosec // a history that repeats
		versions := make([]uint64, b.Aggregates)
		for i := range b.Events {
			n := random.IntN(b.Aggregates)
			versions[n]++
			w := written{aggregate: fmt.Sprintf("order-%08d", n), version: versions[n]}
			w.event = b.event(i, w.version)
			if !yield(w) {
				return
			}
		}
	}
}

// event makes the i-th event of the history: ten attributes with those of the
// layout, filled up to the size.
func (b backlog) event(i int, version uint64) eventstore.NewEvent {
	kind := ordersview.ItemAdded
	if version == 1 {
		kind = ordersview.OrderPlaced
	}
	e := eventstore.NewEvent{
		Type:    kind,
		Time:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second),
		Command: fmt.Sprintf("command-%09d", i),
		Attributes: event.Item{
			"customer": event.String("customer-17"),
			"amount":   event.Number(strconv.Itoa(101 + i%899)),
			"currency": event.String("EUR"),
			"channel":  event.String("web"),
			"note":     event.String(""),
		},
	}
	e.Attributes["note"] = event.String(strings.Repeat("n", max(0, b.Size-size(e))))
	return e
}

// size is what DynamoDB counts for an event's item.
func size(e eventstore.NewEvent) int {
	item := stored(written{aggregate: "order-00000000", version: 1, event: e}, event.Orders())
	item["commandId"] = event.String(e.Command)
	return eventstore.ItemBytes(item)
}

// least is the smallest size that an event can have.
func (b backlog) least() int { b.Size = 0; return size(b.event(b.Events, 1)) }

// stored is the part of an event's item that folds may look at.
func stored(w written, layout *event.Layout) event.Item {
	item := event.Item{
		layout.Aggregate: event.String(w.aggregate),
		layout.Version:   layout.VersionKey(w.version),
		layout.Type:      event.String(w.event.Type),
		layout.Time:      event.String(w.event.Time.Format(time.RFC3339Nano)),
	}
	for name, v := range w.event.Attributes {
		item[name] = v
	}
	return item
}

// fill appends the history with the product's own event store, neighbours of
// one aggregate together.
func (b backlog) fill(ctx context.Context, store *eventstore.Store) error {
	var pending []eventstore.NewEvent
	var aggregate string
	var next uint64 // the version after those pending
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		_, err := store.Append(ctx, aggregate, next-1-uint64(len(pending)), pending...)
		pending = pending[:0]
		return err
	}
	for w := range b.all() {
		// One append is one command's.
		if w.aggregate != aggregate || len(pending) == eventstore.MaxTransactionItems || (len(pending)+1)*b.Size > eventstore.MaxTransactionBytes {
			if err := flush(); err != nil {
				return fmt.Errorf("filling %s: %w", b.table(), err)
			}
		}
		if len(pending) > 0 {
			w.event.Command = pending[0].Command
		}
		aggregate, next = w.aggregate, w.version+1
		pending = append(pending, w.event)
	}
	if err := flush(); err != nil {
		return fmt.Errorf("filling %s: %w", b.table(), err)
	}
	return nil
}

// target is what one aggregate's read-model item must say.
type target struct {
	version uint64
	item    event.Item
}

// expected folds the first n events of the history, past everything that is
// measured.
func (b backlog) expected(view projection.Projection, n int) (map[string]target, error) {
	layout := event.Orders()
	states := map[string]projection.State{}
	targets := map[string]target{}
	for w := range b.all() {
		if n--; n < 0 {
			break
		}
		state := states[w.aggregate]
		if state == nil {
			var err error
			if state, err = view.Start(nil); err != nil {
				return nil, fmt.Errorf("folding what is expected: %w", err)
			}
			states[w.aggregate] = state
		}
		e := event.Event{Aggregate: w.aggregate, Version: w.version, Layout: layout, Image: event.Decoded(stored(w, layout))}
		if err := state.Apply(e); err != nil {
			return nil, fmt.Errorf("folding what is expected: %w", err)
		}
		targets[w.aggregate] = target{version: w.version}
	}
	for aggregate, state := range states {
		item, err := state.Item()
		if err != nil {
			return nil, fmt.Errorf("folding what is expected: %w", err)
		}
		targets[aggregate] = target{version: targets[aggregate].version, item: item}
	}
	return targets, nil
}
