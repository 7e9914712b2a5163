package localaws

import (
	"slices"
	"testing"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// TestRecordsOfAllShards writes and reads every record back once.
func TestRecordsOfAllShards(t *testing.T) {
	b := newBench(t, Options{Seed: 1})
	var want []string
	for _, pk := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		for v := 1; v <= 3; v++ {
			b.put(pk, v, "x")
			want = append(want, pk+"/"+string(rune('0'+v)))
		}
	}
	var got []string
	shards := b.Shards(events)
	if len(shards) != 4 {
		t.Fatalf("%d shards, want 4", len(shards))
	}
	for _, s := range shards {
		records, next := b.drain(b.iterator(s.ID, streamtypes.ShardIteratorTypeTrimHorizon, ""))
		if next == "" {
			t.Errorf("open shard %s ended", s.ID)
		}
		got = append(got, names(records)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}
