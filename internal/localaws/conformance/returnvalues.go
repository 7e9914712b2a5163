package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func returnValueCases() []Case {
	cases := []Case{
		{"return values/put/ALL_OLD", docPut + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": num("1")}))
			out, err := p.putReturning(table, with(key, item{"a": num("2")}), types.ReturnValueAllOld)
			p.ok(err, "PutItem")
			p.same("the old item", text(out.Attributes), text(with(key, item{"a": num("1")})))
		}},
		{"return values/put/ALL_OLD of nothing", docPut + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			out, err := p.putReturning(table, key, types.ReturnValueAllOld)
			p.ok(err, "PutItem")
			p.same("the old item", text(out.Attributes), text(nil))
		}},
		{"return values/put/NONE", docPut + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			p.put(table, key)
			out, err := p.putReturning(table, key, types.ReturnValueNone)
			p.ok(err, "PutItem")
			p.same("attributes", text(out.Attributes), text(nil))
		}},
		{"return values/put/others refused", docPut + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			for _, rv := range []types.ReturnValue{types.ReturnValueAllNew, types.ReturnValueUpdatedNew, types.ReturnValueUpdatedOld, "SOME"} {
				_, err := p.putReturning(table, key, rv)
				p.refused(err, "PutItem returning "+string(rv), validation)
			}
		}},
		{"return values/delete/ALL_OLD", docDelete + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": num("1")}))
			out, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnValues: types.ReturnValueAllOld})
			p.ok(err, "DeleteItem")
			p.same("the old item", text(out.Attributes), text(with(key, item{"a": num("1")})))
		}},
		{"return values/delete/others refused", docDelete + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			_, err := p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnValues: types.ReturnValueAllNew})
			p.refused(err, "DeleteItem returning ALL_NEW", validation)
		}},
	}

	// The update changes a, adds b, removes c, and leaves d alone.
	before := item{"a": num("1"), "c": num("3"), "d": num("4")}
	for _, tc := range []struct {
		kind types.ReturnValue
		want item
		all  bool // want has the key as well
	}{
		{types.ReturnValueNone, nil, false},
		{types.ReturnValueAllOld, before, true},
		{types.ReturnValueUpdatedOld, item{"a": num("1"), "c": num("3")}, false},
		{types.ReturnValueAllNew, item{"a": num("10"), "b": num("2"), "d": num("4")}, true},
		{types.ReturnValueUpdatedNew, item{"a": num("10"), "b": num("2")}, false},
	} {
		cases = append(cases, Case{"return values/update/" + string(tc.kind), docUpdate + ": ReturnValues", func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, before))
			want := tc.want
			if tc.all {
				want = with(key, want)
			}
			out, err := p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, ReturnValues: tc.kind,
				UpdateExpression:          aws.String("SET a = :a, b = :b REMOVE c"),
				ExpressionAttributeValues: item{":a": num("10"), ":b": num("2")},
			})
			p.ok(err, "UpdateItem")
			p.same("attributes", text(out.Attributes), text(want))
		}})
	}
	return cases
}

func (p *probe) putReturning(table string, it item, kind types.ReturnValue) (*dynamodb.PutItemOutput, error) {
	return p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: it, ReturnValues: kind})
}
