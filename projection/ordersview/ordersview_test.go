package ordersview_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/projection"
	"millrace/projection/ordersview"
)

func view(t *testing.T) projection.Projection {
	t.Helper()
	p, err := ordersview.Projection()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func made(version uint64, kind string, attributes event.Item) event.Event {
	item := event.Item{"type": event.String(kind)}
	for name, v := range attributes {
		item[name] = v
	}
	return event.Event{Aggregate: "order-1", Version: version, Image: event.Decoded(item), Layout: event.Orders()}
}

func placed(version uint64, amount string) event.Event {
	return made(version, ordersview.OrderPlaced, event.Item{"customer": event.String("Ada"), "amount": event.Number(amount)})
}

func added(version uint64, amount string) event.Event {
	return made(version, ordersview.ItemAdded, event.Item{"amount": event.Number(amount)})
}

func TestTotalsAreExact(t *testing.T) {
	got, err := projection.Replay(view(t), []event.Event{
		placed(1, "0.1"), added(2, "0.2"), added(3, "12345678901234567890123456789012345.678"),
		made(4, ordersview.OrderPaid, nil), made(5, ordersview.OrderShipped, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range (event.Item{
		ordersview.Status: event.String("shipped"), ordersview.Customer: event.String("Ada"),
		ordersview.Total: event.Number("12345678901234567890123456789012345.978"), ordersview.Events: event.Number("5"),
	}) {
		if !event.Equal(got[name], want) {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func TestWhatAnOrderRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    event.Event
		text string
	}{
		{"an unknown type", made(2, "OrderEaten", nil), "OrderEaten"},
		{"no amount", made(2, ordersview.ItemAdded, nil), "amount"},
		{"an amount that is none", added(2, "many"), "amount"},
		{"an amount that does not fit", added(2, "0.0000000000000000000000000000000000000000001"), "amount"},
		{"no customer", made(2, ordersview.OrderPlaced, event.Item{"amount": event.Number("1")}), "customer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := projection.Replay(view(t), []event.Event{placed(1, "123"), tc.e})
			if event.ClassOf(err) != event.Permanent || !strings.Contains(fmt.Sprint(err), tc.text) {
				t.Errorf("got %v, want a permanent error about %s", err, tc.text)
			}
		})
	}
}

// TestTheDigestShowsEveryFaultOfOrder: a history with an event doubled, left
// out or moved never ends in the same item.
func TestTheDigestShowsEveryFaultOfOrder(t *testing.T) {
	p := view(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(t, "events")
		var events []event.Event
		for v := range n {
			events = append(events, placed(uint64(v+1), "1"))
		}
		right, err := projection.Replay(p, events)
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, n-2).Draw(t, "at")
		wrong := slices.Clone(events)
		fault := rapid.SampledFrom([]string{"doubled", "left out", "moved"}).Draw(t, "fault")
		switch fault {
		case "doubled":
			wrong = slices.Insert(wrong, i, wrong[i])
		case "left out":
			wrong = slices.Delete(wrong, i, i+1)
		case "moved":
			wrong[i], wrong[i+1] = wrong[i+1], wrong[i]
		}
		got, err := projection.Replay(p, wrong)
		if err != nil {
			t.Fatal(err)
		}
		if event.Equal(got[ordersview.Digest], right[ordersview.Digest]) {
			t.Fatalf("version %d %s and the digest is the same", i+1, fault)
		}
	})
}

// TestBeforeGiftsIsTheSameFoldButForGifts: what an earlier release wrote is
// what this one goes on from.
func TestBeforeGiftsIsTheSameFoldButForGifts(t *testing.T) {
	before, err := ordersview.BeforeGifts()
	if err != nil {
		t.Fatal(err)
	}
	history := []event.Event{placed(1, "10"), added(2, "1.50")}
	a, errA := projection.Replay(before, history)
	b, errB := projection.Replay(view(t), history)
	if errA != nil || errB != nil || !a.Equal(b) {
		t.Fatalf("%v (%v) and %v (%v)", a, errA, b, errB)
	}
	gift := made(3, ordersview.GiftWrapped, event.Item{"amount": event.Number("2.00")})
	if _, err := projection.Replay(before, append(history, gift)); event.ClassOf(err) != event.Permanent {
		t.Errorf("an earlier release took a gift: %v", err)
	}
	after, err := projection.Replay(view(t), append(history, gift))
	if err != nil || !event.Equal(after[ordersview.Total], event.Number("13.5")) {
		t.Errorf("with the gift it is %v, %v", after, err)
	}
}
