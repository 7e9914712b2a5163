package dynamodb_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/dynamodb"
	"millrace/internal/localaws"
)

// strayed is a record that the layout refuses.
func strayed(id string, item event.Item) failure.Unroutable {
	key := event.Item{"pk": event.String("order-7"), "sk": event.String("profile")}
	r := event.Record{ID: id, Change: event.Insert, Sequence: "100", Created: time.Unix(1_700_000_000, 0).UTC(), Keys: key, New: event.Decoded(item)}
	return failure.NewUnroutable("g", failure.Source{Table: "orders-events", Label: "l", Shard: "s"}, &r, errors.New("no"), time.Unix(1_700_000_001, 0).UTC())
}

// standing demands one row and so many promises.
func standing(t *testing.T, s *dynamodb.Store, rows, promises int) {
	t.Helper()
	records, foreign, err := s.Unroutables(t.Context(), "g", "orders-events")
	if err != nil || len(records) != rows || len(foreign) != 0 {
		t.Errorf("there are %d rows, %d unreadable, %v; want %d", len(records), len(foreign), err, rows)
	}
	if list, err := s.Promises(t.Context(), dynamodb.EverySink("g", "orders-events")); err != nil || len(list) != promises {
		t.Errorf("there are %d promises, %v; want %d", len(list), err, promises)
	}
}

// TestH22_EveryFaultOfItsWrite: whatever goes wrong with the write of a record,
// the same again leaves one row and one promise.
func TestH22_EveryFaultOfItsWrite(t *testing.T) {
	for name, do := range map[string]localaws.Action{
		"throttled": localaws.Throttle, "failed before": localaws.FailBefore, "failed after": localaws.FailAfter,
		"answer lost": localaws.LoseAnswer, "conflict": localaws.Conflict,
	} {
		t.Run(name, func(t *testing.T) {
			engine, s := open(t)
			defer engine.Inject(localaws.Fault{Do: do, Times: 1, Match: func(c localaws.Call) bool { return c.Operation == "TransactWriteItems" }})()
			u := strayed("e1", event.Item{"pk": event.String("order-7")})
			if err := s.PutUnroutable(t.Context(), u); event.ClassOf(err) != event.Transient {
				t.Fatalf("it gave %v", err)
			}
			u.Cause.First = u.Cause.First.Add(time.Minute) // another reader, after a crash
			if err := s.PutUnroutable(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			standing(t, s, 1, 1)
		})
	}
}

// TestH22_ToldIsNotPromisedAgain: a record that is read again after its letter
// went out gets no second one.
func TestH22_ToldIsNotPromisedAgain(t *testing.T) {
	_, s := open(t)
	u := strayed("e1", nil)
	for range 2 {
		if err := s.PutUnroutable(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		standing(t, s, 1, 1)
	}
	if err := s.ToldUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if err := s.Kept(t.Context(), failure.Promise{Key: u.RowKey(), Outbox: failure.Outbox{BlockID: u.ID}}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	standing(t, s, 1, 0)
	if got, err := s.Unroutable(t.Context(), "g", "orders-events", "e1"); err != nil || got == nil || got.Notified != "e1" {
		t.Errorf("the row is %+v, %v", got, err)
	}
}

// TestH22_Ended: an end takes row and promise, may be repeated, and nothing
// that is late brings the row back.
func TestH22_Ended(t *testing.T) {
	_, s := open(t)
	u := strayed("e1", nil)
	if err := s.PutUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.EndUnroutable(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if err := s.ToldUnroutable(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		standing(t, s, 0, 0)
	}
}

// TestH22_TheLargestRow: what a row carries inline fits into an item of the
// control table, and its largest letter as well.
func TestH22_TheLargestRow(t *testing.T) {
	_, s := open(t)
	nested := event.Value(event.String("x"))
	for range 28 {
		nested = event.List{nested}
	}
	u := strayed("e1", event.Item{"text": event.String(strings.Repeat("x", failure.InlineImage-600)), "list": nested})
	if u.Record.Item == nil {
		t.Fatal("it is left out")
	}
	if err := s.PutUnroutable(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	got, err := s.Unroutable(t.Context(), "g", "orders-events", "e1")
	if err != nil || !got.Record.Item.Equal(u.Record.Item) {
		t.Errorf("it came back with %d bytes, %v", got.Record.Bytes, err)
	}
}
