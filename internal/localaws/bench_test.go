package localaws

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// benchItem is an event of ten attributes and about 300 bytes.
func benchItem(pk string, sk int) map[string]types.AttributeValue {
	item := key(pk, sk)
	item["type"] = &types.AttributeValueMemberS{Value: "ItemAdded"}
	item["at"] = &types.AttributeValueMemberN{Value: "1790000000123"}
	item["actor"] = &types.AttributeValueMemberS{Value: "customer-1234567"}
	item["correlation"] = &types.AttributeValueMemberS{Value: "c-0123456789abcdef"}
	item["amount"] = &types.AttributeValueMemberN{Value: "1299.95"}
	item["currency"] = &types.AttributeValueMemberS{Value: "EUR"}
	item["quantity"] = &types.AttributeValueMemberN{Value: "3"}
	item["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 120)}
	return item
}

func BenchmarkPutItem(b *testing.B) {
	for _, writers := range []int{1, 8} {
		b.Run(strconv.Itoa(writers)+" writers a core", func(b *testing.B) {
			bench := newBench(b, Options{})
			var next atomic.Int64
			b.SetParallelism(writers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := int(next.Add(1))
					_, err := bench.db.PutItem(b.Context(), &dynamodb.PutItemInput{
						TableName: aws.String(events), Item: benchItem("order-"+strconv.Itoa(n%10_000), n),
						ConditionExpression: aws.String("attribute_not_exists(pk)"),
					})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
		})
	}
}

// BenchmarkPutItemAlone is the engine's part: from the request's bytes to the
// answer's.
func BenchmarkPutItemAlone(b *testing.B) {
	bench := newBench(b, Options{})
	const text = `{"TableName":"events","ConditionExpression":"attribute_not_exists(pk)","Item":{"pk":{"S":"order-%d"},"sk":{"N":"%d"},` +
		`"type":{"S":"ItemAdded"},"at":{"N":"1790000000123"},"actor":{"S":"customer-1234567"},"correlation":{"S":"c-0123456789abcdef"},` +
		`"amount":{"N":"1299.95"},"currency":{"S":"EUR"},"quantity":{"N":"3"},"text":{"S":"%0120d"}}}`
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		_, _, op, err := bench.decode("DynamoDB_20120810.PutItem", fmt.Appendf(nil, text, n%10_000, n, 0))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bench.execute(Call{}, op, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGetRecords reads pages of 1000 records: with the SDK, whose decoder
// is most of the time, and the engine's page alone.
func BenchmarkGetRecords(b *testing.B) {
	bench := newBench(b, Options{Shards: 1, EmptyPages: -1})
	for n := range maxRecords {
		if _, err := bench.db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: benchItem("order-"+strconv.Itoa(n%100), n)}); err != nil {
			b.Fatal(err)
		}
	}
	iterator := bench.iterator(bench.Shards(events)[0].ID, streamtypes.ShardIteratorTypeTrimHorizon, "")
	b.Run("SDK", func(b *testing.B) {
		for b.Loop() {
			out, err := bench.streams.GetRecords(b.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
			if err != nil || len(out.Records) != maxRecords {
				b.Fatal(len(out.Records), err)
			}
		}
		b.ReportMetric(float64(maxRecords*b.N)/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("engine", func(b *testing.B) {
		op := &getRecords{ShardIterator: iterator}
		for b.Loop() {
			if _, err := op.run(bench.Engine, &callContext{now: bench.now()}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(maxRecords*b.N)/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkQuery reads 20 items of one collection among 50,000 items.
func BenchmarkQuery(b *testing.B) {
	bench := newBench(b, Options{})
	for n := range 50_000 {
		item := plainKey("order-"+strconv.Itoa(n%500), n/500)
		w, err := newPut(bench.tables[events], item, conditional{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bench.writeOne(&callContext{now: bench.now()}, w, answering{}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		out, err := bench.db.Query(b.Context(), &dynamodb.QueryInput{
			TableName: aws.String(events), KeyConditionExpression: aws.String("pk = :p AND sk > :from"), Limit: aws.Int32(20),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":p":    &types.AttributeValueMemberS{Value: "order-250"},
				":from": &types.AttributeValueMemberN{Value: "40"},
			},
		})
		if err != nil || len(out.Items) != 20 {
			b.Fatal(out, err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}
