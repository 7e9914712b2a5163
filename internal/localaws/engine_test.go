package localaws

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"go.uber.org/goleak"

	"millrace/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an engine with one event table (pk text, sk number, both images)
// and the clients of one application.
type bench struct {
	*Engine
	t       testing.TB
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
}

const events = "events"

func newBench(tb testing.TB, options Options) *bench {
	tb.Helper()
	e := New(options)
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	b := &bench{Engine: e, t: tb}
	b.db = dynamodb.NewFromConfig(e.Config("tests/main"))
	b.streams = dynamodbstreams.NewFromConfig(e.Config("tests/main"))
	b.createTable(events)
	return b
}

func (b *bench) createTable(name string) {
	b.t.Helper()
	_, err := b.db.CreateTable(b.t.Context(), &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func key(pk string, sk int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk},
		"sk": &types.AttributeValueMemberN{Value: fmt.Sprint(sk)},
	}
}

func plainKey(pk string, sk int) event.Item {
	return event.Item{"pk": event.String(pk), "sk": event.Number(fmt.Sprint(sk))}
}

// put stores an item pk/sk with a text.
func (b *bench) put(pk string, sk int, text string) {
	b.t.Helper()
	if err := b.tryPut(pk, sk, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) tryPut(pk string, sk int, text string) error {
	item := key(pk, sk)
	item["text"] = &types.AttributeValueMemberS{Value: text}
	_, err := b.db.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: item})
	return err
}

// stored is the text of an item, empty when there is none.
func (b *bench) stored(pk string, sk int) string {
	text, _ := b.Item(events, plainKey(pk, sk))["text"].(event.String)
	return string(text)
}

func (b *bench) arn() string {
	b.t.Helper()
	out, err := b.db.DescribeTable(b.t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(events)})
	if err != nil {
		b.t.Fatal(err)
	}
	return *out.Table.LatestStreamArn
}

// iterator opens a shard; at is a sequence number where the type needs one.
func (b *bench) iterator(shard string, kind streamtypes.ShardIteratorType, at string) string {
	b.t.Helper()
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: aws.String(b.arn()), ShardId: &shard, ShardIteratorType: kind}
	if at != "" {
		in.SequenceNumber = &at
	}
	out, err := b.streams.GetShardIterator(b.t.Context(), in)
	if err != nil {
		b.t.Fatal(err)
	}
	return *out.ShardIterator
}

// page reads one page and returns the next iterator, empty at the end.
func (b *bench) page(iterator string) (records []streamtypes.Record, next string) {
	b.t.Helper()
	out, err := b.streams.GetRecords(b.t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Records, aws.ToString(out.NextShardIterator)
}

// drain reads what a shard holds now, past the empty pages that may come
// first.
func (b *bench) drain(iterator string) (records []streamtypes.Record, next string) {
	b.t.Helper()
	for empty := 0; iterator != "" && empty <= b.options.EmptyPages; {
		page, following := b.page(iterator)
		records, iterator = append(records, page...), following
		if empty++; len(page) > 0 {
			empty = 0
		}
	}
	return records, iterator
}

// names are the keys of records as pk/sk, in their order.
func names(records []streamtypes.Record) []string {
	var out []string
	for _, r := range records {
		pk := r.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value
		sk := r.Dynamodb.Keys["sk"].(*streamtypes.AttributeValueMemberN).Value
		out = append(out, pk+"/"+sk)
	}
	return out
}
