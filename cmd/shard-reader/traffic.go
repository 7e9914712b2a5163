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
	appendRate = 1400
	appendTime = 14 * time.Second
)

// cutShare is how much of the hot aggregate is appended before it is split, and
// poisonShare where in the traffic the poison is: early, so that much follows it.
const (
	cutShare    = 0.08
	poisonShare = 0.12
)

// traffic appends the demo's events: one writer for the hot aggregate, some
// for the others, each aggregate written by one of them.
type traffic struct {
	store      *eventstore.Store
	total      int
	aggregates int
	rate       float64 // events a second, all writers together
	hot        hotPlan
	cold       [][]appendOne
	cut        chan struct{} // closed when the hot aggregate is split
	appended   atomic.Uint64
	hotVersion atomic.Uint64
}

// appendOne is one append.
type appendOne struct {
	aggregate string
	expected  uint64
	n         int
	poison    bool            // its last event is of a type that the first release does not know
	after     <-chan struct{} // it waits for this; nil: for nothing
}

const (
	coldWriters = 4
	maxBatch    = 10 // events of one append
)

// newTraffic plans every append from the seed, so that the same seed appends
// the same events.
func newTraffic(d demoCommand, store *eventstore.Store) *traffic {
	random := rand.New(rand.NewPCG(d.Seed, 1))
	hot := int(d.Hot * float64(d.Events))
	others := d.Aggregates - 1
	switch {
	case others == 0:
		hot = d.Events
	case hot == 0:
		others = d.Aggregates
	case d.Events-hot < others: // each aggregate gets at least one event
		hot = d.Events - others
	}
	t := &traffic{
		store: store, total: d.Events, aggregates: d.Aggregates, cut: make(chan struct{}),
		rate: max(appendRate, float64(d.Events)/appendTime.Seconds()),
		cold: planCold(random, d.Events-hot, others),
	}
	poison := d.poison()
	t.hot = planHot(random, hot, d.Events/200, poison > 0)
	t.hot.wait(t.cut)
	if poison > 0 && hot > 0 {
		poison--
	}
	plant(t.cold, poison)
	return t
}

// append writes everything, at the traffic's rate.
func (t *traffic) append(ctx context.Context) error {
	began := time.Now()
	errs := make(chan error, coldWriters+1)
	go func() { errs <- t.write(ctx, began, t.hot.appends, t.hotVersion.Store) }()
	for _, appends := range t.cold {
		go func() { errs <- t.write(ctx, began, appends, func(uint64) {}) }()
	}
	var first error
	for range coldWriters + 1 {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// write makes one writer's appends, spread over the whole demo.
func (t *traffic) write(ctx context.Context, began time.Time, appends []appendOne, head func(uint64)) error {
	total := 0
	for _, a := range appends {
		total += a.n
	}
	lasts := float64(t.total) / t.rate * float64(time.Second)
	done := 0
	for i, a := range appends {
		if a.after != nil {
			select {
			case <-a.after:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		due := began.Add(time.Duration(lasts * float64(done) / float64(total)))
		if err := jitter.Sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		events := make([]eventstore.NewEvent, a.n)
		for k := range events {
			events[k] = orderEvent(a.expected+uint64(k)+1, a.aggregate, i)
		}
		if a.poison {
			events[a.n-1] = giftEvent()
		}
		version, err := t.store.Append(ctx, a.aggregate, a.expected, events...)
		if err != nil {
			return err
		}
		head(version)
		done += a.n
		t.appended.Add(uint64(a.n))
	}
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

// giftEvent is the poison: the first release has no such type.
func giftEvent() eventstore.NewEvent {
	return eventstore.NewEvent{Time: time.Now(), Type: ordersview.GiftWrapped, Attributes: event.Item{"amount": event.Number("2.50")}}
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
