package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression is an expression with its placeholders, as several calls take it.
type expression struct {
	text   string
	names  map[string]string
	values item
}

// optional returns nil for the empty string: DynamoDB refuses an empty
// expression, which is not the same as none.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (p *probe) put(table string, it item) {
	_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: it})
	p.ok(err, "PutItem")
}

func (p *probe) tryPut(table string, it item) error {
	_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: it})
	return err
}

// get reads one item, strongly consistent; nil if there is none.
func (p *probe) get(table string, key item) item {
	out, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	p.ok(err, "GetItem")
	return out.Item
}

// stored compares an item of the table with want; nil wants no item.
func (p *probe) stored(table string, key, want item) {
	got := p.get(table, key)
	if (got == nil) != (want == nil) {
		p.errorf("the stored item: got %s (found: %t), want %s (found: %t)", clip(text(got)), got != nil, clip(text(want)), want != nil)
		return
	}
	p.same("the stored item", text(got), text(want))
}

func (p *probe) tryUpdate(table string, key item, update expression) error {
	_, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, UpdateExpression: optional(update.text),
		ExpressionAttributeNames: update.names, ExpressionAttributeValues: update.values,
	})
	return err
}

func (p *probe) update(table string, key item, text string, values item) {
	p.ok(p.tryUpdate(table, key, expression{text: text, values: values}), "UpdateItem "+text)
}

func (p *probe) delete(table string, key item) {
	_, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
	p.ok(err, "DeleteItem")
}

func transactPut(table string, it item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: it}}
}

func (p *probe) transact(items ...types.TransactWriteItem) error {
	// Not nil, which the client itself would refuse.
	_, err := p.target.DynamoDB.TransactWriteItems(p.ctx, &dynamodb.TransactWriteItemsInput{TransactItems: append([]types.TransactWriteItem{}, items...)})
	return err
}
