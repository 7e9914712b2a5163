package eventstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// Append writes events as the versions after expected, all or none, and
// returns the newest version: expected + len(events). Without events it
// returns expected and makes no call.
//
// The caller must have read version expected (0 for a new aggregate): the
// store's condition is that the new keys are free, and nothing else keeps a
// hole from being written.
//
// Errors: *Conflict for a lost race, *LimitError for what the service would
// refuse, found before any call, *Unsettled when it is not known whether the
// events stand. Every other error is an *event.Error, and the events do not
// stand. Throttles and errors of the service are retried within the budget
// and never taken for a lost race.
func (s *Store) Append(ctx context.Context, aggregate string, expected uint64, events ...NewEvent) (uint64, error) {
	if len(events) == 0 {
		return expected, nil
	}
	p, err := s.plan(aggregate, expected, events)
	if err != nil {
		return 0, err
	}
	if err := s.commit(ctx, p); err != nil {
		return 0, err
	}
	return p.last(), nil
}

// commit writes a plan and finds out whether it stands.
func (s *Store) commit(ctx context.Context, p *plan) error {
	write := s.put
	if len(p.items) > 1 || s.layout.Head.Key != "" {
		write = s.transact
	}
	err := s.retry(ctx, "append|"+p.id, func(ctx context.Context) error { return write(ctx, p) })
	var conflict *Conflict
	if err == nil || !p.unsettled || errors.As(err, &conflict) {
		return err
	}
	// A later attempt's throttle says nothing about an earlier one that had no
	// answer: it may stand, or land yet.
	return &Unsettled{Aggregate: p.aggregate, Expected: p.expected, Events: len(p.items), Err: err}
}

// put writes the one item of a plan.
func (s *Store) put(ctx context.Context, p *plan) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &s.table,
		Item:                                awsvalue.ToItem(p.items[0]),
		ConditionExpression:                 aws.String("attribute_not_exists(#key)"),
		ExpressionAttributeNames:            map[string]string{"#key": s.layout.Aggregate},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		stands, err := awsvalue.Item(failed.Item)
		if err != nil {
			return invalid(p.op(), err)
		}
		return s.settle(ctx, p, []event.Item{stands})
	}
	return s.classify(p.op(), p.sent(err))
}

// transact writes all items of a plan or none, with the head where the layout
// has one.
func (s *Store) transact(ctx context.Context, p *plan) error {
	writes := make([]types.TransactWriteItem, len(p.items))
	for i, item := range p.items {
		writes[i].Put = &types.Put{
			TableName:                           &s.table,
			Item:                                awsvalue.ToItem(item),
			ConditionExpression:                 aws.String("attribute_not_exists(#key)"),
			ExpressionAttributeNames:            map[string]string{"#key": s.layout.Aggregate},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	}
	if s.layout.Head.Key != "" {
		writes = append(writes, types.TransactWriteItem{Update: s.moveHead(p)})
	}
	_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems:      writes,
		ClientRequestToken: aws.String(s.token(p)),
	})
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return s.judge(ctx, p, cancelled)
	}
	return s.classify(p.op(), p.sent(err))
}

// token makes every attempt of one append the same request to the service,
// which answers a repetition within 10 minutes as it answered the first (API
// Reference, TransactWriteItems). It has at most 36 characters.
func (s *Store) token(p *plan) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q", s.table, p.aggregate, p.expected, p.id))
	return hex.EncodeToString(sum[:16])
}
