package localaws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
)

// TestStreamLife drives a stream through random writes, roll-overs and splits,
// and reads it as a consumer must: each shard to its end before its children.
// Every change is read once, and each item's changes in the order in which they
// were committed, whatever happened to the shards in between.
func TestStreamLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{
			Seed: rapid.Uint64().Draw(t, "seed"), Shards: rapid.IntRange(1, 3).Draw(t, "shards"), KeepHistory: true,
			Permute: rapid.IntRange(0, 3).Draw(t, "permute"), ChildSequences: Sequences(rapid.IntRange(0, 2).Draw(t, "sequences")),
		})
		_, err := (&createTable{
			TableName: events, BillingMode: payPerRequest,
			AttributeDefinitions: []attributeDefinition{{"pk", "S"}, {"sk", "N"}},
			KeySchema:            []keySchemaElement{{"pk", "HASH"}, {"sk", "RANGE"}},
			StreamSpecification:  &streamSpecification{StreamEnabled: true, StreamViewType: viewNew},
		}).run(e, &callContext{now: e.now()})
		if err != nil {
			t.Fatal(err)
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			step(t, e, n)
		}
		readInOrder(t, e)
	})
}

// step writes most of the time and changes the shards otherwise. Controls that
// cannot be met, such as a split of a shard too small, leave all as it is.
func step(t *rapid.T, e *Engine, n int) {
	pk := event.String(rapid.StringMatching("[ab]").Draw(t, "pk"))
	sk := event.Number(rapid.StringMatching("[1-4]").Draw(t, "sk"))
	open := slices.DeleteFunc(e.Shards(events), func(s ShardInfo) bool { return s.Closed })
	shard := rapid.SampledFrom(open).Draw(t, "shard").ID
	switch rapid.IntRange(0, 11).Draw(t, "step") {
	case 0:
		if err := e.Roll(events, shard); err != nil {
			t.Error(err)
		}
	case 1:
		_ = e.Split(events, shard)
	case 2:
		_ = e.SplitCollection(events, pk, sk)
	case 3:
		_ = e.SplitAlternating(events, pk)
	default:
		item := event.Item{"pk": pk, "sk": sk, "n": event.Number(fmt.Sprint(n))}
		if _, err := (&putItem{TableName: events, Item: item}).run(e, &callContext{now: e.now()}); err != nil {
			t.Fatal(err)
		}
	}
}

func readInOrder(t *rapid.T, e *Engine) {
	read := map[string][]string{} // by item: the sequence numbers in the order of reading
	e.Shards(events)              // numbers what waits for a number
	for _, h := range e.tables[events].stream.shards {
		for _, r := range h.records {
			name := describeKey(r.change.Key["pk"], r.change.Key["sk"])
			read[name] = append(read[name], h.id+" "+r.sequence.String())
		}
	}
	committed := map[string][]string{}
	for _, c := range e.History(events) {
		name := describeKey(c.Key["pk"], c.Key["sk"])
		committed[name] = append(committed[name], c.Shard+" "+c.Sequence)
	}
	if len(read) != len(committed) {
		t.Errorf("%d items read, %d written", len(read), len(committed))
	}
	for name, want := range committed {
		if got := read[name]; !slices.Equal(got, want) {
			t.Errorf("item %s was committed as %s and is read as %s", name, strings.Join(want, ", "), strings.Join(got, ", "))
		}
	}
}

// TestTrimmingKeepsPositions: whatever was trimmed, a reader that goes on at
// the trim point gets the next record.
func TestTrimmingKeepsPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := drawRandom(t)
		h := &shard{random: random, first: firstSequence(random)}
		h.last = h.first
		begin := time.Unix(0, 0)
		total := rapid.IntRange(1, 30).Draw(t, "records")
		for i := range total {
			h.write(record{at: begin.Add(time.Duration(i) * time.Second)}, 0)
		}
		all := slices.Clone(h.records)
		kept := rapid.IntRange(0, total).Draw(t, "trimmed")
		h.trimBefore(begin.Add(time.Duration(kept) * time.Second))
		if len(h.records) != total-kept || h.firstAt(h.horizon()) != 0 {
			t.Errorf("%d of %d records left, the horizon is before record %d", len(h.records), total, h.firstAt(h.horizon()))
		}
		for i := kept; i < total; i++ {
			if at := h.firstAt(position{after: all[i].sequence}); at != i-kept+1 {
				t.Errorf("behind record %d comes record %d of those left", i, at)
			}
		}
	})
}
