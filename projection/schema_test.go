package projection_test

import (
	"testing"

	"millrace/event"
	"millrace/projection"
)

// TestSchemaVersions: an event of a shape that the fold does not know is refused
// by a class of its own, whatever its type says; one that is ignored is not.
func TestSchemaVersions(t *testing.T) {
	for _, tc := range []struct {
		knows   uint64
		shape   string
		kind    string
		refused bool
	}{
		{0, "", "Paid", false},
		{0, "1", "Paid", false},
		{0, "2", "Paid", true},
		{2, "2", "Paid", false},
		{2, "3", "Paid", true},
		{2, "3", "Seen", false},
	} {
		p, err := projection.New(projection.Fold[int]{
			Apply:  func(n int, _ event.Event) (int, error) { return n + 1, nil },
			Encode: func(int) (event.Item, error) { return event.Item{}, nil },
			Decode: func(event.Item) (int, error) { return 0, nil },
			Ignore: []string{"Seen"}, Schema: tc.knows,
		})
		if err != nil {
			t.Fatal(err)
		}
		item := event.Item{"type": event.String(tc.kind)}
		if tc.shape != "" {
			item["schemaVersion"] = event.Number(tc.shape)
		}
		_, err = projection.Replay(p, []event.Event{{Aggregate: "a", Version: 1, Layout: event.Maintenance(), Image: event.Decoded(item)}})
		if refused := event.ClassOf(err) == event.Schema; refused != tc.refused || !refused && err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
