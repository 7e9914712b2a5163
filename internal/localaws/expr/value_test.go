package expr

import (
	"bytes"
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
)

func TestEqualValues(t *testing.T) {
	for _, c := range []struct {
		a, b event.Value
		want bool
	}{
		{event.Number("1"), event.Number("1.0"), true},
		{event.Number("1e2"), event.Number("100"), true},
		{event.Number("9007199254740993"), event.Number("9007199254740992"), false},
		{event.Number("1"), event.String("1"), false},
		{event.NumberSet{"1", "2"}, event.NumberSet{"2.0", "1"}, true},
		{event.NumberSet{"1", "2"}, event.NumberSet{"1"}, false},
		{event.StringSet{"1"}, event.NumberSet{"1"}, false},
		{event.StringSet{"a", "b"}, event.StringSet{"b", "a"}, true},
		{event.BinarySet{{1}, {2}}, event.BinarySet{{2}, {1}}, true},
		{event.List{event.Number("1"), event.Number("2")}, event.List{event.Number("2"), event.Number("1")}, false},
		{event.List{event.Map{"a": event.NumberSet{"1"}}}, event.List{event.Map{"a": event.NumberSet{"1.00"}}}, true},
		{event.Map{"a": event.Null{}}, event.Map{}, false},
		{event.List{}, event.Map{}, false},
		{event.Null{}, nil, false},
		{nil, event.List{}, false},
		{nil, nil, true},
	} {
		if EqualValues(c.a, c.b) != c.want || EqualValues(c.b, c.a) != c.want {
			t.Errorf("%v and %v: want %v", c.a, c.b, c.want)
		}
	}
}

func TestOrderIsThatOfBytesForTextAndBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		want := bytes.Compare(a, b)
		if got, ok := compare(event.Binary(a), event.Binary(b)); !ok || got != want {
			t.Fatalf("binaries %x, %x: %d", a, b, got)
		}
		if got, ok := compare(event.String(a), event.String(b)); !ok || got != want {
			t.Fatalf("texts %x, %x: %d", a, b, got)
		}
		if _, ok := compare(event.String(a), event.Binary(b)); ok {
			t.Fatal("a text and a binary have no order")
		}
	})
}

func TestNumbersAreComparedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		got, ok := compare(number64(int(a)), number64(int(b)))
		if !ok || got != cmp.Compare(a, b) {
			t.Fatalf("%d and %d: %d, %v", a, b, got, ok)
		}
	})
}

func TestNormalize(t *testing.T) {
	given := event.Map{
		"n": event.Number("1.50"), "l": event.List{event.Number("1e2"), event.Map{"x": event.Number("-0")}},
		"ns": event.NumberSet{"1.0", "02"}, "ss": event.StringSet{"", "a"}, "bs": event.BinarySet{{}, {1}},
		"b": event.Binary{}, "s": event.String(""), "t": event.Bool(false), "z": event.Null{},
	}
	before := event.Clone(given)
	want := event.Map{
		"n": event.Number("1.5"), "l": event.List{event.Number("100"), event.Map{"x": event.Number("0")}},
		"ns": event.NumberSet{"1", "2"}, "ss": event.StringSet{"", "a"}, "bs": event.BinarySet{{}, {1}},
		"b": event.Binary{}, "s": event.String(""), "t": event.Bool(false), "z": event.Null{},
	}
	got, err := Normalize(given)
	if err != nil || !event.Equal(got, want) {
		t.Fatalf("got %v, %v", got, err)
	}
	if !event.Equal(given, before) {
		t.Fatalf("the given value changed: %v", given)
	}
	if _, err := Normalize(nest(32)); err != nil {
		t.Errorf("32 levels: %v", err)
	}
}

func TestNormalizeRefuses(t *testing.T) {
	const parameters = "One or more parameter values were invalid: "
	for want, v := range map[string]event.Value{
		"The parameter cannot be converted to a numeric value: 1x":                              event.List{event.Number("1x")},
		"Attempting to store more than 38 significant digits in a Number":                       event.Number("123456789012345678901234567890123456789"),
		parameters + "An string set  may not be empty":                                          event.Map{"a": event.StringSet{}},
		parameters + "An number set  may not be empty":                                          event.NumberSet{},
		parameters + "Binary sets should not be empty":                                          event.BinarySet{},
		parameters + "Input collection [a, b, a] contains duplicates.":                          event.StringSet{"a", "b", "a"},
		parameters + "Input collection contains duplicates.":                                    event.NumberSet{"1", "1.0"},
		parameters + "Input collection [AQ==, AQ==]of type BS contains duplicates.":             event.BinarySet{{1}, {1}},
		"The parameter cannot be converted to a numeric value: ten":                             event.NumberSet{"1", "ten"},
		"Supplied AttributeValue is empty, must contain exactly one of the supported datatypes": event.List{nil},
		tooDeep: nest(33),
	} {
		got, err := Normalize(v)
		checkMessage(t, want, err, want)
		if got != nil && err == nil {
			t.Errorf("%s: got %v", want, got)
		}
	}
}
