package cel_test

import (
	"maps"
	"strings"
	"testing"

	"millrace/event"
	"millrace/projection"
	"millrace/projection/cel"
)

func orders() cel.Rules {
	return cel.Rules{
		Initial: map[string]string{"total": "0", "items": "0"},
		Ignore:  []string{"Viewed"},
		On: []cel.Rule{
			{Type: "Placed", Set: map[string]string{"customer": "event.customer", "total": "event.amount", "status": `"placed"`}},
			{Type: "Added", Require: `state.status == "placed"`, Set: map[string]string{"total": "state.total + event.amount", "items": "state.items + 1", "tags": "event.tags"}},
			{Type: "Untagged", Remove: []string{"tags"}},
			{Type: "Purged", Delete: true},
		},
	}
}

func made(v uint64, kind string, attributes event.Item) event.Event {
	item := event.Item{"type": event.String(kind)}
	maps.Copy(item, attributes)
	return event.Event{Aggregate: "order-1", Version: v, Image: event.Decoded(item), Layout: event.Orders()}
}

func fold(t *testing.T, r cel.Rules, events ...event.Event) (event.Item, error) {
	t.Helper()
	p, err := cel.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return projection.Replay(p, events)
}

func TestFold(t *testing.T) {
	placed := made(1, "Placed", event.Item{"customer": event.String("Ada"), "amount": event.Number("19.90")})
	tags := event.StringSet{"a", "b"}
	added := made(2, "Added", event.Item{"amount": event.Number("0.10"), "tags": tags})
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   event.Item
		err    string
	}{
		{"one", []event.Event{placed}, event.Item{"customer": event.String("Ada"), "total": event.Number("19.9"), "items": event.Number("0"), "status": event.String("placed")}, ""},
		{"two", []event.Event{placed, added}, event.Item{"customer": event.String("Ada"), "total": event.Number("20"), "items": event.Number("1"), "status": event.String("placed"), "tags": tags}, ""},
		{"ignored", []event.Event{placed, made(2, "Viewed", nil)}, event.Item{"customer": event.String("Ada"), "total": event.Number("19.9"), "items": event.Number("0"), "status": event.String("placed")}, ""},
		{"removed", []event.Event{placed, added, made(3, "Untagged", nil)}, event.Item{"customer": event.String("Ada"), "total": event.Number("20"), "items": event.Number("1"), "status": event.String("placed")}, ""},
		{"deleted", []event.Event{placed, made(2, "Purged", event.Item{"createdAt": event.String("2026-01-02T03:04:05Z")})}, event.Item{"deletedAt": event.String("2026-01-02T03:04:05Z")}, ""},
		{"unknown type", []event.Event{placed, made(2, "Gifted", nil)}, nil, `event type "Gifted" is unknown`},
		{"a missing attribute", []event.Event{made(1, "Placed", event.Item{"customer": event.String("Ada")})}, nil, "rule on.Placed.set.total: no such key: amount"},
		{"text for a number", []event.Event{placed, made(2, "Added", event.Item{"amount": event.String("x")})}, nil, "rule on.Added.set."},
		{"a requirement", []event.Event{made(1, "Added", event.Item{"amount": event.Number("1")})}, nil, "rule on.Added.require"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := fold(t, orders(), tc.events...)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || event.ClassOf(err) != event.Permanent {
					t.Fatalf("it says %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || !event.Equal(event.Map(got), event.Map(tc.want)) {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestNumbersAreExact: each expression over the numbers a and b.
func TestNumbersAreExact(t *testing.T) {
	for _, tc := range []struct{ expression, a, b, want string }{
		{"event.a + event.b", "0.1", "0.2", "0.3"},
		{"event.a + event.b", "9223372036854775807", "1", "9223372036854775808"},
		{"event.a - event.b", "-9223372036854775808", "1", "-9223372036854775809"},
		{"event.a * event.b", "9223372036854775807", "10", "92233720368547758070"},
		{"event.a * event.b", "1.5", "1.5", "2.25"},
		{"event.a / event.b", "1", "8", "0.125"},
		{"event.a / event.b", "1", "3", "no exact value"},
		{"event.a / event.b", "7", "2", "3.5"},
		{"event.a / event.b", "7", "0", "division by zero"},
		{"event.a + event.b", "99999999999999999999999999999999999999", "0.1", "38 significant digits"},
		{"-event.a + event.b", "0.5", "1", "0.5"},
		{"event.a + 0.1", "0.2", "0", "0.3"},
		{"0.1 + event.a", "0.2", "0", "0.3"},
		{"decimal(\"0.1\") + event.a", "1", "0", "1.1"},
		{"event.a % event.b", "7", "4", "3"},
		{"event.a < event.b ? 1 : 2", "0.1", "1", "1"},
		{"event.a == event.b ? 1 : 2", "1.0", "1", "1"},
		{"event.a != event.b ? 1 : 2", "1.1", "1", "1"},
		{"event.a >= 2.5 ? 1 : 2", "2.5", "0", "1"},
		{"event.b in [event.a, 2] ? 1 : 2", "1", "1.0", "1"},
		{"[event.a, event.b].exists(n, n + decimal(\"1\") == 1.5) ? 1 : 2", "0.5", "7", "1"},
		{"(event.a + 1) * decimal(\"0.5\")", "1", "0", "1"},
		{"double(event.a)", "1", "0", "floating-point"},
		{"string(event.a) == \"0.5\" ? 1 : 2", "0.50", "0", "1"},
		{"event.a", "99999999999999999999999999999999999999", "0", "99999999999999999999999999999999999999"},
	} {
		t.Run(tc.expression+" "+tc.a+" "+tc.b, func(t *testing.T) {
			got, err := fold(t, cel.Rules{On: []cel.Rule{{Type: "N", Set: map[string]string{"r": tc.expression}}}},
				made(1, "N", event.Item{"a": event.Number(tc.a), "b": event.Number(tc.b)}))
			switch {
			case err != nil && !strings.Contains(err.Error(), tc.want):
				t.Errorf("it says %v, want %s", err, tc.want)
			case err == nil && got["r"] != event.Number(tc.want):
				t.Errorf("it is %v, want %s", got["r"], tc.want)
			}
		})
	}
}

// TestCompile: what is wrong is told at the start, each with its place.
func TestCompile(t *testing.T) {
	_, err := cel.New(cel.Rules{
		Initial: map[string]string{"x": "evnt.a"},
		Ignore:  []string{"Both"},
		On: []cel.Rule{
			{Type: "Both", Require: `"yes"`},
			{Type: "Broken", Set: map[string]string{"a": "1 +", "b": `1 + "x"`, "deletedAt": "1"}, Remove: []string{"a"}},
			{Type: "Gone", Delete: true, Remove: []string{"z"}},
		},
	})
	if err == nil {
		t.Fatal("it compiles")
	}
	for _, want := range []string{
		"initial.x: \"evnt.a\": undeclared reference to 'evnt'", "ignore: Both has a rule",
		"on.Both.require: \"\\\"yes\\\"\" gives string where it must give bool", "on.Broken.set.a: \"1 +\": Syntax error",
		"on.Broken.set.b", "column 3", "on: attribute deletedAt", "on.Broken.remove: a is set", "on.Gone.delete",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it lacks %q:\n%v", want, err)
		}
	}
}

// TestValuesComeBack: what an expression hands on is stored as it was.
func TestValuesComeBack(t *testing.T) {
	for name, v := range map[string]event.Value{
		"text": event.String("é"), "empty": event.String(""), "truth": event.Bool(true), "null": event.Null{}, "bytes": event.Binary{0, 1},
		"set": event.NumberSet{"1", "2.5"}, "bytes set": event.BinarySet{{1}}, "list": event.List{event.Number("1"), event.StringSet{"x"}},
		"map": event.Map{"a": event.Map{"b": event.Number("1E+30")}}, "empty list": event.List{}, "empty map": event.Map{},
	} {
		got, err := fold(t, cel.Rules{On: []cel.Rule{{Type: "N", Set: map[string]string{"r": "event.v", "nested": `{"in": [event.v]}`}}}}, made(1, "N", event.Item{"v": v}))
		if err != nil || !event.Equal(got["r"], v) || !event.Equal(got["nested"], event.Map{"in": event.List{v}}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestFilter: a filter sees the event, and an error of it is permanent.
func TestFilter(t *testing.T) {
	if _, err := cel.NewFilter("sinks[0].filter", "state.x == 1"); err == nil || !strings.Contains(err.Error(), "sinks[0].filter") {
		t.Errorf("a filter over state: %v", err)
	}
	f, err := cel.NewFilter("sinks[0].filter", `type == "Placed" && event.amount > 10.5 && version > 0`)
	if err != nil {
		t.Fatal(err)
	}
	for amount, want := range map[string]bool{"10.5": false, "10.51": true} {
		if got, err := f.Passes(made(1, "Placed", event.Item{"amount": event.Number(amount)})); got != want || err != nil {
			t.Errorf("%s: %v, %v", amount, got, err)
		}
	}
	if _, err := f.Passes(made(1, "Placed", nil)); event.ClassOf(err) != event.Permanent {
		t.Errorf("without the attribute: %v", err)
	}
}

func BenchmarkFold(b *testing.B) {
	p, err := cel.New(orders())
	if err != nil {
		b.Fatal(err)
	}
	state, err := p.Start(nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := state.Apply(made(1, "Placed", event.Item{"customer": event.String("Ada"), "amount": event.Number("19.90")})); err != nil {
		b.Fatal(err)
	}
	e := made(2, "Added", event.Item{"amount": event.Number("0.25"), "tags": event.StringSet{"a"}})
	b.ReportAllocs()
	for b.Loop() {
		if err := state.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
}
