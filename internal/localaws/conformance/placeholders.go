package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	docNamesInExpressions  = "Developer Guide, Expression attribute names (aliases) in DynamoDB"
	docValuesInExpressions = "Developer Guide, Using expression attribute values in DynamoDB"
	docReserved            = "Developer Guide, Reserved words in DynamoDB"
)

func placeholderCases() []Case {
	return []Case{
		{"placeholder/unused name", docNamesInExpressions, func(p *probe) {
			table, key := p.simple()
			err := p.tryUpdate(table, key, expression{"SET a = :v", map[string]string{"#unused": "b"}, item{":v": num("1")}})
			p.refused(err, "UpdateItem with an unused name", validation)
		}},
		{"placeholder/unused value", docValuesInExpressions, func(p *probe) {
			table, key := p.simple()
			err := p.tryUpdate(table, key, expression{"SET a = :v", nil, item{":v": num("1"), ":unused": num("2")}})
			p.refused(err, "UpdateItem with an unused value", validation)
		}},
		{"placeholder/unused in put", docValuesInExpressions, func(p *probe) {
			table, key := p.simple()
			_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{
				TableName: &table, Item: key, ConditionExpression: aws.String("attribute_not_exists(a)"),
				ExpressionAttributeValues: item{":unused": num("1")},
			})
			p.refused(err, "PutItem with an unused value", validation)
		}},
		{"placeholder/unused in query", docValuesInExpressions, func(p *probe) {
			table, key := p.simple()
			_, err := p.target.DynamoDB.Query(p.ctx, &dynamodb.QueryInput{
				TableName: &table, KeyConditionExpression: aws.String("pk = :k"),
				ExpressionAttributeValues: item{":k": key["pk"], ":unused": num("1")},
			})
			p.refused(err, "Query with an unused value", validation)
		}},
		{"placeholder/names without an expression", docNamesInExpressions, func(p *probe) {
			table, key := p.simple()
			_, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{
				TableName: &table, Key: key, ExpressionAttributeNames: map[string]string{"#a": "a"},
			})
			p.refused(err, "GetItem with names and no expression", validation)
		}},
		{"placeholder/shared by condition and update", docValuesInExpressions, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": num("1")}))
			_, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, UpdateExpression: aws.String("SET #a = :new"), ConditionExpression: aws.String("#a = :old"),
				ExpressionAttributeNames:  map[string]string{"#a": "a"},
				ExpressionAttributeValues: item{":new": num("2"), ":old": num("1")},
			})
			p.ok(err, "UpdateItem")
			p.stored(table, key, with(key, item{"a": num("2")}))
		}},
		{"placeholder/malformed", docNamesInExpressions, func(p *probe) {
			table, key := p.simple()
			err := p.tryUpdate(table, key, expression{"SET a = :v", map[string]string{"nohash": "b"}, item{":v": num("1")}})
			p.refused(err, "UpdateItem with a name that has no #", validation)
			err = p.tryUpdate(table, key, expression{"SET a = :v", nil, item{":v": num("1"), "nocolon": num("1")}})
			p.refused(err, "UpdateItem with a value that has no colon", validation)
		}},
		{"placeholder/empty expression", docUpdate, func(p *probe) {
			table, key := p.simple()
			_, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: aws.String("")})
			p.refused(err, "UpdateItem with an empty expression", validation)
		}},
		{"placeholder/invalid value", docValuesInExpressions, func(p *probe) {
			table, key := p.simple()
			err := p.tryUpdate(table, key, expression{text: "SET a = :v", values: item{":v": num("not a number")}})
			p.refused(err, "UpdateItem with a value that is no number", validation)
			err = p.tryUpdate(table, key, expression{text: "SET a = :v", values: item{":v": strs()}})
			p.refused(err, "UpdateItem with an empty set", validation)
		}},
		{"reserved word/refused", docReserved, func(p *probe) {
			table, key := p.simple()
			for _, word := range []string{"status", "Name", "VALUE", "count", "ttl", "data", "position", "timestamp", "type", "key", "size", "user", "owner"} {
				err := p.tryUpdate(table, key, expression{text: "SET " + word + " = :v", values: item{":v": num("1")}})
				p.refused(err, "UpdateItem SET "+word, validation)
			}
		}},
		{"reserved word/in a path", docReserved, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"m": dict(item{"status": num("1")})}))
			err := p.tryUpdate(table, key, expression{text: "SET m.status = :v", values: item{":v": num("1")}})
			p.refused(err, "UpdateItem SET m.status", validation)
		}},
		{"reserved word/in a condition", docReserved, func(p *probe) {
			table, key := p.simple()
			_, err := p.conditionalUpdate(table, key, expression{text: "status = :v", values: item{":v": num("1")}})
			p.refused(err, "UpdateItem if status = :v", validation)
		}},
		{"reserved word/by placeholder", docReserved, func(p *probe) {
			table, key := p.simple()
			err := p.tryUpdate(table, key, expression{"SET #s = :v", map[string]string{"#s": "status"}, item{":v": num("1")}})
			p.ok(err, "UpdateItem SET #s")
			p.stored(table, key, with(key, item{"status": num("1")}))
		}},
		{"reserved word/not reserved", docReserved, func(p *probe) {
			table, key := p.simple()
			it := item{}
			for _, word := range []string{"pid", "version", "lease", "amount", "statuses", "name2", "checkpoint_x", "Versions"} {
				p.update(table, key, "SET "+word+" = :v", item{":v": num("1")})
				it[word] = num("1")
			}
			p.stored(table, key, with(key, it))
		}},
	}
}
