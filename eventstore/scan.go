package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// Scan reads one of total segments (0..total-1; 1..1,000,000 in all) of the
// whole table and hands on its items page by page, at most 1 MB each. Reads
// are strongly consistent: what was written before the scan began is in it
// (API Reference, Scan). Segments may be scanned at the same time.
//
// Items come as they are, also those that are no events; Layout tells which
// is which. Today an aggregate's items lie in one segment, in the order of
// their sort keys; AWS does not document that, so whoever needs an aggregate
// whole checks its versions.
//
// An error of page ends the scan and is returned as it is. Every other error
// is an *event.Error.
func (s *Store) Scan(ctx context.Context, segment, total int, page func([]event.Item) error) error {
	op := fmt.Sprintf("scanning segment %d of %d of %s", segment, total, s.table)
	if total < 1 || total > 1_000_000 || segment < 0 || segment >= total {
		return invalid(op, errors.New("segments are 0 to total-1, total 1 to 1000000"))
	}
	var from map[string]types.AttributeValue
	for {
		var out *dynamodb.ScanOutput
		err := s.retry(ctx, op, func(ctx context.Context) (err error) {
			out, err = s.client.Scan(ctx, &dynamodb.ScanInput{
				TableName: &s.table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: from,
				Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(total)),
			})
			return s.classify(op, err)
		})
		if err != nil {
			return err
		}
		if out.Items == nil {
			return invalid(op, errNoItems)
		}
		items := make([]event.Item, len(out.Items))
		for i, raw := range out.Items {
			if items[i], err = awsvalue.Item(raw); err != nil {
				return invalid(op, err)
			}
		}
		if len(items) > 0 {
			if err := page(items); err != nil {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		from = out.LastEvaluatedKey
	}
}

// errNoItems: an answer has items, none at least, unless it is no service's.
// Without this check it would pass for an empty table or aggregate.
var errNoItems = errors.New("the answer has no items")
