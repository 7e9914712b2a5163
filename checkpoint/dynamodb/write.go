package dynamodb

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/internal/controlkey"
)

// change is one conditional write of named attributes. Names stand in its
// texts as "#" and the attribute, values as ":" and their name in values.
type change struct {
	op     string // a gerund phrase
	key    controlkey.Key
	update string
	only   []string // conditions, all of which must hold
	values item
}

// apply makes the change. Refused, it returns the row that stands there (nil:
// none) as the refusal itself carries it; otherwise the row after the change.
func (s *Store) apply(ctx context.Context, c change) (row item, refused bool, err error) {
	condition := strings.Join(c.only, " AND ")
	out, err := s.client.UpdateItem(ctx, &sdk.UpdateItemInput{
		TableName:                           aws.String(s.table),
		Key:                                 primary(c.key),
		UpdateExpression:                    aws.String(c.update),
		ConditionExpression:                 aws.String(condition),
		ExpressionAttributeNames:            names(c.update + " " + condition),
		ExpressionAttributeValues:           c.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, true, nil
	}
	if err != nil {
		return nil, false, s.classify(c.op, err)
	}
	return out.Attributes, false, nil
}

// put writes a whole row where none is.
func (s *Store) put(ctx context.Context, op string, row item) error {
	_, err := s.client.PutItem(ctx, &sdk.PutItemInput{
		TableName:                aws.String(s.table),
		Item:                     row,
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": controlkey.PK},
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return nil // somebody made it, perhaps we: it is left alone
	}
	return s.classify(op, err)
}

// names maps each #name of an expression to the attribute of that name. All
// are escaped this way, since DynamoDB reserves words such as owner and state,
// and refuses names that an expression does not use.
func names(expression string) map[string]string {
	found := map[string]string{}
	for {
		_, rest, ok := strings.Cut(expression, "#")
		if !ok {
			return found
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
		if end < 0 {
			end = len(rest)
		}
		found["#"+rest[:end]] = rest[:end]
		expression = rest[end:]
	}
}
