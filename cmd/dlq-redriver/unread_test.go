package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/internal/cli"
	"millrace/internal/controlkey"
)

// TestMarkerThatCannotBeRead: it is told of, left alone, and not called "not
// blocked", which would have its operator look elsewhere.
func TestMarkerThatCannotBeRead(t *testing.T) {
	w := incident(t, 2, 0)
	key := controlkey.Marker(w.flags.Group, w.flags.Events, w.flags.View, 1, "gift-000")
	_, err := dynamodb.NewFromConfig(w.engine.Config("hand")).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(w.flags.Control),
		Key: map[string]types.AttributeValue{
			controlkey.PK: &types.AttributeValueMemberS{Value: key.PK}, controlkey.SK: &types.AttributeValueMemberS{Value: key.SK},
		},
		ConditionExpression: aws.String("attribute_exists(pk)"), UpdateExpression: aws.String("SET #state = :v"),
		ExpressionAttributeNames:  map[string]string{"#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberS{Value: "parked"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, out, stderr := w.call("redrive gift-000 gift-001 --execute")
	if !strings.Contains(out, "1 of 1 aggregates are released") || !strings.Contains(stderr, "cannot read is left alone") || strings.Contains(stderr, "is not blocked") {
		t.Errorf("redrive prints\n%s%s", out, stderr)
	}
	if out := w.expect(cli.Done, "groups", "state is unknown"); out != "Nothing is blocked.\n" {
		t.Errorf("groups prints %q", out)
	}
}
