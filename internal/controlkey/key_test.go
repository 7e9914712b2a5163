package controlkey

import (
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct{ got, want Key }{
		{Lease("orders", "orders-events", "2026-01-02T03:04:05.678", "shardId-000001-ab"), Key{"L|orders|orders-events", "2026-01-02T03:04:05.678|shardId-000001-ab"}},
		{Lease("a|b", "50%", "l\n", "s"), Key{"L|a%7Cb|50%25", "l%0A|s"}},
		{Lease("grün", "t", "l", "\xff\u0085"), Key{"L|grün|t", "l|%FF%C2%85"}},
		{Stream("orders", "orders-events", "2026-01-02T03:04:05.678"), Key{"S|orders|orders-events", "2026-01-02T03:04:05.678"}},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestForeignKeysAreNotTakenApart(t *testing.T) {
	for _, text := range []string{"%", "%4", "%zz", "%41", "%7c", "%+1", "a\nb", "\xff"} {
		if parts, ok := Parts(text); ok {
			t.Errorf("%q was read as %q, though no builder writes it", text, parts)
		}
	}
}

// part draws what breaks encodings: separators, escapes, bytes that are no
// text, and everything else.
var part = rapid.OneOf(
	rapid.String(),
	rapid.StringOfN(rapid.SampledFrom([]rune("|%7C25a\n:")), 0, 8, -1),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
)

func TestPartsComeBackAsTheyWentIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part, 1, 4).Draw(t, "parts")
		key := join(parts...)
		if !utf8.ValidString(key) {
			t.Fatalf("%q is no text", key)
		}
		if i := slices.IndexFunc([]rune(key), unicode.IsControl); i >= 0 {
			t.Fatalf("%q holds a control character", key)
		}
		back, ok := Parts(key)
		if !ok || !slices.Equal(back, parts) {
			t.Fatalf("%q became %q and came back as %q", parts, key, back)
		}
	})
}

func TestNoTwoListsOfPartsGiveOneKey(t *testing.T) {
	// A small world of the dangerous characters, where near misses are common.
	short := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("|%7C")), 0, 3, -1), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := short.Draw(t, "a"), short.Draw(t, "b")
		if !slices.Equal(a, b) && join(a...) == join(b...) {
			t.Fatalf("%q and %q both give %q", a, b, join(a...))
		}
	})
}
