package event

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func anyValue(depth int) *rapid.Generator[Value] {
	scalars := []*rapid.Generator[Value]{
		rapid.Map(rapid.String(), func(s string) Value { return String(strings.ToValidUTF8(s, "")) }),
		rapid.Map(rapid.StringMatching(`-?[1-9][0-9]{0,37}`), func(s string) Value { return Number(s) }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) Value { return Binary(b) }),
		rapid.Map(rapid.Bool(), func(b bool) Value { return Bool(b) }),
		rapid.Just[Value](Null{}),
		rapid.Map(rapid.SliceOfNDistinct(rapid.StringN(1, 4, -1), 1, 4, rapid.ID), func(s []string) Value { return StringSet(s) }),
		rapid.Map(rapid.SliceOfNDistinct(rapid.StringMatching(`[1-9][0-9]{0,5}`), 1, 4, rapid.ID), func(s []string) Value { return NumberSet(s) }),
		rapid.Map(rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 4), func(b [][]byte) Value { return BinarySet(b) }),
	}
	if depth > 0 {
		inner := anyValue(depth - 1)
		scalars = append(scalars,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []Value) Value { return List(l) }),
			rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 4), func(m map[string]Value) Value { return Map(m) }))
	}
	return rapid.OneOf(scalars...)
}

func TestItemSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := Item(rapid.MapOfN(rapid.String(), anyValue(3), 0, 5).Draw(t, "item"))
		data, err := item.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back Item
		if err := back.UnmarshalJSON(data); err != nil {
			t.Fatalf("reading %s: %v", data, err)
		}
		if !item.Equal(back) {
			t.Fatalf("stored %v, got back %v", item, back)
		}
	})
}

func TestCloneSharesNothing(t *testing.T) {
	original := Map{"b": Binary("abc"), "l": List{Binary("x")}, "ss": StringSet{"a"}, "bs": BinarySet{[]byte("y")}}
	cloned := Clone(original).(Map)
	cloned["b"].(Binary)[0] = 'z'
	cloned["l"].(List)[0].(Binary)[0] = 'z'
	cloned["ss"].(StringSet)[0] = "z"
	cloned["bs"].(BinarySet)[0][0] = 'z'
	want := Map{"b": Binary("abc"), "l": List{Binary("x")}, "ss": StringSet{"a"}, "bs": BinarySet{[]byte("y")}}
	if !Equal(original, want) {
		t.Fatalf("the original changed with its clone: %v", original)
	}
}
