package dynamodbstreams

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.uber.org/goleak"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const table = "events"

// bench is an engine with one table of pk and sk, both text, its stream's
// client, and a writer.
type bench struct {
	*localaws.Engine
	*Client
	db *dynamodb.Client
}

func newBench(t *testing.T, o localaws.Options) *bench {
	t.Helper()
	e := localaws.New(o)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := e.Config("millrace/test/reader")
	c, err := New(Options{Streams: sdk.NewFromConfig(cfg), Tables: dynamodb.NewFromConfig(cfg)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Engine: e, Client: c, db: dynamodb.NewFromConfig(e.Config("writer"))}
	_, err = b.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) put(ctx context.Context, t *testing.T, item event.Item) {
	t.Helper()
	if _, err := b.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(table), Item: awsvalue.ToItem(item)}); err != nil {
		t.Fatal(err)
	}
}

// append writes version v of an aggregate.
func (b *bench) append(ctx context.Context, t *testing.T, aggregate string, v int) {
	t.Helper()
	b.put(ctx, t, event.Item{"pk": event.String(aggregate), "sk": event.String(fmt.Sprintf("%012d", v))})
}

func (b *bench) find(t *testing.T) *Stream {
	t.Helper()
	s, err := b.Find(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func discover(t *testing.T, s *Stream) []source.Shard {
	t.Helper()
	var l source.Listing
	if err := source.Discover(t.Context(), s, &l, source.Budget{}); err != nil {
		t.Fatal(err)
	}
	return l.Shards()
}

func follow(t *testing.T, r source.Reader, shard source.ShardID, from source.Start) *source.Cursor {
	t.Helper()
	c, err := source.NewCursor(r, shard, from)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// read reads until it has n records or the shard ends.
func read(t *testing.T, c *source.Cursor, n int) (out []event.Record) {
	t.Helper()
	for range 100 {
		if c.Ended() || len(out) >= n {
			return out
		}
		page, err := c.Read(t.Context(), n-len(out))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Records...)
	}
	t.Fatalf("%d records after 100 reads, want %d", len(out), n)
	return nil
}

func versions(records []event.Record) (out []string) {
	for _, r := range records {
		sk, _ := r.Keys["sk"].(event.String)
		out = append(out, fmt.Sprintf("%v/%d", r.Keys["pk"], atoi(string(sk))))
	}
	return out
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}
