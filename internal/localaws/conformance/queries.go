package conformance

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docQuery    = "Developer Guide, Key condition expressions for the Query operation"
	docFilter   = "Developer Guide, Filter expressions for the Query operation"
	docQueryAPI = "API Reference, Query"
)

// A collection is the items of one partition key.
type collection struct {
	*probe
	table string
	pk    types.AttributeValue
}

// collection returns one with these sort keys, written in another order than
// they sort in.
func (p *probe) collection(kind types.ScalarAttributeType, sortKeys ...types.AttributeValue) collection {
	c := collection{p, p.table(layout{sort: kind}), p.key()}
	for i := range sortKeys {
		// 11 has no factor in common with the length of any of our lists, so
		// that every key is written once.
		p.put(c.table, item{"pk": c.pk, "sk": sortKeys[(i*11+3)%len(sortKeys)]})
	}
	return c
}

func numbers(texts ...string) []types.AttributeValue {
	values := make([]types.AttributeValue, 0, len(texts))
	for _, s := range texts {
		values = append(values, num(s))
	}
	return values
}

func words(texts ...string) []types.AttributeValue {
	values := make([]types.AttributeValue, 0, len(texts))
	for _, s := range texts {
		values = append(values, str(s))
	}
	return values
}

// query runs a query of the collection; condition restricts the sort key.
func (c collection) query(condition string, values item, adjust func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{
		TableName:                 &c.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk" + condition),
		ExpressionAttributeValues: with(item{":pk": c.pk}, values),
	}
	if adjust != nil {
		adjust(in)
	}
	return c.target.DynamoDB.Query(c.ctx, in)
}

// finds checks which sort keys a query returns, and in which order.
func (c collection) finds(condition string, values item, adjust func(*dynamodb.QueryInput), want ...types.AttributeValue) {
	out, err := c.query(condition, values, adjust)
	if err != nil {
		c.errorf("Query of pk%s: %v", condition, err)
		return
	}
	c.same("sort keys of Query of pk"+condition, sortKeyText(out.Items), valueText(list(want...)))
	c.same("Count", out.Count, len(want))
}

func sortKeyText(items []map[string]types.AttributeValue) string {
	keys := make([]types.AttributeValue, 0, len(items))
	for _, it := range items {
		keys = append(keys, it["sk"])
	}
	return valueText(list(keys...))
}

func descending(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false) }

func queryCases() []Case {
	return []Case{
		{"query/order/numbers", docQueryAPI, func(p *probe) {
			sorted := numbers("-100", "-2", "-0.5", "0", "0.25", "1", "2", "9", "10", "100", "9007199254740992", "9007199254740993")
			p.collection("N", sorted...).finds("", nil, nil, sorted...)
		}},
		{"query/order/strings by UTF-8 bytes", docQueryAPI, func(p *probe) {
			sorted := words("A", "B", "Z", "a", "aa", "ab", "b", "é", "水", "\U0001F600")
			p.collection("S", sorted...).finds("", nil, nil, sorted...)
		}},
		{"query/order/binary unsigned", docQueryAPI, func(p *probe) {
			sorted := []types.AttributeValue{bin(0), bin(0, 0), bin(1), bin(0x7f), bin(0x7f, 1), bin(0x80), bin(0xff)}
			p.collection("B", sorted...).finds("", nil, nil, sorted...)
		}},
		{"query/order/descending", docQueryAPI, func(p *probe) {
			p.collection("N", numbers("1", "2", "10")...).finds("", nil, descending, numbers("10", "2", "1")...)
		}},
		{"query/range/comparators", docQuery, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3", "10")...)
			v := item{":v": num("2")}
			c.finds(" AND sk = :v", v, nil, numbers("2")...)
			c.finds(" AND sk < :v", v, nil, numbers("1")...)
			c.finds(" AND sk <= :v", v, nil, numbers("1", "2")...)
			c.finds(" AND sk > :v", v, nil, numbers("3", "10")...)
			c.finds(" AND sk >= :v", v, nil, numbers("2", "3", "10")...)
			c.finds(" AND sk > :v", v, descending, numbers("10", "3")...)
		}},
		{"query/range/between", docQuery, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3", "10")...)
			c.finds(" AND sk BETWEEN :a AND :b", item{":a": num("2"), ":b": num("9")}, nil, numbers("2", "3")...)
			c.finds(" AND sk BETWEEN :a AND :b", item{":a": num("1"), ":b": num("10")}, descending, numbers("10", "3", "2", "1")...)
			c.finds(" AND sk BETWEEN :a AND :b", item{":a": num("4"), ":b": num("9")}, nil)
		}},
		{"query/range/begins_with", docQuery, func(p *probe) {
			c := p.collection("S", words("a", "ab", "ab1", "ab2", "abc", "ac", "b")...)
			c.finds(" AND begins_with(sk, :v)", item{":v": str("ab")}, nil, words("ab", "ab1", "ab2", "abc")...)
			c.finds(" AND begins_with(sk, :v)", item{":v": str("x")}, nil)
		}},
		{"query/range/begins_with binary", docQuery, func(p *probe) {
			c := p.collection("B", bin(1), bin(1, 0xff), bin(1, 0xff, 1), bin(2))
			c.finds(" AND begins_with(sk, :v)", item{":v": bin(1, 0xff)}, nil, bin(1, 0xff), bin(1, 0xff, 1))
		}},
		{"query/condition/either order and brackets", docQuery, func(p *probe) {
			c := p.collection("N", numbers("1", "2")...)
			for _, condition := range []string{"sk > :v AND pk = :pk", "(pk = :pk) AND (sk > :v)", "(pk = :pk and sk > :v)", "#p = :pk AND #s > :v"} {
				c.finds("", item{":v": num("1")}, func(in *dynamodb.QueryInput) {
					in.KeyConditionExpression = &condition
					if strings.Contains(condition, "#") {
						in.ExpressionAttributeNames = map[string]string{"#p": "pk", "#s": "sk"}
					}
				}, num("2"))
			}
		}},
		{"query/condition/refused", docQuery, func(p *probe) {
			c := p.collection("S", str("a"))
			v := item{":pk": c.pk, ":v": str("a")}
			for condition, values := range map[string]item{
				"sk = :v":                             {":v": str("a")},
				"pk > :pk":                            {":pk": c.pk},
				"pk = :pk AND sk <> :v":               v,
				"pk = :pk OR sk = :v":                 v,
				"pk = :pk AND NOT sk = :v":            v,
				"pk = :pk AND contains(sk, :v)":       v,
				"pk = :pk AND sk IN (:v)":             v,
				"pk = :pk AND other = :v":             v,
				"pk = :pk AND sk > :v AND sk < :w":    with(v, item{":w": str("z")}),
				"pk = :pk AND sk = :n":                {":pk": c.pk, ":n": num("1")},
				"pk = :n":                             {":n": num("1")},
				"pk = :e":                             {":e": str("")},
				"begins_with(pk, :pk)":                {":pk": c.pk},
				"pk = :pk AND sk BETWEEN :w AND :v":   with(v, item{":w": str("z")}),
				"pk = :pk AND attribute_exists(sk)":   {":pk": c.pk},
				"pk = :pk AND sk = :v AND sk = :pk":   v,
				"pk = :pk AND begins_with(sk, :none)": {":pk": c.pk},
			} {
				_, err := c.query("", nil, func(in *dynamodb.QueryInput) {
					in.KeyConditionExpression, in.ExpressionAttributeValues = &condition, values
				})
				p.refused(err, "Query of "+condition, validation)
			}
		}},
		{"query/condition/begins_with number", docQuery, func(p *probe) {
			c := p.collection("N", num("1"))
			_, err := c.query(" AND begins_with(sk, :v)", item{":v": num("1")}, nil)
			p.refused(err, "Query with begins_with of a number", validation)
		}},
		{"query/condition/none", docQueryAPI, func(p *probe) {
			table := p.table(layout{sort: "N"})
			_, err := p.target.DynamoDB.Query(p.ctx, &dynamodb.QueryInput{TableName: &table})
			p.refused(err, "Query without a key condition", validation)
		}},
		{"query/no items", docQueryAPI, func(p *probe) {
			out, err := p.collection("N").query("", nil, nil)
			p.ok(err, "Query")
			p.same("Count", out.Count, 0)
			if out.LastEvaluatedKey != nil {
				p.errorf("LastEvaluatedKey: got %s, want none", text(out.LastEvaluatedKey))
			}
		}},
		{"query/without a sort key", docQueryAPI, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, item{"a": num("1")}))
			out, err := collection{p, table, key["pk"]}.query("", nil, nil)
			p.ok(err, "Query")
			if len(out.Items) != 1 || text(out.Items[0]) != text(with(key, item{"a": num("1")})) {
				p.errorf("got %d items, want the one", len(out.Items))
			}
		}},
		{"query/filter/counts", docFilter, func(p *probe) {
			c := p.filtered()
			out, err := c.query("", item{":v": num("1")}, func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("odd = :v") })
			p.ok(err, "Query")
			p.same("Count", out.Count, 5)
			p.same("ScannedCount", out.ScannedCount, 10)
			p.same("sort keys", sortKeyText(out.Items), valueText(list(numbers("1", "3", "5", "7", "9")...)))
		}},
		{"query/filter/after the limit", docFilter, func(p *probe) {
			c := p.filtered()
			out, err := c.query("", item{":v": num("1")}, func(in *dynamodb.QueryInput) {
				in.FilterExpression, in.Limit = aws.String("odd = :v"), aws.Int32(4)
			})
			p.ok(err, "Query")
			p.same("Count", out.Count, 2)
			p.same("ScannedCount", out.ScannedCount, 4)
			if out.LastEvaluatedKey == nil {
				p.errorf("LastEvaluatedKey is missing after 4 of 10 items")
			}
		}},
		{"query/filter/nothing found still pages", docFilter, func(p *probe) {
			c := p.filtered()
			out, err := c.query("", item{":v": num("7")}, func(in *dynamodb.QueryInput) {
				in.FilterExpression, in.Limit = aws.String("odd = :v"), aws.Int32(4)
			})
			p.ok(err, "Query")
			p.same("Count", out.Count, 0)
			p.same("LastEvaluatedKey", text(out.LastEvaluatedKey), text(item{"pk": c.pk, "sk": num("3")}))
		}},
		{"query/filter/key attribute", docFilter, func(p *probe) {
			c := p.filtered()
			_, err := c.query("", item{":v": num("3")}, func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("sk > :v") })
			p.refused(err, "Query that filters by the sort key", validation)
		}},
		{"query/select/COUNT", docQueryAPI, func(p *probe) {
			out, err := p.filtered().query("", nil, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
			p.ok(err, "Query")
			p.same("Count", out.Count, 10)
			p.same("ScannedCount", out.ScannedCount, 10)
			p.same("number of items", len(out.Items), 0)
		}},
		{"query/select/COUNT with a projection", docQueryAPI, func(p *probe) {
			_, err := p.filtered().query("", nil, func(in *dynamodb.QueryInput) {
				in.Select, in.ProjectionExpression = types.SelectCount, aws.String("odd")
			})
			p.refused(err, "Query of COUNT with a projection", validation)
		}},
		{"query/projection", docQueryAPI, func(p *probe) {
			c := p.filtered()
			out, err := c.query(" AND sk < :v", item{":v": num("2")}, func(in *dynamodb.QueryInput) {
				in.ProjectionExpression = aws.String("sk, odd")
			})
			p.ok(err, "Query")
			if len(out.Items) != 2 {
				p.fatalf("got %d items, want 2", len(out.Items))
			}
			p.same("item", text(out.Items[1]), text(item{"sk": num("1"), "odd": num("1")}))
		}},
	}
}

// filtered returns a collection of 0 to 9, the odd ones with odd = 1.
func (p *probe) filtered() collection {
	c := collection{p, p.table(layout{sort: "N"}), p.key()}
	for i, digit := range strings.Split("0123456789", "") {
		it := item{"pk": c.pk, "sk": num(digit)}
		if i%2 == 1 {
			it["odd"] = num("1")
		}
		p.put(c.table, it)
	}
	return c
}
