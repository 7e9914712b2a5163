package localaws

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/internal/localaws/expr"
)

func anyPoint() *rapid.Generator[point] {
	return rapid.Custom(func(t *rapid.T) point {
		return pointOf(
			rapid.StringMatching(`[a-d|]{1,3}`).Draw(t, "partition"),
			rapid.StringMatching(`[a-d|]{0,2}`).Draw(t, "sort"))
	})
}

// TestKeyspaceIsAnOrderedMap compares the keyspace with a map through random
// writes, and its walks with the sorted keys.
func TestKeyspaceIsAnOrderedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k keyspace
		model := map[point]*row{}
		for range rapid.IntRange(0, 80).Draw(t, "writes") {
			p := anyPoint().Draw(t, "point")
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				k.remove(p)
				delete(model, p)
				continue
			}
			r := newRow(p.sort, event.Item{"pk": event.String(p.partition), "sk": event.String(p.sort)})
			k.put(p, r)
			model[p] = r
		}
		bytes := 0
		for p, r := range model {
			bytes += r.size
			if k.get(p) != r {
				t.Fatalf("row %v is not found", p)
			}
		}
		if k.rows != len(model) || k.bytes != bytes {
			t.Fatalf("%d rows of %d bytes, want %d of %d", k.rows, k.bytes, len(model), bytes)
		}
		if p := anyPoint().Draw(t, "other"); k.get(p) != model[p] {
			t.Fatalf("get %v: %v, want %v", p, k.get(p), model[p])
		}
		from := anyPoint().Draw(t, "from")
		last := rapid.SampledFrom([]uint64{^uint64(0), from.hash, anyPoint().Draw(t, "to").hash}).Draw(t, "last")
		var want, got []*row
		for _, p := range slices.SortedFunc(maps.Keys(model), point.compare) {
			if p.compare(from) >= 0 && p.hash <= last {
				want = append(want, model[p])
			}
		}
		k.walk(from, last, func(r *row) bool { got = append(got, r); return true })
		if !slices.Equal(got, want) {
			t.Fatalf("walk from %v to %x: %d rows, want %d", from, last, len(got), len(want))
		}
	})
}

func TestSegmentsTileTheHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint64Range(1, 1_000_000).Draw(t, "total")
		i := rapid.Uint64Range(0, total-1).Draw(t, "segment")
		first, last := segment(i, total)
		switch {
		case first > last:
			t.Errorf("segment %d of %d: %x above %x", i, total, first, last)
		case i == 0 && first != 0, i+1 == total && last != ^uint64(0):
			t.Errorf("the ends are not covered: %x to %x", first, last)
		case i+1 < total:
			if next, _ := segment(i+1, total); next != last+1 {
				t.Errorf("segment %d ends at %x, the next begins at %x", i, last, next)
			}
		}
	})
}

// TestSpanIsTheKeyCondition compares the rows in a span with those for which
// the condition holds, in both directions and resumed at any row.
func TestSpanIsTheKeyCondition(t *testing.T) {
	keys := schema{partition: keyAttribute{"pk", "S"}, sort: keyAttribute{"sk", "N"}}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]string{"-1E100", "-20", "-3", "-2.5", "0", "0.5", "1", "2", "10", "9007199254740993", "1E100"})
		var k keyspace
		for _, n := range rapid.SliceOf(number).Draw(t, "stored") {
			key, err := keys.ofKey(event.Item{"pk": event.String("p"), "sk": event.Number(n)})
			if err != nil {
				t.Fatal(err)
			}
			k.put(key.point, newRow(key.sort, key.item))
		}
		text := rapid.SampledFrom([]string{
			"pk = :p", "pk = :p AND sk = :a", "pk = :p AND sk < :a", "pk = :p AND sk <= :a", "pk = :p AND sk > :a",
			"pk = :p AND sk >= :a", "pk = :p AND sk BETWEEN :a AND :b",
		}).Draw(t, "condition")
		values := event.Item{":p": event.String("p"), ":a": event.Number(number.Draw(t, "a")), ":b": event.Number(number.Draw(t, "b"))}
		condition, err := expr.ParseKeyCondition(text, expr.NewPlaceholders(nil, values), "pk", "sk")
		if err != nil {
			t.Skip("bounds the wrong way round")
		}
		s, err := spanOf(keys, condition)
		if err != nil {
			t.Fatal(err)
		}
		forward := rapid.Bool().Draw(t, "forward")
		var want, got []*row
		k.walk(point{}, ^uint64(0), func(r *row) bool {
			if condition.Matches(r.item["sk"]) {
				want = append(want, r)
			}
			return true
		})
		if !forward {
			slices.Reverse(want)
		}
		if len(want) > 0 && rapid.Bool().Draw(t, "resumed") {
			i := rapid.IntRange(0, len(want)-1).Draw(t, "after")
			s.resume(want[i].sort, forward)
			want = want[i+1:]
		}
		s.walk(k.collection(s.point), forward, func(r *row) bool { got = append(got, r); return true })
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %d rows, want %d", text, len(got), len(want))
		}
	})
}

func TestAfterPrefix(t *testing.T) {
	for _, tc := range []struct {
		prefix, after string
		endless       bool
	}{
		{"a", "b", false},
		{"ab", "ac", false},
		{"a\xff", "b", false},
		{"a\uFFFD", "a\xef\xbf\xbe", false},
		{"\xff\xff", "", true},
		{"", "", true},
	} {
		if after, endless := afterPrefix(tc.prefix); after != tc.after || endless != tc.endless {
			t.Errorf("after %q comes %q, %v; want %q, %v", tc.prefix, after, endless, tc.after, tc.endless)
		}
	}
}
