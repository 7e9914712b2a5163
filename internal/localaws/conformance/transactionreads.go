package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func transactionReadCases() []Case {
	const doc = "API Reference, TransactGetItems"
	get := func(p *probe, table string, keys ...map[string]types.AttributeValue) (*dynamodb.TransactGetItemsOutput, error) {
		items := make([]types.TransactGetItem, 0, len(keys))
		for _, key := range keys {
			items = append(items, types.TransactGetItem{Get: &types.Get{TableName: &table, Key: key}})
		}
		return p.target.DynamoDB.TransactGetItems(p.ctx, &dynamodb.TransactGetItemsInput{TransactItems: items})
	}
	return []Case{
		{"transaction/get/in order", doc, func(p *probe) {
			table, keys := p.batchKeys(3)
			p.put(table, with(keys[0], item{"a": num("1")}))
			p.put(table, with(keys[2], item{"a": num("3")}))
			out, err := get(p, table, keys[2], keys[1], keys[0])
			p.ok(err, "TransactGetItems")
			if len(out.Responses) != 3 {
				p.fatalf("got %d responses, want 3", len(out.Responses))
			}
			p.same("first", text(out.Responses[0].Item), text(with(keys[2], item{"a": num("3")})))
			p.same("second, missing", text(out.Responses[1].Item), text(nil))
			p.same("third", text(out.Responses[2].Item), text(with(keys[0], item{"a": num("1")})))
		}},
		{"transaction/get/projection", doc, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": num("1"), "b": num("2")}))
			out, err := p.target.DynamoDB.TransactGetItems(p.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{
				Get: &types.Get{TableName: &table, Key: key, ProjectionExpression: aws.String("#b"), ExpressionAttributeNames: map[string]string{"#b": "b"}},
			}}})
			p.ok(err, "TransactGetItems")
			if len(out.Responses) != 1 {
				p.fatalf("got %d responses, want 1", len(out.Responses))
			}
			p.same("the item", text(out.Responses[0].Item), text(item{"b": num("2")}))
		}},
		{"transaction/get/101", doc, func(p *probe) {
			table, keys := p.batchKeys(101)
			_, err := get(p, table, keys...)
			p.refused(err, "TransactGetItems of 101", validation)
			_, err = get(p, table, keys[:100]...)
			p.ok(err, "TransactGetItems of 100")
		}},
		{"transaction/get/a missing table", doc, func(p *probe) {
			_, err := get(p, uniqueName("absent"), item{"pk": str("a")})
			p.refused(err, "TransactGetItems from a missing table", notFound)
		}},
	}
}
