package conformance

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docBatchGet   = "API Reference, BatchGetItem"
	docBatchWrite = "API Reference, BatchWriteItem"
)

func batchPut(it item) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
}

func batchDelete(key item) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}}
}

// tryBatchWrite writes one batch and repeats what DynamoDB left unprocessed.
func (p *probe) tryBatchWrite(table string, requests ...types.WriteRequest) error {
	pending := map[string][]types.WriteRequest{table: requests}
	for len(pending) > 0 {
		out, err := p.target.DynamoDB.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{RequestItems: pending})
		if err != nil {
			return err
		}
		if pending = out.UnprocessedItems; len(pending) > 0 {
			p.pause()
		}
	}
	return nil
}

// tryBatchGet reads the keys of one batch and repeats what DynamoDB left
// unprocessed.
func (p *probe) tryBatchGet(table string, keys types.KeysAndAttributes) ([]map[string]types.AttributeValue, error) {
	keys.ConsistentRead = aws.Bool(true)
	pending := map[string]types.KeysAndAttributes{table: keys}
	var items []map[string]types.AttributeValue
	for len(pending) > 0 {
		out, err := p.target.DynamoDB.BatchGetItem(p.ctx, &dynamodb.BatchGetItemInput{RequestItems: pending})
		if err != nil {
			return nil, err
		}
		items = append(items, out.Responses[table]...)
		if pending = out.UnprocessedKeys; len(pending) > 0 {
			p.pause()
		}
	}
	return items, nil
}

// batchKeys returns this many keys of a shared table.
func (p *probe) batchKeys(n int) (table string, keys []map[string]types.AttributeValue) {
	table = p.table(layout{})
	prefix := p.key().(*types.AttributeValueMemberS).Value
	for i := range n {
		keys = append(keys, item{"pk": str(fmt.Sprintf("%s-%d", prefix, i))})
	}
	return table, keys
}

func batchCases() []Case {
	return []Case{
		{"batch/write/puts and deletes", docBatchWrite, func(p *probe) {
			table, keys := p.batchKeys(25)
			for _, key := range keys[:5] {
				p.put(table, key)
			}
			var requests []types.WriteRequest
			for i, key := range keys {
				if i < 5 {
					requests = append(requests, batchDelete(key))
				} else {
					requests = append(requests, batchPut(with(key, item{"i": num(fmt.Sprint(i))})))
				}
			}
			p.ok(p.tryBatchWrite(table, requests...), "BatchWriteItem")
			for i, key := range keys {
				if i < 5 {
					p.stored(table, key, nil)
				} else {
					p.stored(table, key, with(key, item{"i": num(fmt.Sprint(i))}))
				}
			}
		}},
		{"batch/write/26", docBatchWrite, func(p *probe) {
			table, keys := p.batchKeys(26)
			var requests []types.WriteRequest
			for _, key := range keys {
				requests = append(requests, batchPut(key))
			}
			p.refused(p.tryBatchWrite(table, requests...), "BatchWriteItem of 26", validation)
			p.stored(table, keys[0], nil)
		}},
		{"batch/write/one item twice", docBatchWrite, func(p *probe) {
			table, keys := p.batchKeys(2)
			p.refused(p.tryBatchWrite(table, batchPut(keys[0]), batchPut(with(keys[0], item{"a": num("1")}))), "two puts of one item", validation)
			p.refused(p.tryBatchWrite(table, batchPut(keys[0]), batchPut(keys[1]), batchDelete(keys[0])), "put and delete of one item", validation)
			p.stored(table, keys[1], nil)
		}},
		{"batch/write/an invalid item", docBatchWrite, func(p *probe) {
			table, keys := p.batchKeys(1)
			p.refused(p.tryBatchWrite(table, batchPut(keys[0]), batchPut(item{"a": num("1")})), "an item without a key", validation)
			p.refused(p.tryBatchWrite(table, batchPut(keys[0]), batchPut(item{"pk": str(strings.Repeat("p", 2049))})), "an item whose key is too long", validation)
			p.refused(p.tryBatchWrite(table, batchPut(keys[0]), batchPut(item{"pk": p.key(), "a": str(strings.Repeat("x", 401*1024))})), "an item of 401 KB", validation)
			p.stored(table, keys[0], nil)
		}},
		{"batch/write/a missing table", docBatchWrite, func(p *probe) {
			table, keys := p.batchKeys(1)
			_, err := p.target.DynamoDB.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				table: {batchPut(keys[0])}, uniqueName("absent"): {batchPut(keys[0])},
			}})
			p.refused(err, "BatchWriteItem to a missing table", notFound)
			p.stored(table, keys[0], nil)
		}},
		{"batch/write/empty", docBatchWrite, func(p *probe) {
			_, err := p.target.DynamoDB.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}})
			p.refused(err, "BatchWriteItem of nothing", validation)
			p.refused(p.tryBatchWrite(p.table(layout{})), "BatchWriteItem of nothing in a table", validation)
		}},
		{"batch/get/found and missing", docBatchGet, func(p *probe) {
			table, keys := p.batchKeys(100)
			want := map[string]bool{}
			for i := range 20 {
				it := with(keys[i*5], item{"i": num(fmt.Sprint(i))})
				p.put(table, it)
				want[text(it)] = true
			}
			got, err := p.tryBatchGet(table, types.KeysAndAttributes{Keys: keys})
			p.ok(err, "BatchGetItem of 100")
			p.same("number of items", len(got), 20)
			for _, it := range got {
				if !want[text(it)] {
					p.errorf("unexpected item %s", text(it))
				}
			}
		}},
		{"batch/get/101", docBatchGet, func(p *probe) {
			table, keys := p.batchKeys(101)
			_, err := p.tryBatchGet(table, types.KeysAndAttributes{Keys: keys})
			p.refused(err, "BatchGetItem of 101", validation)
		}},
		{"batch/get/one key twice", docBatchGet, func(p *probe) {
			table, keys := p.batchKeys(2)
			_, err := p.tryBatchGet(table, types.KeysAndAttributes{Keys: append(keys, keys[0])})
			p.refused(err, "BatchGetItem with a key twice", validation)
		}},
		{"batch/get/projection", docBatchGet, func(p *probe) {
			table, keys := p.batchKeys(1)
			p.put(table, with(keys[0], item{"a": num("1"), "status": num("2")}))
			got, err := p.tryBatchGet(table, types.KeysAndAttributes{
				Keys: keys, ProjectionExpression: aws.String("#s"), ExpressionAttributeNames: map[string]string{"#s": "status"},
			})
			p.ok(err, "BatchGetItem")
			if len(got) != 1 || text(got[0]) != text(item{"status": num("2")}) {
				p.errorf("got %v, want the projected item", got)
			}
		}},
		{"batch/get/a missing table", docBatchGet, func(p *probe) {
			_, err := p.tryBatchGet(uniqueName("absent"), types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{{"pk": str("a")}}})
			p.refused(err, "BatchGetItem from a missing table", notFound)
		}},
		{"batch/get/an invalid key", docBatchGet, func(p *probe) {
			for _, key := range []item{{"pk": num("1")}, {"pk": str("")}, {"other": str("a")}, {"pk": str("a"), "more": str("b")}} {
				_, err := p.tryBatchGet(p.table(layout{}), types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{key}})
				p.refused(err, "BatchGetItem of "+text(key), validation)
			}
		}},
	}
}
