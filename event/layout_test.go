package event

import (
	"strings"
	"testing"
)

// TestLayoutsTellEventsFromTheRest: each kind of record, in every published
// layout.
func TestLayoutsTellEventsFromTheRest(t *testing.T) {
	const twelve = "000000000007"
	orders, bank, maintenance := Orders(), Bank(), Maintenance()
	kind := func(k string) Item { return Item{"kind": String(k)} }
	for _, tc := range []struct {
		name   string
		layout *Layout
		sort   Value
		item   Item // beside the keys
		change Change
		want   Verdict
		text   string // of the error
	}{
		{"orders: an event", orders, String(twelve), nil, Insert, IsEvent, ""},
		{"orders: overwritten", orders, String(twelve), nil, Modify, Violation, ""},
		{"orders: removed", orders, String(twelve), nil, Remove, Violation, ""},
		{"orders: too few digits", orders, String("7"), nil, Insert, Unroutable, "12"},
		{"orders: no digits", orders, String("00000000000x"), nil, Insert, Unroutable, "not a whole number"},
		{"orders: version 0", orders, String("000000000000"), nil, Insert, Unroutable, "start at 1"},
		{"orders: a number", orders, Number("7"), nil, Insert, Unroutable, "is a number"},
		{"bank: an event", bank, String("EVENT#" + twelve), nil, Insert, IsEvent, ""},
		{"bank: a snapshot", bank, String("SNAPSHOT"), nil, Insert, Filtered, ""},
		{"bank: the view changes", bank, String("VIEW"), nil, Modify, Filtered, ""},
		{"bank: the view is removed", bank, String("VIEW"), nil, Remove, Filtered, ""},
		{"bank: a malformed version", bank, String("EVENT#12"), nil, Insert, Unroutable, "12"},
		{"bank: removed by TTL", bank, String("EVENT#" + twelve), nil, Remove, Violation, ""},
		{"maintenance: an event", maintenance, String(twelve), kind("event"), Insert, IsEvent, ""},
		{"maintenance: the head", maintenance, String("stream-head"), kind("head"), Insert, Filtered, ""},
		{"maintenance: the head moves", maintenance, String("stream-head"), kind("head"), Modify, Filtered, ""},
		{"maintenance: another kind under a version", maintenance, String(twelve), kind("note"), Insert, Filtered, ""},
		{"maintenance: no kind", maintenance, String(twelve), nil, Insert, Filtered, ""},
		{"maintenance: overwritten", maintenance, String(twelve), kind("event"), Modify, Violation, ""},
		{"maintenance: a malformed version", maintenance, String("v7"), kind("event"), Insert, Unroutable, "12"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := Item{"pk": String("a"), "sk": tc.sort}
			for name, v := range tc.item {
				item[name] = v
			}
			r := Record{Keys: Item{"pk": String("a"), "sk": tc.sort}, Change: tc.change, New: Decoded(item), Old: Decoded(item)}
			if tc.change == Remove {
				r.New = Image{}
			}
			e, verdict, err := tc.layout.Route(&r)
			if verdict != tc.want || (err != nil) != (tc.text != "") || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Fatalf("it is %d, %v; want %d, %q", verdict, err, tc.want, tc.text)
			}
			if verdict == IsEvent && (e.Aggregate != "a" || e.Version != 7) {
				t.Errorf("the event is %+v", e)
			}
			if tc.change == Remove {
				return
			}
			_, isEvent, err := tc.layout.FromItem(item)
			if stored := tc.want == IsEvent || tc.want == Violation; isEvent != stored || (err != nil) != (tc.want == Unroutable) {
				t.Errorf("read from the store it is an event: %v, %v", isEvent, err)
			}
		})
	}
}

// TestSchemaVersion reads what an event says of its shape.
func TestSchemaVersion(t *testing.T) {
	for _, tc := range []struct {
		layout *Layout
		item   Item
		want   uint64
		fails  bool
	}{
		{Orders(), Item{"schemaVersion": Number("3")}, 1, false}, // the layout has none
		{Maintenance(), Item{}, 1, false},
		{Maintenance(), Item{"schemaVersion": Number("3")}, 3, false},
		{Maintenance(), Item{"schemaVersion": Number("0")}, 0, true},
		{Maintenance(), Item{"schemaVersion": Number("1.5")}, 0, true},
		{Maintenance(), Item{"schemaVersion": String("3")}, 0, true},
	} {
		got, err := Event{Image: Decoded(tc.item), Layout: tc.layout}.Schema()
		if got != tc.want || (err != nil) != tc.fails || err != nil && ClassOf(err) != Permanent {
			t.Errorf("%v: %d, %v", tc.item, got, err)
		}
	}
}
