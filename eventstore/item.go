package eventstore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// Item reads one item by its primary key, whatever the layout makes of it; nil
// where there is none. The read is strongly consistent.
func (s *Store) Item(ctx context.Context, key event.Item) (event.Item, error) {
	op := "reading an item of " + s.table
	var out *dynamodb.GetItemOutput
	err := s.retry(ctx, op, func(ctx context.Context) (err error) {
		out, err = s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.table, Key: awsvalue.ToItem(key), ConsistentRead: aws.Bool(true),
		})
		return s.classify(op, err)
	})
	if err != nil || len(out.Item) == 0 {
		return nil, err
	}
	item, err := awsvalue.Item(out.Item)
	if err != nil {
		return nil, invalid(op, err)
	}
	return item, nil
}
