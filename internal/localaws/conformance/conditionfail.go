package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docOnFailure = "API Reference, ReturnValuesOnConditionCheckFailure"

// inExpression compares n with this many values, the last of which matches.
func inExpression(values int) expression {
	e := expression{values: item{}}
	names := make([]string, 0, values)
	for i := range values {
		name := fmt.Sprintf(":v%d", i)
		names = append(names, name)
		e.values[name] = num(fmt.Sprint(10 + values - 1 - i))
	}
	e.text = "n IN (" + strings.Join(names, ", ") + ")"
	return e
}

func conditionFailureCases() []Case {
	const condition = "version = :v"
	values := item{":v": num("1")}
	always, never := types.ReturnValuesOnConditionCheckFailureAllOld, types.ReturnValuesOnConditionCheckFailureNone

	calls := map[string]func(p *probe, table string, key item, rv types.ReturnValuesOnConditionCheckFailure) error{
		"put": func(p *probe, table string, key item, rv types.ReturnValuesOnConditionCheckFailure) error {
			_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{
				TableName: &table, Item: with(key, item{"fresh": num("1")}), ConditionExpression: aws.String(condition),
				ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: rv,
			})
			return err
		},
		"update": func(p *probe, table string, key item, rv types.ReturnValuesOnConditionCheckFailure) error {
			_, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, UpdateExpression: aws.String("SET fresh = :v"), ConditionExpression: aws.String(condition),
				ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: rv,
			})
			return err
		},
		"delete": func(p *probe, table string, key item, rv types.ReturnValuesOnConditionCheckFailure) error {
			_, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{
				TableName: &table, Key: key, ConditionExpression: aws.String(condition),
				ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: rv,
			})
			return err
		},
	}

	var cases []Case
	for _, name := range []string{"put", "update", "delete"} {
		call := calls[name]
		cases = append(cases,
			Case{"condition failure/" + name + "/ALL_OLD", docOnFailure, func(p *probe) {
				table, key := p.simple()
				old := with(key, item{"version": num("2"), "m": dict(item{"x": bin(1, 2)})})
				p.put(table, old)
				p.conditionItem(call(p, table, key, always), old)
				p.stored(table, key, old)
			}},
			Case{"condition failure/" + name + "/NONE", docOnFailure, func(p *probe) {
				table, key := p.simple()
				old := with(key, item{"version": num("2")})
				p.put(table, old)
				p.conditionItem(call(p, table, key, never), nil)
				p.stored(table, key, old)
			}},
			Case{"condition failure/" + name + "/none if it holds", docConditions, func(p *probe) {
				table, key := p.simple()
				p.put(table, with(key, item{"version": num("1")}))
				p.ok(call(p, table, key, always), name+" whose condition holds")
				got := p.get(table, key)
				p.same("the item is there", got != nil, name != "delete")
				p.same("it has the new attribute", got["fresh"] != nil, name != "delete")
			}},
			Case{"condition failure/" + name + "/of nothing", docOnFailure, func(p *probe) {
				table, key := p.simple()
				p.conditionItem(call(p, table, key, always), nil)
				p.stored(table, key, nil)
			}},
		)
	}
	return append(cases, Case{"condition failure/put if absent", "Developer Guide, Preventing overwrites of an existing item", func(p *probe) {
		table, key := p.simple()
		attempt := func(n string) error {
			_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{
				TableName: &table, Item: with(key, item{"n": num(n)}), ConditionExpression: aws.String("attribute_not_exists(pk)"),
			})
			return err
		}
		p.ok(attempt("1"), "the first PutItem if absent")
		p.refused(attempt("2"), "the second PutItem if absent", conditionFailed)
		p.stored(table, key, with(key, item{"n": num("1")}))
	}})
}

// conditionItem checks that err is a failed condition that carries this item.
func (p *probe) conditionItem(err error, want item) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		p.errorf("want a failed condition, got %s", describe(err))
		return
	}
	p.same("the message", failed.ErrorMessage(), "The conditional request failed")
	p.same("the item in the error", text(failed.Item), text(want))
}
