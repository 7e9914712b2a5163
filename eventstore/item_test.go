package eventstore

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
)

// misplace puts an item that names no version into an aggregate's partition.
func misplace(t *testing.T, e *localaws.Engine, key event.Item) {
	t.Helper()
	client := dynamodb.NewFromConfig(e.Config("other"))
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders-events"), Item: awsvalue.ToItem(key)}); err != nil {
		t.Fatal(err)
	}
}

// TestH22_MisplacedItemAmongTheVersions: a sort key of 13 digits lies between
// those of 12. It keeps no reader from the aggregate's events, and no writer is
// told that an aggregate is new whose items its layout cannot read.
func TestH22_MisplacedItemAmongTheVersions(t *testing.T) {
	s, e := opened(t, localaws.Options{})
	fill(t, s, "a", 3, 1)
	key := event.Item{"pk": event.String("a"), "sk": event.String("0000000000025")}
	misplace(t, e, key)
	if events, err := all(t.Context(), s, "a"); err != nil || len(events) != 3 || events[2].Version != 3 {
		t.Errorf("a range shows %d events, %v", len(events), err)
	}
	if head, err := s.Head(t.Context(), "a"); err != nil || head != 3 {
		t.Errorf("the head is %d, %v", head, err)
	}
	count := func(n int, _ event.Event) (int, error) { return n + 1, nil }
	if n, _, err := Load(t.Context(), s, "a", count); event.ClassOf(err) != event.Permanent {
		t.Errorf("a writer loads %d events, %v", n, err)
	}
	if item, err := s.Item(t.Context(), key); err != nil || !item.Equal(key) {
		t.Errorf("by its key it is %v, %v", item, err)
	}
	key["sk"] = event.String("gone")
	if item, err := s.Item(t.Context(), key); err != nil || item != nil {
		t.Errorf("where there is none it is %v, %v", item, err)
	}
}
