package localaws

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// send posts a raw body, as no SDK client would, and returns the answer's
// status and body.
func send(t *testing.T, e *Engine, target, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://local/", strings.NewReader(body))
	must(t, err)
	request.Header.Set("X-Amz-Target", target)
	response, err := e.Client("raw").Do(request)
	must(t, err)
	text := make([]byte, response.ContentLength)
	n, _ := response.Body.Read(text)
	must(t, response.Body.Close())
	return response.StatusCode, string(text[:n])
}

func TestMalformedRequests(t *testing.T) {
	b := newBench(t, Options{})
	for _, tc := range []struct{ target, body, code string }{
		{"DynamoDB_20120810.PutItem", `{"TableName":`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":5}`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{} {}`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"events","Item":{"pk":{"S":"a","N":"1"}}}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"events","Item":{"pk":{"S":"a"},"sk":{"N":"one"}}}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"events","Things":1}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"events"}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", ``, "ValidationException"},
		{"DynamoDB_20120810.Nothing", `{}`, "UnknownOperationException"},
		{"Nothing", `{}`, "UnknownOperationException"},
		{"DynamoDBStreams_20120810.GetRecords", `{"ShardIterator":"x"}`, "ValidationException"},
		{"DynamoDBStreams_20120810.PutItem", `{}`, "UnknownOperationException"},
	} {
		status, answer := send(t, b.Engine, tc.target, tc.body)
		if status != http.StatusBadRequest || !strings.Contains(answer, `#`+tc.code+`"`) {
			t.Errorf("%s of %s: %d, %s; want %s", tc.target, tc.body, status, answer, tc.code)
		}
	}
	if len(b.Items(events)) > 0 {
		t.Error("a malformed request stored something")
	}
}

func TestTableSettings(t *testing.T) {
	b := newBench(t, Options{})
	create := func(change func(*dynamodb.CreateTableInput)) error {
		in := &dynamodb.CreateTableInput{
			TableName: aws.String("settings"), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		}
		change(in)
		_, err := b.db.CreateTable(t.Context(), in)
		return err
	}
	for name, change := range map[string]func(*dynamodb.CreateTableInput){
		"no throughput":        func(in *dynamodb.CreateTableInput) { in.BillingMode = types.BillingModeProvisioned },
		"throughput on demand": func(in *dynamodb.CreateTableInput) { in.ProvisionedThroughput = units(1, 1) },
		"no units":             func(in *dynamodb.CreateTableInput) { in.BillingMode, in.ProvisionedThroughput = "", units(0, 1) },
		"class":                func(in *dynamodb.CreateTableInput) { in.TableClass = types.TableClassStandardInfrequentAccess },
		"view without stream": func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(false), StreamViewType: types.StreamViewTypeNewImage}
		},
		"undefined key": func(in *dynamodb.CreateTableInput) { in.KeySchema[0].AttributeName = aws.String("other") },
		"sort key first": func(in *dynamodb.CreateTableInput) {
			in.KeySchema[0].KeyType = types.KeyTypeRange
		},
		"definition too many": func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("x"), AttributeType: types.ScalarAttributeTypeS})
		},
	} {
		if err := create(change); code(err) != "ValidationException" {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, create(func(in *dynamodb.CreateTableInput) {
		in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, units(3, 4)
		in.DeletionProtectionEnabled = aws.Bool(true)
		in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("orders")}}
	}))
	out, err := b.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("settings")})
	must(t, err)
	if p := out.Table.ProvisionedThroughput; *p.ReadCapacityUnits != 3 || *p.WriteCapacityUnits != 4 {
		t.Errorf("throughput %+v", p)
	}
	tags, err := b.db.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: out.Table.TableArn})
	must(t, err)
	if len(tags.Tags) != 1 || *tags.Tags[0].Value != "orders" {
		t.Errorf("tags %+v", tags.Tags)
	}
	_, err = b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("settings")})
	wantCode(t, err, "ValidationException")
	_, err = b.db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("settings"), BillingMode: types.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(false)})
	must(t, err)
	_, err = b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("settings")})
	must(t, err)
}

func units(read, write int64) *types.ProvisionedThroughput {
	return &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
}

// TestStreamOfADeletedTable stays readable for a day and is gone then.
func TestStreamOfADeletedTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Shards: 1, EmptyPages: -1})
		b.put("a", 1, "x")
		arn, shard := b.arn(), b.Shards(events)[0].ID
		_, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(events)})
		must(t, err)
		must(t, func() error {
			out, err := b.streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: trimHorizon})
			if err != nil {
				return err
			}
			if records, next := b.page(*out.ShardIterator); len(records) != 1 || next != "" {
				t.Errorf("%d records, next iterator %q", len(records), next)
			}
			return nil
		}())
		time.Sleep(retention + time.Second)
		_, err = b.streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		wantCode(t, err, "ResourceNotFoundException")
	})
}

// TestDeletedTablesTakeNoWrites: a write that found its table before it was
// deleted does not land in it, nor in one made anew under its name.
func TestDeletedTablesTakeNoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.Inject(Fault{Match: onPut, Do: Slow, Delay: time.Second})
		late := make(chan error, 1)
		go func() { late <- b.tryPut("a", 1, "x") }()
		synctest.Wait()
		_, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(events)})
		must(t, err)
		wantCode(t, <-late, "ResourceNotFoundException")
	})
}
