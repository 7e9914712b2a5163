package dynamodb

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/awsclient"
	"millrace/internal/awsvalue"
	"millrace/internal/controlkey"
)

// Options configures a Store.
type Options struct {
	// Client calls DynamoDB. It should not retry by itself: the same transition
	// may simply be applied again, and the row tells what became of it.
	Client *sdk.Client
	// Table is the control table. Default: millrace.
	Table string
}

// Store keeps markers in the control table. Errors carry their class
// (event.ClassOf). It is safe for concurrent use.
type Store struct {
	client *sdk.Client
	table  string
}

// New returns a store. It makes no call.
func New(o Options) *Store {
	if o.Table == "" {
		o.Table = "millrace"
	}
	return &Store{client: o.Client, table: o.Table}
}

// Apply makes one conditional write and says what came of it, with the row as
// it stands then. After an error nobody knows whether it took effect; the very
// same transition may be applied again.
func (s *Store) Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error) {
	if controlkey.Hashed(key.Aggregate) {
		t.Update = append(slices.Clip(t.Update), failure.Action{Attribute: controlkey.Aggregate, Value: event.String(key.Aggregate)})
	}
	r, err := render(t)
	if err != nil {
		return 0, failure.Marker{}, &event.Error{Class: event.Permanent, Op: "writing a marker", Err: err}
	}
	row, held, err := s.write(ctx, key, t, r)
	if err != nil {
		return 0, failure.Marker{}, err
	}
	verdict := failure.Applied
	if !held {
		verdict = failure.Judge(t, row)
	}
	marker, err := failure.ParseMarker(key, row)
	if err != nil {
		return 0, failure.Marker{}, &event.Error{Class: event.Permanent, Op: "writing a marker", Err: err, Hint: "another build wrote it, or a hand"}
	}
	return verdict, marker, nil
}

// write returns the row after the write, and whether its condition held.
func (s *Store) write(ctx context.Context, key failure.Key, t failure.Transition, r rendered) (event.Item, bool, error) {
	const op = "writing a marker"
	at := markerKey(key)
	if t.Outbox != nil {
		return s.writeBoth(ctx, key, t, r)
	}
	out, err := s.client.UpdateItem(ctx, &sdk.UpdateItemInput{
		TableName: aws.String(s.table), Key: at,
		ConditionExpression: aws.String(r.condition), UpdateExpression: aws.String(r.update),
		ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		row, err := awsvalue.Item(refused.Item)
		return row, false, s.classify(op, err)
	case err != nil:
		return nil, false, s.classify(op, err)
	}
	row, err := awsvalue.Item(out.Attributes)
	return row, true, s.classify(op, err)
}

// writeBoth writes the marker and its outbox row in one transaction: a block
// and the promise of its letter stand together or not at all.
func (s *Store) writeBoth(ctx context.Context, key failure.Key, t failure.Transition, r rendered) (event.Item, bool, error) {
	const op = "writing a marker and its outbox row"
	promise := outboxRow(key, *t.Outbox)
	writes := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: aws.String(s.table), Key: markerKey(key),
			ConditionExpression: aws.String(r.condition), UpdateExpression: aws.String(r.update),
			ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		{Put: &types.Put{TableName: aws.String(s.table), Item: promise}},
	}
	if t.Crash {
		writes = append(writes, s.crashRow(key, t.Outbox.BlockID))
	}
	_, err := s.client.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{
		ClientRequestToken: aws.String(token(key, t.Outbox.BlockID)), TransactItems: writes,
	})
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		// A transaction returns no item.
		row, err := s.read(ctx, key)
		return row, true, err
	case !errors.As(err, &cancelled):
		return nil, false, s.classify(op, err)
	}
	for _, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			row, err := awsvalue.Item(reason.Item)
			return row, false, s.classify(op, err)
		}
	}
	// A conflict with another transaction, or a throttle: nothing took effect.
	return nil, false, &event.Error{Class: event.Transient, Op: op, Err: err}
}

// token is the same for the same block sent twice, which is one block then, and
// another for every other one. The service takes up to 36 characters.
func token(key failure.Key, blockID string) string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%q %q", key.String(), blockID)
	return hex.EncodeToString(h.Sum(nil))
}

// Get reads one marker, consistently. No row is a live marker.
func (s *Store) Get(ctx context.Context, key failure.Key) (failure.Marker, error) {
	row, err := s.read(ctx, key)
	if err != nil {
		return failure.Marker{}, err
	}
	marker, err := failure.ParseMarker(key, row)
	if err != nil {
		return failure.Marker{}, &event.Error{Class: event.Permanent, Op: "reading a marker", Err: err, Hint: "another build wrote it, or a hand"}
	}
	return marker, nil
}

func (s *Store) read(ctx context.Context, key failure.Key) (event.Item, error) {
	out, err := s.client.GetItem(ctx, &sdk.GetItemInput{
		TableName: aws.String(s.table), Key: markerKey(key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, s.classify("reading a marker", err)
	}
	row, err := awsvalue.Item(out.Item)
	return row, s.classify("reading a marker", err)
}

func markerKey(k failure.Key) map[string]types.AttributeValue {
	return keyOf(controlkey.Marker(k.Group, k.Table, k.Sink, k.SinkVersion, k.Aggregate))
}

func outboxRow(k failure.Key, o failure.Outbox) map[string]types.AttributeValue {
	row := rowOf(k, controlkey.Outbox(k.Group, k.Table, k.Sink, k.SinkVersion, k.Aggregate))
	row[controlkey.Schema] = &types.AttributeValueMemberN{Value: "1"}
	row["blockId"] = &types.AttributeValueMemberS{Value: o.BlockID}
	row["version"] = awsvalue.To(failure.VersionValue(o.Version))
	return row
}

func outboxKey(k failure.Key) map[string]types.AttributeValue {
	return keyOf(controlkey.Outbox(k.Group, k.Table, k.Sink, k.SinkVersion, k.Aggregate))
}

// rowOf begins a row of an aggregate.
func rowOf(k failure.Key, at controlkey.Key) map[string]types.AttributeValue {
	row := keyOf(at)
	if controlkey.Hashed(k.Aggregate) {
		row[controlkey.Aggregate] = &types.AttributeValueMemberS{Value: k.Aggregate}
	}
	return row
}

func keyOf(k controlkey.Key) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		controlkey.PK: &types.AttributeValueMemberS{Value: k.PK},
		controlkey.SK: &types.AttributeValueMemberS{Value: k.SK},
	}
}

func (s *Store) classify(op string, err error) error {
	return awsclient.ClassifyAt(op, "control table", s.table, err)
}
