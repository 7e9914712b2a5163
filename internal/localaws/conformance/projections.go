package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const docProjections = "Developer Guide, Using projection expressions in DynamoDB"

func projectionCases() []Case {
	full := item{
		"a": num("1"), "b": str("two"),
		"l": list(str("l0"), dict(item{"x": num("1"), "y": num("2")}), str("l2")),
		"m": dict(item{"x": num("1"), "y": dict(item{"z": str("deep"), "w": num("0")})}),
	}
	tests := []struct {
		name  string
		text  string
		names map[string]string
		want  item
	}{
		{"top level", "a, b", nil, item{"a": num("1"), "b": str("two")}},
		{"absent", "a, nope", nil, item{"a": num("1")}},
		{"nothing of the item", "nope", nil, item{}},
		{"nested", "m.y.z", nil, item{"m": dict(item{"y": dict(item{"z": str("deep")})})}},
		{"two of one map", "m.x, m.y.w", nil, item{"m": dict(item{"x": num("1"), "y": dict(item{"w": num("0")})})}},
		{"list element", "l[1].y", nil, item{"l": list(dict(item{"y": num("2")}))}},
		{"list elements close up", "l[2], l[0]", nil, item{"l": list(str("l0"), str("l2"))}},
		{"beyond the list", "a, l[9]", nil, item{"a": num("1")}},
		{"placeholders", "#a, #m.#y.w", map[string]string{"#a": "a", "#m": "m", "#y": "y"}, item{"a": num("1"), "m": dict(item{"y": dict(item{"w": num("0")})})}},
	}
	cases := make([]Case, 0, len(tests)+1)
	for _, tc := range tests {
		cases = append(cases, Case{"projection/" + tc.name, docProjections, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, full))
			out, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{
				TableName: &table, Key: key, ConsistentRead: aws.Bool(true),
				ProjectionExpression: &tc.text, ExpressionAttributeNames: tc.names,
			})
			p.ok(err, "GetItem projecting "+tc.text)
			p.same("the item", text(out.Item), text(tc.want))
		}})
	}
	return append(cases, Case{"projection/refused", docProjections, func(p *probe) {
		table, key := p.simple()
		p.put(table, with(key, full))
		for _, bad := range []string{"a,", "a b", "m.", "l[x]", "a, a", "m, m.x", "status", "#undefined", ""} {
			_, err := p.target.DynamoDB.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ProjectionExpression: &bad})
			p.refused(err, "GetItem projecting "+bad, validation)
		}
	}})
}
