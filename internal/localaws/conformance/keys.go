package conformance

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docKeys = "Developer Guide, Supported data types and naming rules, and API Reference, Key parameters"

// badKeys are keys that do not fit a table with the string keys pk and sk.
func badKeys(pk types.AttributeValue) map[string]item {
	return map[string]item{
		"no sort key":              {"pk": pk},
		"no partition key":         {"sk": str("a")},
		"an empty partition key":   {"pk": str(""), "sk": str("a")},
		"an empty sort key":        {"pk": pk, "sk": str("")},
		"a number for a string":    {"pk": num("1"), "sk": str("a")},
		"a binary for a string":    {"pk": pk, "sk": bin(1)},
		"a null sort key":          {"pk": pk, "sk": null()},
		"a partition key too long": {"pk": str(strings.Repeat("p", 2049)), "sk": str("a")},
		"a sort key too long":      {"pk": pk, "sk": str(strings.Repeat("s", 1025))},
	}
}

func keyCases() []Case {
	return []Case{
		{"key/put/invalid", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			for what, key := range badKeys(p.key()) {
				p.refused(p.tryPut(table, with(key, item{"v": num("1")})), "PutItem with "+what, validation)
			}
		}},
		{"key/get/invalid", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			for what, key := range badKeys(p.key()) {
				_, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
				p.refused(err, "GetItem with "+what, validation)
			}
		}},
		{"key/update/invalid", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			for what, key := range badKeys(p.key()) {
				err := p.tryUpdate(table, key, expression{text: "SET v = :v", values: item{":v": num("1")}})
				p.refused(err, "UpdateItem with "+what, validation)
			}
		}},
		{"key/delete/invalid", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			for what, key := range badKeys(p.key()) {
				_, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
				p.refused(err, "DeleteItem with "+what, validation)
			}
		}},
		{"key/more than the key", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			key := item{"pk": p.key(), "sk": str("a"), "v": num("1")}
			_, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
			p.refused(err, "GetItem with more than the key", validation)
			p.refused(p.tryUpdate(table, key, expression{}), "UpdateItem with more than the key", validation)
		}},
		{"key/longest", docLimits, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeS})
			pk := p.key().(*types.AttributeValueMemberS).Value
			key := item{"pk": str(pk + strings.Repeat("p", 2048-len(pk))), "sk": str(strings.Repeat("s", 1024))}
			p.put(table, key)
			p.stored(table, key, key)
		}},
		{"key/empty binary sort key", docKeys, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeB})
			p.refused(p.tryPut(table, item{"pk": p.key(), "sk": bin()}), "PutItem with an empty binary key", validation)
		}},
	}
}
