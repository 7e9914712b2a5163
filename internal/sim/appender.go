package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"millrace/event"
	"millrace/eventstore"
)

// appendTo makes the appends of one aggregate, one after the other: version v
// is appended when v-1 was. An append whose outcome nobody knows is repeated
// under its command until it is known.
func (w *world) appendTo(aggregate string) {
	app := "writer/" + aggregate
	store, err := w.eventStore(app)
	if err != nil {
		w.note("appender", aggregate, "%v", err)
		return
	}
	draw := chance(w.plan.Seed)
	w.sleep(draw.between(0, time.Second, "first append", aggregate))
	for i, write := range w.plan.Writes[aggregate] {
		w.sleepUntil(write.At)
		head := w.head(aggregate)
		events := make([]eventstore.NewEvent, write.Events)
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
				break
			}
			var conflict *eventstore.Conflict
			if errors.As(err, &conflict) {
				// Nobody else writes this aggregate.
				w.note("appender", aggregate, "appending after version %d: %v", head, err)
				return
			}
			w.sleep(draw.between(time.Second, 3*time.Second, "append again", aggregate, i, try))
		}
		w.mu.Lock()
		w.heads[aggregate] = head + write.Events
		w.mu.Unlock()
	}
}
