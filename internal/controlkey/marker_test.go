package controlkey

import (
	"fmt"
	"testing"
)

func TestMarkerKeys(t *testing.T) {
	for _, test := range []struct{ got, want Key }{
		{Marker("orders", "orders-events", "view", 2, "order#1"), Key{"M|orders|orders-events|view@2|17", "order#1"}},
		{Outbox("orders", "orders-events", "view", 2, "order#1"), Key{"O|orders|orders-events|view@2|07", "order#1"}},
		{Crash("orders", "orders-events", "view", 2, "order#1"), Key{"C|orders|orders-events|view@2", "order#1"}},
		{Marker("g|h", "t", "s@1", 1, "a|b"), Key{"M|g%7Ch|t|s@1@1|16", "a%7Cb"}},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// H3: a marker of one source, sink or version is never another's.
func TestH3MarkersAreApart(t *testing.T) {
	seen := map[Key]string{}
	for _, table := range []string{"orders", "bank"} {
		for _, sink := range []string{"view", "view@1"} {
			for version := 1; version <= 11; version++ {
				whose := fmt.Sprint(table, " ", sink, " ", version)
				for _, key := range []Key{Marker("g", table, sink, version, "42"), Outbox("g", table, sink, version, "42"), Crash("g", table, sink, version, "42")} {
					if other, taken := seen[key]; taken {
						t.Errorf("%v is the row of %s and of %s", key, whose, other)
					}
					seen[key] = whose
				}
			}
		}
	}
}

func TestMarkersAreSpread(t *testing.T) {
	var counts [MarkerParts]int
	for i := range 6400 {
		counts[bucket(fmt.Sprintf("ORDER#%08d", i), MarkerParts)]++
	}
	for part, n := range counts {
		if n < 50 || n > 200 {
			t.Errorf("partition %02x has %d of 6400 aggregates, want about 100", part, n)
		}
	}
}
