package controlkey

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPositionKeys(t *testing.T) {
	long := strings.Repeat("x", maxPK)
	for _, test := range []struct {
		aggregate, want string
	}{
		{"order-1", "V|orders|orders-events|mail@2|order-1"},
		{"a|b", "V|orders|orders-events|mail@2|a%7Cb"},
		{long, "V|orders|orders-events|mail@2||1d1801f753ccd9fa57966c46f360585caf83337a394a5f238d4e4e7d6005788d"},
	} {
		want := Key{PK: test.want, SK: "position"}
		if got := Position("orders", "orders-events", "mail", 2, test.aggregate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// placed is all that a position belongs to.
type placed struct {
	group, source, sink string
	version             int
	aggregate           string
}

func (p placed) key() Key { return Position(p.group, p.source, p.sink, p.version, p.aggregate) }

// TestPositionsAreOneSinksAndOneAggregates: whatever differs gives another
// row, dangerous characters and ids of any length included, and every key is
// one that DynamoDB takes.
func TestPositionsAreOneSinksAndOneAggregates(t *testing.T) {
	short := rapid.StringOfN(rapid.SampledFrom([]rune("|%7C@1")), 0, 3, -1)
	ids := rapid.OneOf(short, rapid.Map(rapid.IntRange(maxPK-40, maxPK+5), func(n int) string { return strings.Repeat("x", n) }))
	draw := rapid.Custom(func(t *rapid.T) placed {
		return placed{short.Draw(t, "group"), short.Draw(t, "source"), short.Draw(t, "sink"), rapid.IntRange(1, 12).Draw(t, "version"), ids.Draw(t, "aggregate")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if a != b && a.key() == b.key() {
			t.Fatalf("%+v and %+v both give %q", a, b, a.key())
		}
		if len(a.key().PK) > maxPK {
			t.Fatalf("a key of %d bytes", len(a.key().PK))
		}
		parts, ok := Parts(a.key().PK)
		if hashed := len(a.aggregate) > maxPK-40 && len(parts) == 6; !ok || !hashed && !slices.Equal(parts[4:], []string{a.aggregate}) {
			t.Fatalf("%+v came back as %q", a, parts)
		}
	})
}
