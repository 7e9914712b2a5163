package localaws

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// byText compares sequence numbers as a consumer does that may not put them
// into 64 bits.
func byText(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func drawRandom(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

func TestSequenceGrowsWithinAShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := drawRandom(t)
		s := firstSequence(random)
		for range rapid.IntRange(1, 300).Draw(t, "records") {
			next := s.next(random)
			if byText(s.String(), next.String()) >= 0 || s.compare(next) >= 0 {
				t.Fatalf("%s does not grow to %s", s, next)
			}
			if n := len(next.String()); n < 21 || n > 23 {
				t.Fatalf("%s has %d digits", next, n)
			}
			back, err := parseSequence(next.String())
			if err != nil || back != next {
				t.Fatalf("%s is read as %s, %v", next, back, err)
			}
			if before := next.before(); before.compare(next) >= 0 || before.compare(s) < 0 {
				t.Fatalf("before %s comes %s, which is below %s", next, before, s)
			}
			s = next
		}
	})
}

// TestSequenceGainsADigit is the case that comparing as text gets wrong.
func TestSequenceGainsADigit(t *testing.T) {
	grown := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		first := firstSequence(random)
		last := first
		for range 1000 {
			last = last.next(random)
		}
		if len(last.String()) > len(first.String()) {
			grown++
		}
	}
	if grown < 10 {
		t.Errorf("in %d of 20 shards the numbers gained a digit, want half of them at least", grown)
	}
}

func TestChildSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := drawRandom(t)
		first := firstSequence(random)
		for range rapid.IntRange(0, 8).Draw(t, "generations") {
			first = childSequence(SequencesLower, first, first, random)
		}
		last := first
		for range rapid.IntRange(0, 50).Draw(t, "records") {
			last = last.next(random)
		}
		if child := childSequence(SequencesHigher, first, last, random); child.compare(last) <= 0 {
			t.Errorf("higher: %s after %s", child, last)
		}
		if child := childSequence(SequencesLower, first, last, random); child.compare(first) >= 0 || len(child.String()) < 21 {
			t.Errorf("lower: %s, parent from %s", child, first)
		}
		if child := childSequence(SequencesLonger, first, last, random); len(child.String()) != len(last.String())+1 {
			t.Errorf("longer: %s after %s", child, last)
		}
	})
}

func TestParseSequenceRefuses(t *testing.T) {
	for _, text := range []string{"", "1", "000000000000000000018", "12345678901234567890", "-12345678901234567890123", "12345678901234567890x", "999999999999999999999999999999999999999999"} {
		if s, err := parseSequence(text); err == nil {
			t.Errorf("%q was read as %s", text, s)
		}
	}
}
