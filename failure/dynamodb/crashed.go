package dynamodb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/awsclient"
	"millrace/internal/controlkey"
)

// Crashed lists the markers of a sink that are not live and of class crash,
// consistently.
//
// Every worker asks when it begins, and cannot begin without an answer, so this
// must not mean reading 64 partitions: a block of that class has a row of its
// own in one. Rows whose block is over are deleted on the way.
func (s *Store) Crashed(ctx context.Context, scope failure.Scope) ([]failure.Marker, error) {
	blocks := map[string]string{} // by aggregate
	partition := controlkey.Crashes(scope.Group, scope.Table, scope.Sink, scope.SinkVersion)
	err := s.rows(ctx, partition, func(aggregate string, row event.Item) {
		id, _ := row[failure.BlockIDAttribute].(event.String)
		blocks[aggregate] = string(id)
	})
	if err != nil {
		return nil, err
	}
	var markers []failure.Marker
	for aggregate, block := range blocks {
		key := scope.Key(aggregate)
		marker, err := s.Get(ctx, key)
		switch {
		case event.ClassOf(err) == event.Permanent:
			// Nobody can read what is on its record. It must not be tried by who
			// begins, and must not keep anybody from beginning.
			markers = append(markers, failure.Marker{Key: key, State: failure.Blocked, BlockID: block})
		case err != nil:
			return nil, err
		case marker.NotLive() && marker.BlockID == block:
			markers = append(markers, marker)
		default:
			if err := s.uncrash(ctx, key, block); err != nil {
				return nil, err
			}
		}
	}
	return markers, nil
}

// crashRow is the row of a block of class crash.
func (s *Store) crashRow(k failure.Key, block string) types.TransactWriteItem {
	row := rowOf(k, controlkey.Crash(k.Group, k.Table, k.Sink, k.SinkVersion, k.Aggregate))
	row[controlkey.Schema] = &types.AttributeValueMemberN{Value: "1"}
	row[failure.BlockIDAttribute] = &types.AttributeValueMemberS{Value: block}
	return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(s.table), Item: row}}
}

// uncrash deletes the row of a block that is over, unless a newer block has
// replaced it.
func (s *Store) uncrash(ctx context.Context, k failure.Key, block string) error {
	_, err := s.client.DeleteItem(ctx, &sdk.DeleteItemInput{
		TableName: aws.String(s.table), Key: keyOf(controlkey.Crash(k.Group, k.Table, k.Sink, k.SinkVersion, k.Aggregate)),
		ConditionExpression:       aws.String("#id = :id"),
		ExpressionAttributeNames:  map[string]string{"#id": failure.BlockIDAttribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: block}},
	})
	if awsclient.Code(err) == "ConditionalCheckFailedException" {
		return nil
	}
	return s.classify("deleting the row of a crash that is over", err)
}
