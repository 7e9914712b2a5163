package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"millrace/event"
	"millrace/eventstore"
)

// workOrder is a step of one of the younger work orders. One writer in four has
// not been updated: it logs hours, in the first shape of the event.
func workOrder(ctx context.Context, s *eventstore.Store, random *rand.Rand, n int) (int, error) {
	name, step, hours := fmt.Sprintf("work-%d", n/8+random.IntN(20)), random.IntN(8), 1+random.IntN(8)
	last := func(_ string, e event.Event) (string, error) { return e.Type() }
	return handle(ctx, s, name, last, nil, func(state string) (*eventstore.NewEvent, error) {
		var e *eventstore.NewEvent
		switch {
		case state == "OrderCompleted":
			return nil, nil
		case state == "":
			e = happened("OrderCreated", event.Item{"asset": event.String("pump-" + strconv.Itoa(n%50))})
		case step == 7:
			e = happened("OrderCompleted", nil)
		case step < 2:
			e = happened("WorkLogged", event.Item{"hours": event.Number(strconv.Itoa(hours))})
			e.Schema = 1
			return e, nil
		default:
			e = happened("WorkLogged", event.Item{"minutes": event.Number(strconv.Itoa(hours * 60))})
		}
		e.Schema = 2
		return e, nil
	})
}
