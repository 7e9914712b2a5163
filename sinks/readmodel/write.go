package readmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// conflictError is a failed condition with the item that failed it, nil when
// there is none.
type conflictError struct{ stored event.Item }

func (*conflictError) Error() string { return "the target stands at another position" }

// write moves an item from base to next, under the condition that it stands at
// base and is this sink's. The error is a *conflictError or an *event.Error.
func (s *Sink) write(ctx context.Context, aggregate string, base, next held) error {
	op := fmt.Sprintf("writing %s to read model %s", aggregate, s.options.Table)
	_, err := s.options.Client.UpdateItem(ctx, s.update(aggregate, base, next))
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return s.classify(op, err)
	}
	stored, err := awsvalue.Item(failed.Item)
	if err != nil {
		return &event.Error{Class: event.Permanent, Op: op, Err: err}
	}
	return &conflictError{stored: stored}
}

// update builds the one write. Attributes stand in the order of their names,
// so that the same run is the same request.
func (s *Sink) update(aggregate string, base, next held) *dynamodb.UpdateItemInput {
	var e expression
	var set, remove []string
	assign := func(name string, v event.Value) { set = append(set, e.name(name)+" = "+e.value(v)) }

	position, by := s.options.Position, s.options.Position+ownerSuffix
	assign(position, number(next.position))
	assign(by, event.String(s.owner.text()))
	if s.options.Stamp != "" {
		assign(s.options.Stamp, event.String(s.options.Now().UTC().Format(time.RFC3339Nano)))
	}
	for _, name := range slices.Sorted(maps.Keys(next.own)) {
		assign(name, next.own[name])
	}
	for _, name := range slices.Sorted(maps.Keys(base.own)) {
		if next.own[name] == nil {
			remove = append(remove, e.name(name))
		}
	}
	update := "SET " + strings.Join(set, ", ")
	if len(remove) > 0 {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	condition := "attribute_not_exists(" + e.name(position) + ")"
	if base.position > 0 {
		condition = e.name(position) + " = " + e.value(number(base.position)) +
			" AND " + e.name(by) + " = " + e.value(event.String(s.owner.text()))
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &s.options.Table,
		Key:                                 awsvalue.ToItem(s.key.of(aggregate)),
		UpdateExpression:                    aws.String(update),
		ConditionExpression:                 aws.String(condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func number(n uint64) event.Number { return event.Number(strconv.FormatUint(n, 10)) }

// expression collects placeholders: attribute names may be reserved words or
// hold dots.
type expression struct {
	names  map[string]string
	values map[string]types.AttributeValue
	known  map[string]string // placeholder of a name
}

func (e *expression) name(name string) string {
	if placeholder, ok := e.known[name]; ok {
		return placeholder
	}
	if e.known == nil {
		e.known, e.names = map[string]string{}, map[string]string{}
	}
	placeholder := "#" + strconv.Itoa(len(e.names))
	e.known[name], e.names[placeholder] = placeholder, name
	return placeholder
}

func (e *expression) value(v event.Value) string {
	if e.values == nil {
		e.values = map[string]types.AttributeValue{}
	}
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = awsvalue.To(v)
	return placeholder
}
