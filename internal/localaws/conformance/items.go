package conformance

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docPut    = "API Reference, PutItem"
	docGet    = "API Reference, GetItem"
	docUpdate = "API Reference, UpdateItem"
	docDelete = "API Reference, DeleteItem"
	docLimits = "Developer Guide, Quotas in Amazon DynamoDB"
)

func itemCases() []Case {
	return []Case{
		{"item/put/new", docPut, func(p *probe) {
			table, key := p.simple()
			it := with(key, item{"a": str("one"), "b": num("2")})
			p.put(table, it)
			p.stored(table, key, it)
		}},
		{"item/put/replaces the whole item", docPut, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": str("one"), "b": num("2")}))
			p.put(table, with(key, item{"c": str("three")}))
			p.stored(table, key, with(key, item{"c": str("three")}))
		}},
		{"item/get/missing", docGet, func(p *probe) {
			table, key := p.simple()
			p.stored(table, key, nil)
		}},
		{"item/update/creates", docUpdate, func(p *probe) {
			table, key := p.simple()
			p.update(table, key, "SET a = :a", item{":a": num("1")})
			p.stored(table, key, with(key, item{"a": num("1")}))
		}},
		{"item/update/without an expression", docUpdate, func(p *probe) {
			table, key := p.simple()
			p.ok(p.tryUpdate(table, key, expression{}), "UpdateItem without an expression")
			p.stored(table, key, key)
		}},
		{"item/delete/present", docDelete, func(p *probe) {
			table, key := p.simple()
			p.put(table, key)
			p.delete(table, key)
			p.stored(table, key, nil)
		}},
		{"item/delete/missing", docDelete, func(p *probe) {
			table, key := p.simple()
			p.delete(table, key)
			p.stored(table, key, nil)
		}},
		{"item/sort keys tell items apart", docGet, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeN})
			pk := p.key()
			for _, n := range []string{"1", "-1", "1.5"} {
				p.put(table, item{"pk": pk, "sk": num(n), "v": str("v" + n)})
			}
			for _, n := range []string{"1", "-1", "1.5"} {
				key := item{"pk": pk, "sk": num(n)}
				p.stored(table, key, with(key, item{"v": str("v" + n)}))
			}
		}},
		{"item/keys are not joined", docGet, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			pk := p.key().(*types.AttributeValueMemberS).Value
			first := item{"pk": str(pk + "|S:y"), "sk": str("z")}
			second := item{"pk": str(pk), "sk": str("y|S:z")}
			p.put(table, with(first, item{"v": num("1")}))
			p.put(table, with(second, item{"v": num("2")}))
			p.stored(table, first, with(first, item{"v": num("1")}))
			p.stored(table, second, with(second, item{"v": num("2")}))
		}},
		{"item/missing table", "API Reference, errors of PutItem, GetItem, UpdateItem, DeleteItem, Query, Scan", func(p *probe) {
			table, key := uniqueName("absent"), item{"pk": str("a")}
			db := p.target.DynamoDB
			p.refused(p.tryPut(table, key), "PutItem", notFound)
			p.refused(p.tryUpdate(table, key, expression{}), "UpdateItem", notFound)
			_, err := db.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
			p.refused(err, "GetItem", notFound)
			_, err = db.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
			p.refused(err, "DeleteItem", notFound)
			_, err = db.Scan(p.ctx, &dynamodb.ScanInput{TableName: &table})
			p.refused(err, "Scan", notFound)
			_, err = db.Query(p.ctx, &dynamodb.QueryInput{
				TableName: &table, KeyConditionExpression: aws.String("pk = :a"),
				ExpressionAttributeValues: item{":a": str("a")},
			})
			p.refused(err, "Query", notFound)
		}},
		{"item/size/largest", docLimits, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": str(strings.Repeat("x", 399*1024))}))
		}},
		{"item/size/put too large", docLimits, func(p *probe) {
			table, key := p.simple()
			p.refused(p.tryPut(table, with(key, item{"a": str(strings.Repeat("x", 401*1024))})), "PutItem of 401 KB", validation)
			p.stored(table, key, nil)
		}},
		{"item/size/names count", "Developer Guide, DynamoDB item sizes and formats", func(p *probe) {
			table, key := p.simple()
			it := with(key, item{"a": str(strings.Repeat("x", 380*1024)), strings.Repeat("n", 25*1024): num("1")})
			p.refused(p.tryPut(table, it), "PutItem of 405 KB, names included", validation)
		}},
		{"item/size/update too large", docLimits, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": str(strings.Repeat("x", 300*1024))}))
			err := p.tryUpdate(table, key, expression{text: "SET b = :b", values: item{":b": str(strings.Repeat("x", 150*1024))}})
			p.refused(err, "UpdateItem that grows the item to 450 KB", validation)
			if got := p.get(table, key); len(got) != 2 {
				p.errorf("the refused update changed the item")
			}
		}},
	}
}

// simple returns a table with a partition key only, and a key in it.
func (p *probe) simple() (table string, key item) {
	return p.table(layout{}), item{"pk": p.key()}
}
