package position

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/controlkey"
	"millrace/sinks"
)

// Move moves the position of an aggregate from one version to a later one,
// when the target has accepted all that lies between, and returns the position
// that stands then. That is to, also where an earlier call that lost its
// answer had got there, and another where the row was not at from: what to
// make of that is the caller's business, and no error.
//
// An error for which awsclient.Unanswered is true is a lost answer: the move
// may have happened, or may still happen. After any other nothing has changed.
func (s *Store) Move(ctx context.Context, id sinks.Identity, aggregate string, from, to event.Position) (event.Position, error) {
	op := fmt.Sprintf("moving the position of %s from %d to %d", aggregate, from.Version, to.Version)
	if to.Version <= from.Version {
		// A position that falls makes versions count as not applied that a
		// marker's release relied on.
		return event.Position{}, &event.Error{Class: event.Permanent, Op: op, Err: errBackwards}
	}
	condition := "#schema = :schema AND #position = :from"
	values := item{
		":schema": schema(),
		":from":   number(from.Version),
		":to":     number(to.Version),
	}
	if from.Version == 0 {
		condition = "attribute_not_exists(#position) AND (attribute_not_exists(#schema) OR #schema = :schema)"
		delete(values, ":from")
	}
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           aws.String(s.table),
		Key:                                 key(id, aggregate),
		UpdateExpression:                    aws.String("SET #schema = :schema, #position = :to"),
		ConditionExpression:                 aws.String(condition),
		ExpressionAttributeNames:            map[string]string{"#schema": controlkey.Schema, "#position": attribute},
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return decode(op, refused.Item)
	case err != nil:
		return event.Position{}, s.classify(op, err)
	}
	return to, nil
}

var errBackwards = errors.New("a position never falls")
