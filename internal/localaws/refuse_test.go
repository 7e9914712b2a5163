package localaws

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestUnsupportedParametersAreNamed: what the engine cannot do it refuses by
// name; ignoring it would make a test pass that fails on the service.
func TestUnsupportedParametersAreNamed(t *testing.T) {
	b := newBench(t, Options{})
	index := []types.GlobalSecondaryIndex{{
		IndexName: aws.String("i"), KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	_, create := b.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("other"), BillingMode: types.BillingModePayPerRequest, GlobalSecondaryIndexes: index,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	_, query := b.db.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String(events), IndexName: aws.String("i"), KeyConditionExpression: aws.String("pk = :a")})
	_, expected := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 1), Expected: map[string]types.ExpectedAttributeValue{"x": {Exists: aws.Bool(false)}}})
	_, legacy := b.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(events), Key: key("a", 1), AttributeUpdates: map[string]types.AttributeValueUpdate{"x": {Action: types.AttributeActionDelete}}})
	for name, err := range map[string]error{"GlobalSecondaryIndexes": create, "IndexName": query, "Expected": expected, "AttributeUpdates": legacy} {
		wantCode(t, err, "ValidationException")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	if b.has(1) {
		t.Error("a refused write took effect")
	}
}

func TestUnknownOperationsAreNamed(t *testing.T) {
	b := newBench(t, Options{})
	_, err := b.db.ExecuteStatement(t.Context(), &dynamodb.ExecuteStatementInput{Statement: aws.String("SELECT * FROM x")})
	wantCode(t, err, "UnknownOperationException")
	if !strings.Contains(err.Error(), "ExecuteStatement") {
		t.Errorf("%v does not name the operation", err)
	}
}

func TestIteratorsAreChecked(t *testing.T) {
	it := iterator{Stream: "arn:aws:dynamodb:r:1:table/t/stream/l", Shard: "shardId-1", After: "123456789012345678901", Issued: 5, Empty: 2}
	text := it.String()
	back, err := parseIterator(text)
	if err != nil || back != it {
		t.Fatalf("%+v is read as %+v, %v", it, back, err)
	}
	for i := range len(text) {
		changed := []byte(text)
		changed[i] ^= 1
		if got, err := parseIterator(string(changed)); err == nil && got != it {
			t.Errorf("with byte %d changed it is read as %+v", i, got)
		}
	}
	var refused *apiError
	if _, err := parseIterator(""); !errors.As(err, &refused) || refused.code != "ValidationException" {
		t.Errorf("an empty iterator: %v", err)
	}
}
