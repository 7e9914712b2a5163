package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"millrace/event"
	"millrace/eventstore"
)

// orderState is how far an order has come: the type of the last event that
// moved it on.
type orderState string

func foldOrder(state orderState, e event.Event) (orderState, error) {
	kind, err := e.Type()
	if kind == "ItemAdded" {
		return state, err
	}
	return orderState(kind), err
}

// order is a customer's or the shop's next step with one of the younger orders.
func order(ctx context.Context, s *eventstore.Store, random *rand.Rand, n int) (int, error) {
	name, step, amount := fmt.Sprintf("order-%d", n/6+random.IntN(20)), random.IntN(10), money(random.Int64N(10_000))
	return handle(ctx, s, name, foldOrder, nil, func(state orderState) (*eventstore.NewEvent, error) {
		switch {
		case state == "":
			return happened("OrderPlaced", event.Item{"customer": event.String("customer of " + name), "amount": amount}), nil
		case state == "OrderShipped" && step == 9:
			return nil, errors.New("an order that is shipped cannot be cancelled")
		case state == "OrderShipped" || state == "OrderCancelled":
			return nil, nil
		case step == 9:
			return happened("OrderCancelled", nil), nil
		case state == "OrderPaid":
			return happened("OrderShipped", nil), nil
		case step > 6:
			return happened("OrderPaid", nil), nil
		default:
			return happened("ItemAdded", event.Item{"amount": amount}), nil
		}
	})
}
