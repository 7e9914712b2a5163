package watermill_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"millrace/event"
	"millrace/sinks/watermill"
)

// TestAMessage shows all that a consumer gets.
func TestAMessage(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(func(o *watermill.Options) { o.Topic = "orders.{type}.{aggregate}" }), run("order#1", 0, 2), 2)
	got := b.log[1]
	const id = "f9049ad0-f931-8598-8506-9f7a8e90ecfc"
	want := delivery{
		Topic: "orders.Noted.order#1", ID: id, Aggregate: "order#1", Version: 2,
		Payload: `{"createdAt":"2026-01-01T00:00:02Z","pk":"order#1","sk":"000000000002","type":"Noted"}`,
		Metadata: message.Metadata{
			"schema": "millrace.event/v1", "eventId": id, "aggregate": "order#1",
			"version": "2", "eventType": "Noted", "table": "orders-events",
		},
	}
	if !maps.Equal(got.Metadata, want.Metadata) {
		t.Errorf("metadata %v, want %v", got.Metadata, want.Metadata)
	}
	got.Metadata, want.Metadata = nil, nil
	if got.Topic != want.Topic || got.ID != want.ID || got.Payload != want.Payload {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestEventIDsAreOneEventsAlone, and UUIDs of the version that they claim.
func TestEventIDsAreOneEventsAlone(t *testing.T) {
	type name struct {
		table, aggregate string
		version          uint64
	}
	draw := rapid.Custom(func(t *rapid.T) name {
		return name{
			rapid.StringMatching(`[a-c0-9._-]{1,4}`).Draw(t, "table"),
			rapid.StringMatching(`[0-3/|#]{1,4}`).Draw(t, "aggregate"),
			rapid.Uint64Range(1, 40).Draw(t, "version"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		idA, idB := watermill.EventID(a.table, a.aggregate, a.version), watermill.EventID(b.table, b.aggregate, b.version)
		if (a == b) != (idA == idB) {
			t.Fatalf("%+v is %s, %+v is %s", a, idA, b, idB)
		}
		if u, err := uuid.Parse(idA); err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 || len(idA) != 36 {
			t.Fatalf("%q is no UUID of version 8: %v", idA, err)
		}
	})
}

// TestAnEventWithoutATypeHasNoPlaceInATopicOfTypes, and needs none elsewhere.
func TestAnEventWithoutATypeHasNoPlaceInATopicOfTypes(t *testing.T) {
	layout := *event.Orders()
	layout.Type = ""
	r := run("a", 0, 1)
	r.Events[0].Layout = &layout
	b := newBench(t)
	b.fails(b.sink(func(o *watermill.Options) { o.Topic = "orders.{type}" }), r, 0, event.Permanent)
	b.must(b.sink(), r, 1)
	if _, found := b.log[0].Metadata[watermill.MetadataEventType]; found {
		t.Errorf("metadata %v names a type", b.log[0].Metadata)
	}
}

// TestTopicsAreFilledInOnce: an id that looks like a placeholder stays.
func TestTopicsAreFilledInOnce(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(func(o *watermill.Options) { o.Topic = "t.{aggregate}.{type}" }), run("{type}", 0, 1), 1)
	if got := b.log[0].Topic; got != "t.{type}.Noted" {
		t.Errorf("topic %q", got)
	}
}

func TestJSON(t *testing.T) {
	for _, tc := range []struct {
		value event.Value
		want  string
	}{
		{event.String("a\"ü"), `"a\"ü"`},
		{event.Number("12345678901234567890123456789012345678"), `12345678901234567890123456789012345678`},
		{event.Number("-1.5E-7"), `-1.5E-7`},
		{event.Binary("abc"), `"YWJj"`},
		{event.Binary(nil), `""`},
		{event.Bool(true), `true`},
		{event.Null{}, `null`},
		{event.List{event.Number("1"), event.Map{"b": event.Null{}, "a": event.List{}}}, `[1,{"a":[],"b":null}]`},
		{event.Map{}, `{}`},
		{event.StringSet{"b", "a"}, `["a","b"]`},
		{event.NumberSet{"20", "1"}, `[1,20]`},
		{event.BinarySet{[]byte("b"), []byte("a")}, `["YQ==","Yg=="]`},
	} {
		got, err := watermill.JSON(event.Event{Image: event.Decoded(event.Item{"v": tc.value})})
		if want := `{"v":` + tc.want + `}`; err != nil || string(got) != want {
			t.Errorf("%#v: %s, %v, want %s", tc.value, got, err, want)
		}
	}
}

// TestWhatIsNoEventIsNotSent: a payload that says null would look like one.
func TestWhatIsNoEventIsNotSent(t *testing.T) {
	for name, image := range map[string]event.Image{
		"no item":   {},
		"no number": event.Decoded(event.Item{"n": event.Number("NaN")}),
	} {
		b := newBench(t)
		r := run("a", 0, 1)
		r.Events[0].Image = image
		if err := b.fails(b.sink(), r, 0, event.Permanent).Err; !strings.Contains(err.Error(), "making a message") {
			t.Errorf("%s: %v", name, err)
		}
		b.sent("a")
	}
}
