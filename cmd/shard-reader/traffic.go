package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/jitter"
	"millrace/projection/ordersview"
)

// hotAggregate is the one that gets most of the demo's events.
const hotAggregate = "order-hot"

// appendRate is how many events a second the demo appends at least, and
// appendTime how long it takes at most if the machine can: long enough for the
// worker to meet its incidents, short enough to be watched.
const (
	appendRate = 1700
	appendTime = 12 * time.Second
)

// traffic appends the demo's events: one writer for the hot aggregate, some
// for the others, each aggregate written by one of them.
type traffic struct {
	store      *eventstore.Store
	seed       uint64
	total      int
	aggregates int
	rate       float64 // events a second, all writers together
	hot        []int   // batches of the hot aggregate's events
	cold       [][]coldAppend
	appended   atomic.Uint64
	hotVersion atomic.Uint64
}

// coldAppend is one append to one of the other aggregates.
type coldAppend struct {
	aggregate string
	expected  uint64
	n         int
}

const coldWriters = 4

// newTraffic plans every append from the seed, so that the same seed appends
// the same events.
func newTraffic(d demoCommand, store *eventstore.Store) *traffic {
	random := rand.New(rand.NewPCG(d.Seed, 1))
	hot := int(d.Hot * float64(d.Events))
	others := d.Aggregates - 1
	switch {
	case others == 0:
		hot = d.Events
	case d.Events-hot < others: // each aggregate gets at least one event
		hot = d.Events - others
	}
	t := &traffic{
		store: store, seed: d.Seed, total: d.Events, cold: make([][]coldAppend, coldWriters),
		rate: max(appendRate, float64(d.Events)/appendTime.Seconds()),
	}
	for left := hot; left > 0; {
		n := min(left, 1+random.IntN(10))
		t.hot = append(t.hot, n)
		left -= n
	}
	if hot > 0 {
		t.aggregates++
	}
	versions := make([]uint64, others)
	for left := d.Events - hot; left > 0; {
		i := random.IntN(max(others, 1))
		n := 1
		if untouched := d.Events - hot - left; untouched < others {
			i = untouched // each aggregate begins once
		} else if random.IntN(5) == 0 {
			n = min(left, 2+random.IntN(3))
		}
		if versions[i] == 0 {
			t.aggregates++
		}
		w := i % coldWriters
		t.cold[w] = append(t.cold[w], coldAppend{aggregate: fmt.Sprintf("order-%05d", i+1), expected: versions[i], n: n})
		versions[i] += uint64(n)
		left -= n
	}
	return t
}

// append writes everything, at the traffic's rate.
func (t *traffic) append(ctx context.Context) error {
	began := time.Now()
	errs := make(chan error, coldWriters+1)
	go func() {
		var version uint64
		for i, n := range t.hot {
			if err := t.one(ctx, began, hotAggregate, version, n, i); err != nil {
				errs <- err
				return
			}
			version += uint64(n)
			t.hotVersion.Store(version)
		}
		errs <- nil
	}()
	for _, batch := range t.cold {
		go func() {
			for i, a := range batch {
				if err := t.one(ctx, began, a.aggregate, a.expected, a.n, i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var first error
	for range coldWriters + 1 {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// one waits for the append's turn and makes it.
func (t *traffic) one(ctx context.Context, began time.Time, aggregate string, expected uint64, n, i int) error {
	due := began.Add(time.Duration(float64(t.appended.Load()) / t.rate * float64(time.Second)))
	if err := jitter.Sleep(ctx, time.Until(due)); err != nil {
		return err
	}
	events := make([]eventstore.NewEvent, n)
	for k := range events {
		events[k] = orderEvent(expected+uint64(k)+1, aggregate, i)
	}
	if _, err := t.store.Append(ctx, aggregate, expected, events...); err != nil {
		return err
	}
	t.appended.Add(uint64(n))
	return nil
}

// orderEvent is version v of an order: placed first, then items, paid and
// shipped now and then.
func orderEvent(v uint64, aggregate string, i int) eventstore.NewEvent {
	e := eventstore.NewEvent{Time: time.Now()}
	switch {
	case v == 1:
		e.Type = ordersview.OrderPlaced
		e.Attributes = event.Item{"customer": event.String("customer of " + aggregate), "amount": event.Number("19.90")}
	case v%97 == 0:
		e.Type = ordersview.OrderShipped
	case v%31 == 0:
		e.Type = ordersview.OrderPaid
	default:
		e.Type = ordersview.ItemAdded
		e.Attributes = event.Item{"amount": event.Number(fmt.Sprintf("%d.%02d", 1+i%50, i%100))}
	}
	return e
}

// until waits until a share of the events is appended.
func (t *traffic) until(ctx context.Context, share float64) error {
	for float64(t.appended.Load()) < share*float64(t.total) {
		if err := jitter.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// hotHead is the hot aggregate's newest version.
func (t *traffic) hotHead() uint64 { return t.hotVersion.Load() }
