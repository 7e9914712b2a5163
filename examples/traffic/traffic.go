package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/jitter"
)

// writers append at once, and race for the same aggregates.
const writers = 4

// command is the n-th command of the traffic. It returns how many events it led
// to.
type command func(ctx context.Context, s *eventstore.Store, random *rand.Rand, n int) (events int, err error)

// done is what the traffic has come to.
type done struct {
	events, commands, refused, lost atomic.Int64
}

// String tells it on one line.
func (d *done) String() string {
	return fmt.Sprintf("appended %d events by %d commands; %d were refused by a rule, %d gave up after lost races",
		d.events.Load(), d.commands.Load(), d.refused.Load(), d.lost.Load())
}

// append gives commands until enough events stand.
func (f flags) append(ctx context.Context, s *eventstore.Store) (*done, error) {
	give := map[string]command{"orders": order, "bank": account, "maintenance": workOrder}[f.Example]
	var d done
	var group sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(f.Seed, uint64(w)))
			for errs[w] == nil && d.events.Load() < int64(f.Events) {
				events, err := give(ctx, s, random, int(d.commands.Add(1)))
				d.events.Add(int64(events))
				if errs[w] = d.settle(err); errs[w] == nil {
					errs[w] = jitter.Sleep(ctx, time.Duration(events)*writers*time.Second/time.Duration(f.Rate))
				}
			}
		})
	}
	group.Wait()
	return &d, errors.Join(errs...)
}

// settle counts what a command may end with in daily life.
func (d *done) settle(err error) error {
	var refused *eventstore.Refusal
	var lost *eventstore.Conflict
	switch {
	case errors.As(err, &refused):
		d.refused.Add(1)
	case errors.As(err, &lost):
		d.lost.Add(1)
	default:
		return err
	}
	return nil
}

// handle is eventstore.Handle for one event at most; nil stands for nothing to
// do. The command's id marks the event, so that a lost answer is told from a
// lost race.
func handle[S any](ctx context.Context, s *eventstore.Store, aggregate string, fold eventstore.Fold[S], snapshots *eventstore.Snapshots[S], decide func(S) (*eventstore.NewEvent, error)) (int, error) {
	id, at, events := crand.Text(), time.Now(), 0
	_, _, err := eventstore.Handle(ctx, s, eventstore.Command[S]{
		Aggregate: aggregate, Fold: fold, Snapshots: snapshots,
		Decide: func(state S) ([]eventstore.NewEvent, error) {
			e, err := decide(state)
			events = 0
			if e == nil || err != nil {
				return nil, err
			}
			events = 1
			e.Command, e.Time = id, at
			return []eventstore.NewEvent{*e}, nil
		},
	})
	if err != nil {
		return 0, err
	}
	return events, nil
}

func happened(kind string, attributes event.Item) *eventstore.NewEvent {
	return &eventstore.NewEvent{Type: kind, Attributes: attributes}
}

// money is an amount of cents as DynamoDB keeps it, exactly.
func money(cents int64) event.Number {
	return event.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100))
}
