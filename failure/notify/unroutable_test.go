package notify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace/event"
	"millrace/failure"
	store "millrace/failure/dynamodb"
	"millrace/failure/notify"
	"millrace/internal/localaws"
)

// whole is the outbox of a sink and of what concerns every sink.
type whole struct{ scoped }

func (w whole) Promises(ctx context.Context) ([]failure.Promise, error) {
	promises, err := w.scoped.Promises(ctx)
	if err != nil {
		return nil, err
	}
	more, err := w.Store.Promises(ctx, store.EverySink("g", "orders-events"))
	return append(promises, more...), err
}

// unroutable writes the row of a record of the profile of an order.
func unroutable(t *testing.T, s *store.Store, id string) failure.Unroutable {
	t.Helper()
	key := event.Item{"pk": event.String("order-7"), "sk": event.String("profile")}
	r := event.Record{ID: id, Change: event.Insert, Sequence: "100", Keys: key, New: event.Decoded(key)}
	u := failure.NewUnroutable("g", failure.Source{Table: "orders-events", Label: "l", Shard: "s"}, &r, errors.New("no"), time.Unix(1_700_000_000, 0))
	if err := s.PutUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestH22_LetterOfARecordWithoutAggregate: it is sent once, beside those of
// blocks, and the row says so. Killed between the queue and the row it is sent
// again under the same id; killed between the row and the outbox it is not.
func TestH22_LetterOfARecordWithoutAggregate(t *testing.T) {
	engine, s, q, n := setUp(t)
	n.Outbox, n.Unroutables = whole{scoped{s}}, s
	u := unroutable(t, s, "e1")
	block(t, s, "a", 3, "id-a")
	send(t, n, 2, 0)
	send(t, n, 0, 0)
	if l := q.accepted[1]; l.Sink != failure.EverySink || l.Aggregate != "" || l.Version != 0 || l.Cause.Class != "decode" || l.BlockID != "e1" || !l.Key.Equal(u.Key) || l.Record.Item == nil {
		t.Errorf("the letter is %+v", l)
	}
	if got, err := s.Unroutable(t.Context(), "g", "orders-events", "e1"); err != nil || got == nil || got.Notified != "e1" {
		t.Errorf("the row is %+v, %v", got, err)
	}

	for id, operation := range map[string]string{"e2": "UpdateItem", "e3": "DeleteItem"} {
		unroutable(t, s, id)
		remove := engine.Inject(localaws.Fault{Do: localaws.FailBefore, Times: 1, Match: func(c localaws.Call) bool { return c.Operation == operation }})
		before := len(q.accepted)
		send(t, n, 1, 0)
		remove()
		if operation == "UpdateItem" {
			send(t, n, 1, 0)
			if again := q.accepted[before:]; again[0].ID() != again[1].ID() {
				t.Errorf("one record has letters %s and %s", again[0].ID(), again[1].ID())
			}
		}
		send(t, n, 0, 0)
	}
	if left, err := n.Outbox.Promises(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%d rows are left in the outbox, %v", len(left), err)
	}
}

// TestH22_EndedBeforeItsLetter: a record that was brought in while its letter
// waited has nothing left to tell.
func TestH22_EndedBeforeItsLetter(t *testing.T) {
	_, s, q, n := setUp(t)
	n.Outbox, n.Unroutables = whole{scoped{s}}, s
	u := unroutable(t, s, "e1")
	q.down = errors.New("away")
	if unsent := send(t, n, 0, 1); !unsent.Oldest.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("the oldest is of %v", unsent.Oldest)
	}
	q.down, q.accepted = nil, nil
	if err := s.EndUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	send(t, n, 0, 0)
	if len(q.accepted) != 0 {
		t.Errorf("it was told all the same: %+v", q.accepted)
	}
}

// TestH22_SweptWhenItIsOver: the letter stays while the row does, and is left
// alone by whoever does not know of such rows, and under a changed address.
func TestH22_SweptWhenItIsOver(t *testing.T) {
	y := newYard(t, 0)
	n := &notify.Notifier{Outbox: whole{scoped{y.store}}, Events: events{}, Queue: onQueue(t, y.engine, nil), Build: "test", Unroutables: y.store}
	u := unroutable(t, y.store, "e1")
	send(t, n, 1, 0)
	y.sweeper.Hide = time.Millisecond
	y.sweep(notify.Swept{Received: 1, Foreign: 1})
	y.sweeper.Unroutables = y.store
	<-time.After(20 * time.Millisecond)
	y.sweep(notify.Swept{Received: 1, Kept: 1})
	if err := y.store.EndUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	<-time.After(20 * time.Millisecond)
	y.sweep(notify.Swept{Received: 1, Deleted: 1})
	letter := u.Letter("test", 0)
	letter.BlockID = "e2"
	body, err := letter.Body()
	if err != nil {
		t.Fatal(err)
	}
	y.put(string(body))
	y.sweep(notify.Swept{Received: 1, Foreign: 1})
}
