package eventstore

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace/event"
)

// TestItemBytes counts by the Developer Guide's rules, "DynamoDB item sizes
// and formats", one rule a line.
func TestItemBytes(t *testing.T) {
	for _, tc := range []struct {
		name string
		item event.Item
		want int
	}{
		{"nothing", event.Item{}, 0},
		{"text", event.Item{"name": event.String("text")}, 4 + 4},
		{"empty text", event.Item{"name": event.String("")}, 4},
		{"text beyond ASCII is counted in UTF-8", event.Item{"näme": event.String("€")}, 5 + 3},
		{"binary is counted raw", event.Item{"b": event.Binary(make([]byte, 30))}, 1 + 30},
		{"zero", event.Item{"n": event.Number("0")}, 1 + 1},
		{"one digit", event.Item{"n": event.Number("7")}, 1 + 2},
		{"two digits", event.Item{"n": event.Number("27")}, 1 + 2},
		{"three digits", event.Item{"n": event.Number("127")}, 1 + 3},
		{"trailing zeros do not count", event.Item{"n": event.Number("1000000")}, 1 + 2},
		{"leading zeros do not count", event.Item{"n": event.Number("0.00005")}, 1 + 2},
		{"zeros between count", event.Item{"n": event.Number("-10.01")}, 1 + 3},
		{"38 digits", event.Item{"n": event.Number(strings.Repeat("9", 38))}, 1 + 20},
		{"null", event.Item{"x": event.Null{}}, 1 + 1},
		{"bool", event.Item{"x": event.Bool(false)}, 1 + 1},
		{"empty list", event.Item{"l": event.List{}}, 1 + 3},
		{"empty map", event.Item{"m": event.Map{}}, 1 + 3},
		{"list", event.Item{"l": event.List{event.String("ab"), event.Number("7")}}, 1 + 3 + (1 + 2) + (1 + 2)},
		{"map", event.Item{"m": event.Map{"key": event.String("ab")}}, 1 + 3 + (1 + 3 + 2)},
		{"nested", event.Item{"m": event.Map{"l": event.List{event.Map{}}}}, 1 + 3 + (1 + 1 + 3) + (1 + 3)},
		{"set of texts", event.Item{"s": event.StringSet{"a", "bcd"}}, 1 + 1 + 3},
		{"set of numbers", event.Item{"s": event.NumberSet{"1", "123"}}, 1 + 2 + 3},
		{"set of binaries", event.Item{"s": event.BinarySet{{1}, {1, 2}}}, 1 + 1 + 2},
		{"several attributes", event.Item{"pk": event.String("42"), "sk": event.String("000000000001")}, 2 + 2 + 2 + 12},
	} {
		if got := ItemBytes(tc.item); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", tc.name, got, tc.want)
		}
	}
}

// sized is an event whose item has exactly that many bytes at aggregate "42".
func sized(t *testing.T, s *Store, bytes int) NewEvent {
	t.Helper()
	e := placed("1")
	e.Command = "command-1"
	e.Attributes["fill"] = event.String("")
	p, err := s.plan("42", 0, []NewEvent{e})
	if err != nil {
		t.Fatal(err)
	}
	e.Attributes["fill"] = event.String(strings.Repeat("x", bytes-ItemBytes(p.items[0])))
	return e
}

// TestLimitsAreCheckedBeforeAnyCall: at the limit the call is made, one above
// it is not, and the error says what is wrong and what to do.
func TestLimitsAreCheckedBeforeAnyCall(t *testing.T) {
	s, _ := scripted(t, Budget{})
	nested := func(levels int) NewEvent {
		v := event.Value(event.String("deep"))
		for range levels {
			v = event.List{v}
		}
		return NewEvent{Type: "Deep", Time: noon, Attributes: event.Item{"payload": v}}
	}
	// Ten items of one size and one that fills the transaction up.
	const share = 380 << 10
	transaction := append(slices.Repeat([]NewEvent{sized(t, s, share)}, 10), sized(t, s, MaxTransactionBytes-10*share))
	for _, tc := range []struct {
		name      string
		aggregate string
		expected  uint64
		events    []NewEvent
		limit     string // "" when it is kept
		found     uint64
	}{
		{name: "largest item", events: []NewEvent{sized(t, s, 409600)}},
		{name: "one byte more", events: []NewEvent{sized(t, s, 409601)}, limit: "the item", found: 409601},
		{name: "too large among others", events: []NewEvent{sized(t, s, 300), sized(t, s, 500000)}, limit: "the item", found: 500000},
		{name: "100 events", events: slices.Repeat([]NewEvent{placed("1")}, 100)},
		{name: "101 events", events: slices.Repeat([]NewEvent{placed("1")}, 101), limit: "the append", found: 101},
		{name: "4 MB", events: transaction},
		{name: "4 MB and a byte", events: append(slices.Clone(transaction[:10]), sized(t, s, MaxTransactionBytes-10*share+1)), limit: "the transaction", found: 4<<20 + 1},
		{name: "last version", expected: 999_999_999_998, events: []NewEvent{placed("1")}},
		{name: "digits exhausted", expected: 999_999_999_999, events: []NewEvent{placed("1")}, limit: "the version", found: 1_000_000_000_000},
		{name: "digits exhausted by the second", expected: 999_999_999_998, events: []NewEvent{placed("1"), placed("2")}, limit: "the version", found: 1_000_000_000_000},
		{name: "version beyond 64 bits", expected: math.MaxUint64, events: []NewEvent{placed("1")}, limit: "the version"},
		{name: "longest id", aggregate: strings.Repeat("a", 2048), events: []NewEvent{placed("1")}},
		{name: "id too long", aggregate: strings.Repeat("a", 2049), events: []NewEvent{placed("1")}, limit: "the aggregate's id", found: 2049},
		{name: "32 levels", events: []NewEvent{nested(32)}},
		{name: "33 levels", events: []NewEvent{nested(33)}, limit: "the nesting", found: 33},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.aggregate == "" {
				tc.aggregate = "42"
			}
			if tc.limit == "" {
				s, _ := scripted(t, Budget{}, success)
				if _, err := s.Append(t.Context(), tc.aggregate, tc.expected, tc.events...); err != nil {
					t.Fatal(err)
				}
				return
			}
			s, w := scripted(t, Budget{})
			_, err := s.Append(t.Context(), tc.aggregate, tc.expected, tc.events...)
			if len(w.sent) != 0 {
				t.Error("a call was made")
			}
			if event.ClassOf(err) != event.Permanent {
				t.Fatalf("class %v: %v", event.ClassOf(err), err)
			}
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Limit != tc.limit || limit.Advice == "" || limit.Max == 0 {
				t.Fatalf("got %v", err)
			}
			if tc.found != 0 && limit.Found != tc.found {
				t.Errorf("found %d, want %d", limit.Found, tc.found)
			}
		})
	}
}

// TestWhatAnEventMustHave: what could not be read back is not written.
func TestWhatAnEventMustHave(t *testing.T) {
	with := func(change func(*NewEvent)) NewEvent {
		e := placed("1")
		change(&e)
		return e
	}
	for _, tc := range []struct {
		name      string
		aggregate string
		e         NewEvent
		says      string
	}{
		{"aggregate", "", placed("1"), "id is empty"},
		{"type", "42", with(func(e *NewEvent) { e.Type = "" }), "no type"},
		{"time", "42", NewEvent{Type: "Placed"}, "no time"},
		{"numbers", "42", placed("twelve"), "twelve"},
		{"39 digits", "42", placed(strings.Repeat("9", 39)), "38 significant digits"},
		{"number in a set", "42", with(func(e *NewEvent) { e.Attributes = event.Item{"s": event.NumberSet{"1", "x"}} }), `"s"`},
		{"values", "42", with(func(e *NewEvent) { e.Attributes = event.Item{"l": event.List{nil}} }), "no value"},
		{"a key of its own", "42", with(func(e *NewEvent) { e.Attributes = event.Item{"sk": event.String("x")} }), `"sk" belongs`},
		{"a command of its own", "42", with(func(e *NewEvent) { e.Attributes = event.Item{"commandId": event.String("x")} }), `"commandId" belongs`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, w := scripted(t, Budget{})
			_, err := s.Append(t.Context(), tc.aggregate, 0, tc.e)
			if err == nil || !strings.Contains(err.Error(), tc.says) || event.ClassOf(err) != event.Permanent {
				t.Errorf("got %v, want a text with %s", err, tc.says)
			}
			if len(w.sent) != 0 {
				t.Error("a call was made")
			}
		})
	}
}
