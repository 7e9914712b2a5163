package controlkey

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// C8: whatever its id, an aggregate has rows of its own, which a table takes and
// which tell whose they are.
func TestC8_RowsOfAnyAggregate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"x", "%", "|", "世", "\n"}).Draw(t, "of")
		id := strings.Repeat(name, rapid.IntRange(1, 2048/len(name)).Draw(t, "length"))
		key := Marker("g", "t", "s", 1, id)
		if len(key.SK) > 1024 {
			t.Fatalf("the sort key of %d bytes has %d", len(id), len(key.SK))
		}
		attribute := ""
		if Hashed(id) {
			attribute = id
		}
		if got, ok := AggregateOf(key.SK, attribute); !ok || got != id {
			t.Fatalf("the row of %q is of %q, %v", id, got, ok)
		}
		if other := Marker("g", "t", "s", 1, id+"x"); other == key {
			t.Fatalf("%q shares its row", id)
		}
	})
}

// A row whose attribute was changed by hand is not taken for another's.
func TestAggregateOfAnothersRow(t *testing.T) {
	long := Marker("g", "t", "s", 1, strings.Repeat("x", 2000))
	for _, attribute := range []string{"", "x", strings.Repeat("x", 1999)} {
		if got, ok := AggregateOf(long.SK, attribute); ok {
			t.Errorf("the row is taken for one of %q", got)
		}
	}
}
