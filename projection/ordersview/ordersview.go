package ordersview

import (
	"errors"
	"fmt"
	"strconv"

	"millrace/event"
	"millrace/internal/decimal"
	"millrace/projection"
)

// The event types of an order and, behind each, its attributes.
const (
	OrderPlaced    = "OrderPlaced"    // customer (text), amount (number)
	ItemAdded      = "ItemAdded"      // amount (number)
	OrderPaid      = "OrderPaid"      //
	OrderShipped   = "OrderShipped"   //
	OrderCancelled = "OrderCancelled" //
	GiftWrapped    = "GiftWrapped"    // amount (number); see BeforeGifts
)

// The attributes of the read model.
const (
	Status   = "status"   // placed, paid, shipped or cancelled
	Customer = "customer" // as text
	Total    = "total"    // the sum of all amounts, exact
	Events   = "events"   // how many events the order has had
	Digest   = "digest"   // 16 hexadecimal digits; see record
)

// order is the state of one order.
type order struct {
	status   string
	customer string
	total    decimal.Decimal
	events   uint64
	digest   uint64
}

// Projection is the fold. An order's events may come in any sequence that the
// shop allows; what matters here is that each comes once and in order, which
// the digest shows.
func Projection() (projection.Projection, error) {
	handlers := beforeGifts()
	handlers[GiftWrapped] = add
	return fold(handlers)
}

// BeforeGifts is the fold of an earlier release, which lacks GiftWrapped: an
// event of that type is poison to it, as a new type is to every release that
// was forgotten in a deployment.
func BeforeGifts() (projection.Projection, error) { return fold(beforeGifts()) }

func beforeGifts() projection.On[order] {
	return projection.On[order]{
		OrderPlaced:    place,
		ItemAdded:      add,
		OrderPaid:      become("paid"),
		OrderShipped:   become("shipped"),
		OrderCancelled: become("cancelled"),
	}
}

func fold(business projection.On[order]) (projection.Projection, error) {
	return projection.New(projection.Fold[order]{
		Apply: func(o order, e event.Event) (order, error) {
			next, err := business.Apply(o, e)
			if err != nil {
				return o, err
			}
			return record(next, e)
		},
		Encode: encode,
		Decode: decode,
	})
}

// record counts the event and hashes it into the digest of those before it: an
// event that is doubled, missing or out of place changes every digest after it.
func record(o order, e event.Event) (order, error) {
	kind, err := e.Type()
	if err != nil {
		return o, err
	}
	o.events++
	o.digest = hash(hash(hash(fnvOffset, o.digest), e.Version), uint64(len(kind)))
	for i := range len(kind) {
		o.digest = (o.digest ^ uint64(kind[i])) * fnvPrime
	}
	return o, nil
}

// FNV-1a of 64 bits: cheap enough to be done for every event, and no secret is
// kept by it.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// hash adds the eight bytes of a number to an FNV-1a hash.
func hash(h, number uint64) uint64 {
	for shift := 0; shift < 64; shift += 8 {
		h = (h ^ number>>shift&0xff) * fnvPrime
	}
	return h
}

func place(o order, e event.Event) (order, error) {
	customer, err := e.Image.Get("customer")
	if err != nil {
		return o, err
	}
	text, ok := customer.(event.String)
	if !ok {
		return o, errNoCustomer
	}
	o.customer, o.status = string(text), "placed"
	return add(o, e)
}

func become(status string) func(order, event.Event) (order, error) {
	return func(o order, _ event.Event) (order, error) {
		o.status = status
		return o, nil
	}
}

func add(o order, e event.Event) (order, error) {
	amount, err := e.Image.Get("amount")
	if err != nil {
		return o, err
	}
	number, ok := amount.(event.Number)
	if !ok {
		return o, errNoAmount
	}
	value, err := decimal.Parse(string(number))
	if err != nil {
		return o, fmt.Errorf("reading the amount: %w", err)
	}
	if o.total, err = o.total.Add(value); err != nil {
		return o, fmt.Errorf("adding the amount: %w", err)
	}
	return o, nil
}

func encode(o order) (event.Item, error) {
	return event.Item{
		Status:   event.String(o.status),
		Customer: event.String(o.customer),
		Total:    event.Number(o.total.String()),
		Events:   event.Number(strconv.FormatUint(o.events, 10)),
		Digest:   event.String(fmt.Sprintf("%016x", o.digest)),
	}, nil
}

// decode reads what encode wrote; what is not there is zero.
func decode(item event.Item) (o order, err error) {
	status, _ := item[Status].(event.String)
	customer, _ := item[Customer].(event.String)
	o.status, o.customer = string(status), string(customer)
	if total, ok := item[Total].(event.Number); ok {
		if o.total, err = decimal.Parse(string(total)); err != nil {
			return o, fmt.Errorf("reading %s: %w", Total, err)
		}
	}
	if events, ok := item[Events].(event.Number); ok {
		if o.events, err = strconv.ParseUint(string(events), 10, 64); err != nil {
			return o, fmt.Errorf("reading %s: %w", Events, err)
		}
	}
	if digest, ok := item[Digest].(event.String); ok {
		if o.digest, err = strconv.ParseUint(string(digest), 16, 64); err != nil {
			return o, fmt.Errorf("reading %s: %w", Digest, err)
		}
	}
	return o, nil
}

var (
	errNoCustomer = errors.New("attribute customer must be text")
	errNoAmount   = errors.New("attribute amount must be a number")
)
