package localaws

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// list reads the whole listing in pages and counts them.
func (b *bench) list(limit int32) (shards []streamtypes.Shard, pages int) {
	b.t.Helper()
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(b.arn()), Limit: &limit}
	for {
		out, err := b.streams.DescribeStream(b.t.Context(), in)
		if err != nil {
			b.t.Fatal(err)
		}
		shards, pages = append(shards, out.StreamDescription.Shards...), pages+1
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return shards, pages
		}
	}
}

func (b *bench) children(parent string) int {
	b.t.Helper()
	out, err := b.streams.DescribeStream(b.t.Context(), &dynamodbstreams.DescribeStreamInput{
		StreamArn: aws.String(b.arn()), ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &parent},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(out.StreamDescription.Shards)
}

func TestListingPages(t *testing.T) {
	b := newBench(t, Options{Seed: 5, Shards: 7})
	must(t, b.RollAll(events))
	shards, pages := b.list(4)
	ids := map[string]bool{}
	for _, s := range shards {
		ids[*s.ShardId] = true
		if n := len(*s.ShardId); n < 28 || n > 65 {
			t.Errorf("shard id %q has %d characters", *s.ShardId, n)
		}
	}
	if len(shards) != 14 || len(ids) != 14 || pages != 4 {
		t.Errorf("%d shards, %d different, in %d pages; want 14 in 4", len(shards), len(ids), pages)
	}
}

// TestListingPagesAreThrottledOneByOne: a reader that keeps the first page of
// a listing whose second was refused sees children without parents.
func TestListingPagesAreThrottledOneByOne(t *testing.T) {
	b := newBench(t, Options{Seed: 5, Shards: 3})
	b.Inject(Fault{Match: func(c Call) bool { return c.Operation == "DescribeStream" && c.Key != "" }, Do: Throttle, Times: 1})
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(b.arn()), Limit: aws.Int32(1)}
	out, err := b.streams.DescribeStream(t.Context(), in)
	must(t, err)
	in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
	_, err = b.streams.DescribeStream(t.Context(), in)
	wantCode(t, err, "ThrottlingException")
	if _, err = b.streams.DescribeStream(t.Context(), in); err != nil {
		t.Error(err)
	}
}

func TestHiddenParents(t *testing.T) {
	b := newBench(t, Options{Seed: 5, Shards: 2, EmptyPages: -1})
	b.put("a", 1, "x")
	parents := b.Shards(events)
	must(t, b.RollAll(events))
	must(t, b.HideParents(events, true))
	shards, _ := b.list(100)
	if len(shards) != 2 {
		t.Fatalf("%d shards listed, want the children alone", len(shards))
	}
	for _, s := range shards {
		if !slices.ContainsFunc(parents, func(p ShardInfo) bool { return p.ID == aws.ToString(s.ParentShardId) }) {
			t.Errorf("shard %s is listed with the parent %q", *s.ShardId, aws.ToString(s.ParentShardId))
		}
	}
	// A parent that is asked for by its id is there.
	read := 0
	for _, p := range parents {
		records, _ := b.page(b.iterator(p.ID, trimHorizon, ""))
		read += len(records)
	}
	if read != 1 {
		t.Errorf("the hidden parents have %d records, want 1", read)
	}
	must(t, b.HideParents(events, false))
	must(t, b.HideShard(events, parents[0].ID, true))
	if shards, _ = b.list(100); len(shards) != 3 {
		t.Errorf("%d shards listed, want all but the hidden one", len(shards))
	}
}

func TestListingIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Seed: 5, Shards: 1, ListingLag: 2 * time.Second, ChildFilterLag: 3 * time.Second})
		parent := b.Shards(events)[0].ID
		must(t, b.Roll(events, parent))
		ended := func() bool {
			shards, _ := b.list(100)
			i := slices.IndexFunc(shards, func(s streamtypes.Shard) bool { return *s.ShardId == parent })
			return shards[i].SequenceNumberRange.EndingSequenceNumber != nil
		}
		if ended() || b.children(parent) != 0 {
			t.Error("just after the roll-over the listing knows of it, or the filter does")
		}
		time.Sleep(2 * time.Second)
		if !ended() || b.children(parent) != 0 {
			t.Error("after 2 s the listing does not know of it, or the filter does")
		}
		time.Sleep(time.Second)
		if n := b.children(parent); n != 1 {
			t.Errorf("after 3 s the filter finds %d children", n)
		}
	})
}
