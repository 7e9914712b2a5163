package localaws

import (
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
)

// TestPermutationIsBounded: whatever the writes and the moments at which
// somebody looks, no record is further from its place than allowed, one item's
// records stay in order, and none is missing.
func TestPermutationIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		permute := rapid.IntRange(0, 6).Draw(t, "permute")
		random := drawRandom(t)
		h := &shard{random: random, first: firstSequence(random)}
		h.last = h.first
		place := map[*Change]int{}
		var written []*Change
		for range rapid.IntRange(0, 60).Draw(t, "writes") {
			change := &Change{Key: event.Item{"pk": event.String(rapid.StringMatching("[a-e]").Draw(t, "item"))}}
			place[change] = len(written)
			written = append(written, change)
			h.write(record{item: pointOf(string(change.Key["pk"].(event.String)), ""), change: change, tail: `"}}`}, permute)
			if rapid.IntRange(0, 7).Draw(t, "look") == 0 {
				h.settle(permute)
			}
		}
		h.settle(permute)
		if len(h.records) != len(written) {
			t.Fatalf("%d records of %d writes", len(h.records), len(written))
		}
		last := map[point]int{}
		for i, r := range h.records {
			at := place[r.change]
			if at-i > permute || i-at > permute {
				t.Errorf("write %d became record %d, more than %d places away", at, i, permute)
			}
			if before, ok := last[r.item]; ok && before > at {
				t.Errorf("write %d of an item came after write %d", at, before)
			}
			last[r.item] = at
			if r.change.Sequence != r.sequence.String() {
				t.Errorf("the history has the number %q, the record %s", r.change.Sequence, r.sequence)
			}
		}
	})
}

func TestPermutationHappens(t *testing.T) {
	b := newBench(t, Options{Seed: 7, Shards: 1, Permute: 4, EmptyPages: -1, KeepHistory: true})
	for v := range 40 {
		b.put("order", v, "x")
	}
	if n := len(b.Shards(events)); n != 1 {
		t.Fatalf("%d shards", n)
	}
	history := b.History(events)
	inverted := 0
	for i, change := range history {
		if i > 0 && byText(history[i-1].Sequence, change.Sequence) > 0 {
			inverted++
		}
	}
	if len(history) != 40 || inverted == 0 {
		t.Errorf("%d changes with %d pairs out of order, want 40 and some", len(history), inverted)
	}
}
