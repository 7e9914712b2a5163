package eventstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// MaxPage is the most events in one page of a range. DynamoDB ends a page
// after 1 MB as well (API Reference, Query).
const MaxPage = 1000

// Range reads the versions from..to, both included, and hands them on in
// order, page by page: at most MaxPage events or 1 MB. Reads are strongly
// consistent. Newest reads to the end.
//
// It hands on what stands and says nothing of what is missing: the caller
// demands its versions. An item whose key lies among them and names none, such
// as one with too many digits, is passed over as well: it must not keep anybody
// from the aggregate's events. Each page is a read of its own, and one page may show
// part of an append that is just taking effect, so a version that seems to be
// missing is asked for again with Confirm before it counts as missing.
//
// An error of page ends the range and is returned as it is. Every other error
// is an *event.Error. A page is not kept or reused after it was handed on.
func (s *Store) Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error {
	return s.each(ctx, aggregate, from, to, false, page)
}

// each is Range; strict ends it at an item that names no version. A writer must
// not take a table for empty because its layout does not fit.
func (s *Store) each(ctx context.Context, aggregate string, from, to uint64, strict bool, page func([]event.Event) error) error {
	from, to = max(from, 1), min(to, s.layout.MaxVersion())
	if from > to {
		return nil
	}
	op := fmt.Sprintf("reading versions of %s from %d on", aggregate, from)
	partition, err := s.partition(aggregate)
	if err != nil {
		return err
	}
	query := s.query(partition, from, to)
	query.Limit = aws.Int32(MaxPage)
	for {
		events, next, err := s.page(ctx, op, query, strict)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			if err := page(events); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		query.ExclusiveStartKey = next
	}
}

// Head is the newest version that stands, 0 for an aggregate without events.
// The read is strongly consistent.
func (s *Store) Head(ctx context.Context, aggregate string) (uint64, error) {
	op := "reading the head of " + aggregate
	partition, err := s.partition(aggregate)
	if err != nil {
		return 0, err
	}
	query := s.query(partition, 1, s.layout.MaxVersion())
	query.ScanIndexForward = aws.Bool(false)
	query.Limit = aws.Int32(1)
	for {
		events, next, err := s.page(ctx, op, query, false)
		if err != nil {
			return 0, err
		}
		if len(events) > 0 {
			return events[0].Version, nil
		}
		if next == nil {
			return 0, nil
		}
		query.ExclusiveStartKey = next // past an item that is no event
	}
}

// query asks for the versions from..to and so leaves out whatever else lies
// in the partition under a sort key that is none of these.
func (s *Store) query(partition event.Value, from, to uint64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                &s.table,
		ConsistentRead:           aws.Bool(true),
		KeyConditionExpression:   aws.String("#aggregate = :aggregate AND #version BETWEEN :from AND :to"),
		ExpressionAttributeNames: map[string]string{"#aggregate": s.layout.Aggregate, "#version": s.layout.Version},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":aggregate": awsvalue.To(partition),
			":from":      awsvalue.To(s.layout.VersionKey(from)),
			":to":        awsvalue.To(s.layout.VersionKey(to)),
		},
	}
}

// page makes one query, repeated within the budget, and returns its events
// and where the next page starts; nil after the last.
func (s *Store) page(ctx context.Context, op string, query *dynamodb.QueryInput, strict bool) ([]event.Event, map[string]types.AttributeValue, error) {
	var out *dynamodb.QueryOutput
	err := s.retry(ctx, op, func(ctx context.Context) (err error) {
		out, err = s.client.Query(ctx, query)
		return s.classify(op, err)
	})
	if err != nil {
		return nil, nil, err
	}
	if out.Items == nil {
		return nil, nil, invalid(op, errNoItems)
	}
	events := make([]event.Event, 0, len(out.Items))
	for _, raw := range out.Items {
		item, err := awsvalue.Item(raw)
		if err != nil {
			return nil, nil, invalid(op, err)
		}
		e, isEvent, err := s.layout.FromItem(item)
		switch {
		case err != nil && strict:
			return nil, nil, invalid(op, err)
		case err == nil && isEvent:
			events = append(events, e)
		}
	}
	if len(out.LastEvaluatedKey) == 0 {
		return events, nil, nil
	}
	return events, out.LastEvaluatedKey, nil
}
