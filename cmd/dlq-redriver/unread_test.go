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
	code, out, stderr := w.call("redrive gift-000 gift-001 --execute")
	if code != cli.Partly || !strings.Contains(out, "1 of 1 aggregates are released") || !strings.Contains(stderr, "cannot read is left alone") || strings.Contains(stderr, "is not blocked") {
		t.Errorf("code %d, redrive prints\n%s%s", code, out, stderr)
	}
	if r := lines[redriveResult](t, w.expect(cli.Partly, "redrive --all --execute --output json", "cannot read is left alone"), "millrace.redrive/v1")[0]; r.Unread != 1 || r.Selected != 0 {
		t.Errorf("all are %+v", r)
	}
	if out := w.expect(cli.Done, "groups", "state is unknown"); out != "Nothing is blocked.\n" {
		t.Errorf("groups prints %q", out)
	}
}
