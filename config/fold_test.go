package config_test

import (
	"testing"

	"millrace/config"
	"millrace/event"
	"millrace/projection"
)

// TestFoldFile: what the file says is what the fold does.
func TestFoldFile(t *testing.T) {
	f, err := config.LoadFold("testdata/good/fold.yaml", environment)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Projection()
	if err != nil {
		t.Fatal(err)
	}
	made := func(v uint64, kind string, item event.Item) event.Event {
		item["type"] = event.String(kind)
		return event.Event{Aggregate: "a", Version: v, Image: event.Decoded(item), Layout: event.Orders()}
	}
	placed := made(1, "Placed", event.Item{"amount": event.Number("3.50"), "customer": event.String("Ada")})
	for name, tc := range map[string]struct {
		events []event.Event
		want   event.Item
	}{
		"set":     {[]event.Event{placed}, event.Item{"total": event.Number("3.5"), "customer": event.String("Ada")}},
		"ignored": {[]event.Event{made(1, "Viewed", event.Item{})}, event.Item{}},
		"removed": {[]event.Event{placed, made(2, "Cancelled", event.Item{})}, event.Item{"total": event.Number("3.5")}},
		"deleted": {[]event.Event{placed, made(2, "Purged", event.Item{})}, event.Item{projection.DeletedAt: event.Null{}}},
	} {
		got, err := projection.Replay(p, tc.events)
		if err != nil || !event.Equal(event.Map(got), event.Map(tc.want)) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
	if _, err := projection.Replay(p, []event.Event{made(1, "Cancelled", event.Item{})}); event.ClassOf(err) != event.Permanent {
		t.Errorf("what is required does not hold, and it says %v", err)
	}
}
