package localaws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// world runs four writers that race for versions of the same aggregates through
// the real SDK, with latencies and faults, and returns what happened to the
// nanosecond.
func world(t *testing.T, seed uint64) string {
	t.Helper()
	var told strings.Builder
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{
			Seed: seed, Permute: 2, KeepHistory: true, RollRecords: 5,
			Latency: func(c Call) time.Duration {
				return time.Millisecond + time.Duration(draw(seed, c.App+c.Key, c.Operation, c.N)%5_000_000)
			},
		})
		b.Inject(Fault{Do: LoseAnswer, Share: 0.1})
		b.Inject(Fault{Do: FailBefore, Share: 0.1})
		b.Inject(Fault{Do: LandLate, Share: 0.1, Delay: 7 * time.Millisecond})
		done := make(chan struct{})
		for w := range 4 {
			go func() {
				client := dynamodb.NewFromConfig(b.Config(fmt.Sprintf("w%d", w)))
				for v := range 10 {
					item := key(fmt.Sprintf("a%d", v%3), v)
					item["by"] = &types.AttributeValueMemberN{Value: fmt.Sprint(w)}
					_, _ = client.PutItem(t.Context(), &dynamodb.PutItemInput{ // errors are part of the world
						TableName: aws.String(events), Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)"),
					})
				}
				done <- struct{}{}
			}()
		}
		for range 4 {
			<-done
		}
		must(t, b.Close())
		for _, c := range b.History(events) {
			fmt.Fprintln(&told, c.Number, c.At.UnixNano(), c.App, describeKey(c.Key["pk"], c.Key["sk"]), c.New["by"], c.Shard, c.Sequence)
		}
		for _, s := range b.Shards(events) {
			fmt.Fprintln(&told, s.ID, s.Parent, s.First, s.Last)
		}
		calls := b.Counters().Calls
		var counts []string
		for k, n := range calls {
			counts = append(counts, fmt.Sprintln(k, n))
		}
		slices.Sort(counts)
		fmt.Fprintln(&told, counts)
	})
	return told.String()
}

func TestReplay(t *testing.T) {
	for seed := range uint64(5) {
		first, again := world(t, seed), world(t, seed)
		if first != again {
			t.Fatalf("seed %d tells two stories:\n%s\nand\n%s", seed, first, again)
		}
		if seed > 0 && first == world(t, 0) {
			t.Errorf("seeds 0 and %d tell the same story", seed)
		}
	}
}
