package conformance

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docCapacity = "Developer Guide, DynamoDB read and write operations: capacity unit consumption"

const total = types.ReturnConsumedCapacityTotal

func (p *probe) consumed(call string, got *types.ConsumedCapacity, table string, units float64) {
	if got == nil {
		p.errorf("%s: ConsumedCapacity is missing", call)
		return
	}
	p.same("TableName of "+call, aws.ToString(got.TableName), table)
	p.same("CapacityUnits of "+call, aws.ToFloat64(got.CapacityUnits), units)
}

// sized returns an item of about this many bytes.
func sized(key item, bytes int) item {
	return with(key, item{"a": str(strings.Repeat("x", bytes-40))})
}

func capacityCases() []Case {
	put := func(p *probe, it item) *types.ConsumedCapacity {
		table := p.table(layout{})
		out, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: it, ReturnConsumedCapacity: total})
		p.ok(err, "PutItem")
		return out.ConsumedCapacity
	}
	return []Case{
		{"capacity/put", docCapacity, func(p *probe) {
			table, key := p.simple()
			p.consumed("PutItem of 0.5 KB", put(p, sized(key, 512)), table, 1)
			p.consumed("PutItem of 3.5 KB", put(p, sized(item{"pk": p.key()}, 3584)), table, 4)
		}},
		{"capacity/not asked for", docPut, func(p *probe) {
			table, key := p.simple()
			out, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: key})
			p.ok(err, "PutItem")
			if out.ConsumedCapacity != nil {
				p.errorf("ConsumedCapacity is returned though nobody asked")
			}
		}},
		{"capacity/get", docCapacity, func(p *probe) {
			table, key := p.simple()
			p.put(table, sized(key, 6*1024))
			for consistent, units := range map[bool]float64{true: 2, false: 1} {
				out, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: total})
				p.ok(err, "GetItem")
				p.consumed("GetItem of 6 KB", out.ConsumedCapacity, table, units)
			}
		}},
		{"capacity/get of nothing", docCapacity, func(p *probe) {
			table, key := p.simple()
			out, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ReturnConsumedCapacity: total})
			p.ok(err, "GetItem")
			p.consumed("GetItem of a missing item", out.ConsumedCapacity, table, 0.5)
		}},
		{"capacity/update and delete", docCapacity, func(p *probe) {
			table, key := p.simple()
			p.put(table, sized(key, 2560))
			updated, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, UpdateExpression: aws.String("SET n = :v"),
				ExpressionAttributeValues: item{":v": num("1")}, ReturnConsumedCapacity: total,
			})
			p.ok(err, "UpdateItem")
			p.consumed("UpdateItem of 2.5 KB", updated.ConsumedCapacity, table, 3)
			deleted, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnConsumedCapacity: total})
			p.ok(err, "DeleteItem")
			p.consumed("DeleteItem of 2.5 KB", deleted.ConsumedCapacity, table, 3)
		}},
		{"capacity/query adds sizes before rounding", docCapacity, func(p *probe) {
			c := collection{p, p.table(layout{sort: "N"}), p.key()}
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				p.put(c.table, sized(item{"pk": c.pk, "sk": num(n)}, 1024))
			}
			out, err := c.query("", nil, func(in *dynamodb.QueryInput) { in.ReturnConsumedCapacity = total })
			p.ok(err, "Query")
			p.consumed("consistent Query of 5 KB", out.ConsumedCapacity, c.table, 2)
		}},
		{"capacity/transaction", docCapacity, func(p *probe) {
			table, keys := p.batchKeys(2)
			out, err := p.target.DynamoDB.TransactWriteItems(p.ctx, &dynamodb.TransactWriteItemsInput{
				TransactItems:          []types.TransactWriteItem{transactPut(table, keys[0]), transactPut(table, keys[1])},
				ReturnConsumedCapacity: total,
			})
			p.ok(err, "TransactWriteItems")
			if len(out.ConsumedCapacity) != 1 {
				p.fatalf("ConsumedCapacity has %d entries, want one for the table", len(out.ConsumedCapacity))
			}
			p.consumed("TransactWriteItems of two small items", &out.ConsumedCapacity[0], table, 4)
		}},
		{"capacity/batch write", docCapacity, func(p *probe) {
			table, keys := p.batchKeys(3)
			out, err := p.target.DynamoDB.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{
				RequestItems:           map[string][]types.WriteRequest{table: {batchPut(keys[0]), batchPut(keys[1]), batchPut(keys[2])}},
				ReturnConsumedCapacity: total,
			})
			p.ok(err, "BatchWriteItem")
			if len(out.ConsumedCapacity) != 1 {
				p.fatalf("ConsumedCapacity has %d entries, want one for the table", len(out.ConsumedCapacity))
			}
			p.consumed("BatchWriteItem of three small items", &out.ConsumedCapacity[0], table, 3)
		}},
	}
}
