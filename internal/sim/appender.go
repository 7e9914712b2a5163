package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"millrace/event"
	"millrace/eventstore"
)

// appendTo makes the appends of one aggregate, one after the other: version v
// is appended when v-1 was, but for those that are late. An append whose outcome nobody knows is repeated
// under its command until it is known.
func (w *world) appendTo(aggregate string) {
	app := "writer/" + aggregate
	store, err := w.eventStore(app)
	if err != nil {
		w.note("appender", aggregate, "%v", err)
		return
	}
	w.sleep(chance(w.plan.Seed).between(0, time.Second, "first append", aggregate))
	var late sync.WaitGroup
	defer late.Wait()
	for i, write := range w.plan.Writes[aggregate] {
		w.sleepUntil(write.At)
		head := w.head(aggregate)
		if write.Late > 0 {
			late.Go(func() {
				w.sleepUntil(write.At + write.Late)
				w.append(store, aggregate, i, head)
			})
		} else if !w.append(store, aggregate, i, head) {
			return
		}
		w.mu.Lock()
		w.heads[aggregate] = head + write.Events
		w.mu.Unlock()
	}
}

// append makes one of an aggregate's appends, behind a version; false when that
// cannot be.
func (w *world) append(store *eventstore.Store, aggregate string, i, head int) bool {
	draw := chance(w.plan.Seed)
	events := make([]eventstore.NewEvent, w.plan.Writes[aggregate][i].Events)
	for k := range events {
		amount := draw.number("amount", aggregate, head+k+1) % 1000
		events[k] = eventstore.NewEvent{
			Type: "Paid", Time: time.Now(), Command: fmt.Sprintf("%s-%d", aggregate, i),
			Attributes: event.Item{amountAttribute: event.Number(strconv.FormatUint(amount, 10))},
		}
	}
	for try := 0; ; try++ {
		_, err := store.Append(context.Background(), aggregate, uint64(head), events...) //nolint:gosec // a count
		if err == nil {
			return true
		}
		var conflict *eventstore.Conflict
		if errors.As(err, &conflict) {
			// Nobody else writes this aggregate.
			w.note("appender", aggregate, "appending after version %d: %v", head, err)
			return false
		}
		w.sleep(draw.between(time.Second, 3*time.Second, "append again", aggregate, i, try))
	}
}
