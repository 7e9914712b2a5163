package localaws

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// TestCallsAreIdentified: rules about calls find them by what they are about,
// whatever the order of names in their JSON.
func TestCallsAreIdentified(t *testing.T) {
	var mu sync.Mutex
	var last Call
	b := newBench(t, Options{Shards: 1, Latency: func(c Call) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		last = c
		return 0
	}})
	ctx, table := t.Context(), aws.String(events)
	arn, shard := b.arn(), b.Shards(events)[0].ID
	iterator := b.iterator(shard, trimHorizon, "")
	keys := []map[string]types.AttributeValue{key("b", 1), key("a", 2)}
	for _, tc := range []struct {
		operation, table, key string
		call                  func() error
	}{
		{"PutItem", events, "a/1", func() error { return b.tryPut("a", 1, "x") }},
		{"GetItem", events, "a/1", func() error {
			_, err := b.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key("a", 1)})
			return err
		}},
		{"UpdateItem", events, "a/1", func() error {
			_, err := b.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key("a", 1)})
			return err
		}},
		{"DeleteItem", events, "a/1", func() error {
			_, err := b.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key("a", 1)})
			return err
		}},
		{"Query", events, "a", func() error {
			_, err := b.db.Query(ctx, &dynamodb.QueryInput{
				TableName: table, KeyConditionExpression: aws.String("pk = :a"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberS{Value: "a"}},
			})
			return err
		}},
		{"Scan", events, "", func() error {
			_, err := b.db.Scan(ctx, &dynamodb.ScanInput{TableName: table})
			return err
		}},
		{"BatchGetItem", events, "a/2,b/1", func() error {
			_, err := b.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{events: {Keys: keys}}})
			return err
		}},
		{"BatchWriteItem", events, "a/2,b/1", func() error {
			_, err := b.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				events: {{PutRequest: &types.PutRequest{Item: keys[0]}}, {DeleteRequest: &types.DeleteRequest{Key: keys[1]}}},
			}})
			return err
		}},
		{"TransactWriteItems", events, "b/1,a/2,c/3,d/4", func() error {
			_, err := b.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: table, Item: keys[0]}},
				{Delete: &types.Delete{TableName: table, Key: keys[1]}},
				{Update: &types.Update{TableName: table, Key: key("c", 3), UpdateExpression: aws.String("SET x = :x"), ExpressionAttributeValues: map[string]types.AttributeValue{":x": &types.AttributeValueMemberBOOL{Value: true}}}},
				{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("d", 4), ConditionExpression: aws.String("attribute_not_exists(pk)")}},
			}})
			return err
		}},
		{"TransactGetItems", events, "b/1,a/2", func() error {
			_, err := b.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: table, Key: keys[0]}}, {Get: &types.Get{TableName: table, Key: keys[1]}},
			}})
			return err
		}},
		{"DescribeTable", events, "", func() error {
			_, err := b.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("arn:aws:dynamodb:eu-central-1:000000000000:table/" + events)})
			return err
		}},
		{"DescribeTimeToLive", events, "", func() error {
			_, err := b.db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: table})
			return err
		}},
		{"ListTables", "", "", func() error {
			_, err := b.db.ListTables(ctx, &dynamodb.ListTablesInput{})
			return err
		}},
		{"ListStreams", events, "", func() error {
			_, err := b.streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: table})
			return err
		}},
		{"DescribeStream", events, shard, func() error {
			_, err := b.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, ExclusiveStartShardId: &shard})
			return err
		}},
		{"DescribeStream", events, shard, func() error {
			_, err := b.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{
				StreamArn: &arn, ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &shard},
			})
			return err
		}},
		{"GetShardIterator", events, shard, func() error {
			_, err := b.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: latest})
			return err
		}},
		{"GetRecords", events, shard, func() error {
			_, err := b.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
			return err
		}},
		{"UpdateTable", events, "", func() error {
			_, err := b.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
			return err
		}},
		{"DeleteTable", events, "", func() error {
			_, err := b.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table})
			return err
		}},
	} {
		if err := tc.call(); err != nil {
			t.Errorf("%s: %v", tc.operation, err)
		}
		mu.Lock()
		if last.Operation != tc.operation || last.Table != tc.table || last.Key != tc.key || last.App != "tests/main" || last.N < 1 {
			t.Errorf("%s of %q, %q is told as %+v", tc.operation, tc.table, tc.key, last)
		}
		mu.Unlock()
	}
}

// TestReadersAtOnce counts the applications whose calls are under way
// together, whether the service answers them or not.
func TestReadersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Shards: 1, Readers: -1, Latency: func(c Call) time.Duration {
			if c.Operation == "GetRecords" {
				return time.Second
			}
			return 0
		}})
		shard := b.Shards(events)[0].ID
		iterator := b.iterator(shard, trimHorizon, "")
		var readers sync.WaitGroup
		for i, app := range []string{"w0", "w1", "w1", "w2"} {
			readers.Go(func() {
				time.Sleep(time.Duration(i) * 400 * time.Millisecond) // w2 begins when w0 is done
				client := dynamodbstreams.NewFromConfig(b.Config(app))
				if _, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator}); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if got := b.Counters().Shards[shard]; got.ReadersAtOnce != 2 || got.ReadersInASecond != 2 || got.Calls != 4 {
			t.Errorf("counters %+v, want two readers at once", got)
		}
	})
}
