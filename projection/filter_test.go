package projection_test

import (
	"errors"
	"testing"

	"millrace/event"
	"millrace/projection"
)

// TestFilter: what does not pass has no effect, and what the filter cannot
// judge is permanent.
func TestFilter(t *testing.T) {
	p := projection.Filter(accounts(t), func(e event.Event) (bool, error) {
		kind, err := e.Type()
		if kind == "Odd" {
			return false, errors.New("it has no answer")
		}
		return kind != "Skipped", err
	})
	paid := func(v uint64, kind string) event.Event {
		return event.Event{Aggregate: "a", Version: v, Layout: event.Orders(), Image: event.Decoded(event.Item{"type": event.String(kind), "amount": event.Number("5")})}
	}
	with, err := projection.Replay(p, []event.Event{paid(1, "Paid"), paid(2, "Skipped"), paid(3, "Paid")})
	if err != nil {
		t.Fatal(err)
	}
	without, err := projection.Replay(accounts(t), []event.Event{paid(1, "Paid"), paid(2, "Paid")})
	if err != nil || !with.Equal(without) {
		t.Errorf("%v, want %v, %v", with, without, err)
	}
	if _, err := projection.Replay(p, []event.Event{paid(1, "Odd")}); event.ClassOf(err) != event.Permanent {
		t.Errorf("an error of the filter: %v", err)
	}
}

// TestFilterThatPanics: it fails the event that it met, and takes down nobody.
func TestFilterThatPanics(t *testing.T) {
	state, err := projection.Filter(accounts(t), func(e event.Event) (bool, error) {
		if e.Version == 2 {
			panic("the filter has never seen this")
		}
		return true, nil
	}).Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	for v := range uint64(2) {
		e := event.Event{Aggregate: "a", Version: v + 1, Layout: event.Orders(), Image: event.Decoded(event.Item{"type": event.String("Paid"), "amount": event.Number("5")})}
		err = state.Apply(e)
		var panicked *event.Panic
		if failed := v == 1; failed != errors.As(err, &panicked) || failed && event.ClassOf(err) != event.Permanent {
			t.Errorf("version %d gave %v", e.Version, err)
		}
	}
}
