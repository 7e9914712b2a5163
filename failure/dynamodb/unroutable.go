package dynamodb

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/awsclient"
	"millrace/internal/awsvalue"
	"millrace/internal/controlkey"
)

// EverySink is the scope of what concerns no sink alone: the unroutable records
// of a group on a table, and their outbox.
func EverySink(group, table string) failure.Scope {
	return failure.Scope{Group: group, Table: table, Sink: failure.EverySink, SinkVersion: 1}
}

// PutUnroutable writes the row of a record and the promise of its letter, both
// or neither. Where the row stands already, written by an earlier attempt or by
// an earlier reader of the shard, nothing is written and nothing is wrong. After
// an error nobody knows whether it took effect; it may be called again. Of class
// event.Permanent is a row that the service does not take as it is.
func (s *Store) PutUnroutable(ctx context.Context, u failure.Unroutable) error {
	const op = "writing an unroutable record and its outbox row"
	row, promise := awsvalue.ToItem(u.Row()), outboxRow(u.RowKey(), failure.Outbox{BlockID: u.ID})
	for name, v := range markerKey(u.RowKey()) {
		row[name] = v
	}
	// Without a token of ours: another reader's row of the same record differs in
	// when it was seen first, and the service would refuse one token for both.
	_, err := s.client.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{
			TableName: aws.String(s.table), Item: row,
			ConditionExpression: aws.String("attribute_not_exists(#pk)"), ExpressionAttributeNames: map[string]string{"#pk": controlkey.PK},
		}},
		{Put: &types.Put{TableName: aws.String(s.table), Item: promise}},
	}})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return s.classify(op, err)
	}
	for _, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "ConditionalCheckFailed":
			return nil
		case "ValidationError":
			return &event.Error{Class: event.Permanent, Op: op, Err: err}
		}
	}
	return &event.Error{Class: event.Transient, Op: op, Err: err} // a conflict or a throttle
}

// Unroutables lists the unroutable records of a group on a table, consistently,
// and the rows among them that this build cannot read.
func (s *Store) Unroutables(ctx context.Context, group, table string) (records []failure.Unroutable, foreign []failure.Foreign, err error) {
	for part := range controlkey.MarkerParts {
		partition := controlkey.Markers(group, table, failure.EverySink, 1, part)
		err := s.rows(ctx, partition, func(name string, row event.Item) {
			u, err := failure.ParseUnroutable(group, table, strings.TrimPrefix(name, failure.LetterPrefix), row)
			if err != nil {
				foreign = append(foreign, failure.Foreign{Row: partition + " / " + name, Name: name, Reason: err.Error()})
				return
			}
			records = append(records, u)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return records, foreign, nil
}

// Unroutable reads one record's row, consistently; nil where there is none.
func (s *Store) Unroutable(ctx context.Context, group, table, id string) (*failure.Unroutable, error) {
	row, err := s.read(ctx, failure.UnroutableKey(group, table, id))
	if err != nil || row == nil {
		return nil, err
	}
	u, err := failure.ParseUnroutable(group, table, id, row)
	if err != nil {
		return nil, &event.Error{Class: event.Permanent, Op: "reading an unroutable record", Err: err, Hint: "another build wrote it, or a hand"}
	}
	return &u, nil
}

// ToldUnroutable notes in a record's row that the queue accepted its letter. A
// row that has ended meanwhile is left ended.
func (s *Store) ToldUnroutable(ctx context.Context, u failure.Unroutable) error {
	_, err := s.client.UpdateItem(ctx, &sdk.UpdateItemInput{
		TableName: aws.String(s.table), Key: markerKey(u.RowKey()),
		ConditionExpression: aws.String("attribute_exists(#pk)"), UpdateExpression: aws.String("SET #notified = :id"),
		ExpressionAttributeNames:  map[string]string{"#pk": controlkey.PK, "#notified": failure.NotifiedAttribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: u.ID}},
	})
	if awsclient.Code(err) == "ConditionalCheckFailedException" {
		return nil
	}
	return s.classify("noting that a letter was sent", err)
}

// EndUnroutable deletes a record's row and the promise of its letter, both or
// neither. It may be called again.
func (s *Store) EndUnroutable(ctx context.Context, u failure.Unroutable) error {
	const op = "ending an unroutable record"
	_, err := s.client.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: aws.String(s.table), Key: markerKey(u.RowKey())}},
		{Delete: &types.Delete{TableName: aws.String(s.table), Key: outboxKey(u.RowKey())}},
	}})
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return &event.Error{Class: event.Transient, Op: op, Err: err}
	}
	return s.classify(op, err)
}
