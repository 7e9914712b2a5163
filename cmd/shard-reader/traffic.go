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
	total      int
	hotEvents  int
	aggregates int
	rate       float64 // events a second, all writers together
	hot        []int   // batches of the hot aggregate's events
	cold       [][]appendOne
	poison     map[string]uint64 // by aggregate: the version that the first release cannot apply
	appended   atomic.Uint64
	hotVersion atomic.Uint64
}

// appendOne is one append.
type appendOne struct {
	aggregate string
	expected  uint64
	n         int
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
	if hot == 0 {
		others = d.Aggregates
	}
	switch {
	case others == 0:
		hot = d.Events
	case d.Events-hot < others: // each aggregate gets at least one event
		hot = d.Events - others
	}
	t := &traffic{
		store: store, total: d.Events, hotEvents: hot, cold: make([][]appendOne, coldWriters),
		rate: max(appendRate, float64(d.Events)/appendTime.Seconds()),
	}
	for left := hot; left > 0; {
		n := min(left, 1+random.IntN(maxBatch))
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
		t.cold[w] = append(t.cold[w], appendOne{aggregate: fmt.Sprintf("order-%05d", i+1), expected: versions[i], n: n})
		versions[i] += uint64(n)
		left -= n
	}
	t.plant(d.Poison, random)
	return t
}

// plant chooses the events that the first release cannot apply: one of the hot
// aggregate, behind the split that the demo makes there, and the others from
// the first third of the traffic, so that many events follow them.
func (t *traffic) plant(n int, random *rand.Rand) {
	t.poison = map[string]uint64{}
	if n > 0 && t.hotEvents > 0 {
		t.poison[hotAggregate] = uint64(min(t.hotEvents, t.hotEvents/8+2*t.splitAhead()))
	}
	var early, late []appendOne
	for _, appends := range t.cold {
		third := len(appends) / 3
		early, late = append(early, appends[len(appends)/10:third]...), append(append(late, appends[:len(appends)/10]...), appends[third:]...)
	}
	for _, appends := range [][]appendOne{early, late} { // late ones only where the early ones are too few
		for _, i := range random.Perm(len(appends)) {
			a := appends[i]
			if _, planted := t.poison[a.aggregate]; !planted && len(t.poison) < n {
				t.poison[a.aggregate] = a.expected + uint64(a.n)
			}
		}
	}
}

// splitAhead is how far above the hot aggregate's head the demo splits it.
func (t *traffic) splitAhead() int { return 2*maxBatch + t.total/200 }

// append writes everything, at the traffic's rate.
func (t *traffic) append(ctx context.Context) error {
	began := time.Now()
	errs := make(chan error, coldWriters+1)
	hot := make([]appendOne, len(t.hot))
	var version uint64
	for i, n := range t.hot {
		hot[i] = appendOne{aggregate: hotAggregate, expected: version, n: n}
		version += uint64(n)
	}
	go func() { errs <- t.write(ctx, began, hot, t.hotVersion.Store) }()
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
		due := began.Add(time.Duration(lasts * float64(done) / float64(total)))
		if err := jitter.Sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		events := make([]eventstore.NewEvent, a.n)
		for k := range events {
			events[k] = orderEvent(a.expected+uint64(k)+1, a.aggregate, i)
			if a.expected+uint64(k)+1 == t.poison[a.aggregate] {
				events[k].Type, events[k].Attributes = ordersview.GiftWrapped, event.Item{"amount": event.Number("2.50")}
			}
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
