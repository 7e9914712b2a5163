package eventstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/awsvalue"
)

// Confirm reads single versions in one transaction and returns those that
// stand, in the order asked for. Where a Query can see some items of another
// transaction and not yet the others, this read sees all of them or none
// (Developer Guide, "Amazon DynamoDB Transactions: How it works", isolation
// levels), so a version that is missing here is missing.
//
// At most MaxTransactionItems versions, which together must not exceed
// MaxTransactionBytes, else the service refuses the read.
func (s *Store) Confirm(ctx context.Context, aggregate string, versions []uint64) ([]event.Event, error) {
	op := "confirming versions of " + aggregate
	partition, err := s.partition(aggregate)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, nil
	}
	if n := len(versions); n > MaxTransactionItems {
		return nil, invalid(op, &LimitError{
			Limit: "the read", Unit: "versions", Found: uint64(n), Max: MaxTransactionItems, Advice: "ask in several steps",
		})
	}
	for _, v := range versions {
		if v == 0 || v > s.layout.MaxVersion() {
			return nil, invalid(op, fmt.Errorf("version %d: the layout has 1 to %d", v, s.layout.MaxVersion()))
		}
	}
	var items []event.Item
	err = s.retry(ctx, op, func(ctx context.Context) (err error) {
		items, err = s.get(ctx, partition, versions)
		return awsclient.Classify(op, err)
	})
	if err != nil {
		return nil, err
	}
	var present []event.Event
	for _, item := range items {
		if item == nil {
			continue
		}
		e, isEvent, err := s.layout.FromItem(item)
		if err != nil {
			return nil, invalid(op, err)
		}
		if isEvent {
			present = append(present, e)
		}
	}
	return present, nil
}

// get reads the items of versions at one instant, in that order; nil for one
// that does not stand. It makes one attempt.
func (s *Store) get(ctx context.Context, partition event.Value, versions []uint64) ([]event.Item, error) {
	const op = "reading versions in one transaction"
	gets := make([]types.TransactGetItem, len(versions))
	for i, v := range versions {
		gets[i].Get = &types.Get{TableName: &s.table, Key: awsvalue.ToItem(s.key(partition, v))}
	}
	out, err := s.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		return nil, s.classifyCancelled(op, err)
	}
	if len(out.Responses) != len(versions) {
		return nil, invalid(op, fmt.Errorf("%d answers to %d keys", len(out.Responses), len(versions)))
	}
	items := make([]event.Item, len(versions))
	for i, r := range out.Responses {
		if len(r.Item) == 0 {
			continue
		}
		if items[i], err = awsvalue.Item(r.Item); err != nil {
			return nil, invalid(op, err)
		}
	}
	return items, nil
}
