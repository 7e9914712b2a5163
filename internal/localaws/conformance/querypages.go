package conformance

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docPaging = "Developer Guide, Paginating table query results in DynamoDB"

func queryPageCases() []Case {
	return []Case{
		{"query/page/limit", docPaging, func(p *probe) { p.pagesOfQuery(false) }},
		{"query/page/limit descending", docPaging, func(p *probe) { p.pagesOfQuery(true) }},
		{"query/page/last key", docPaging, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3")...)
			out, err := c.query("", nil, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(2) })
			p.ok(err, "Query")
			p.same("LastEvaluatedKey", text(out.LastEvaluatedKey), text(item{"pk": c.pk, "sk": num("2")}))
		}},
		{"query/page/no key after the end", docPaging, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3")...)
			out, err := c.query("", nil, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(4) })
			p.ok(err, "Query")
			if out.LastEvaluatedKey != nil {
				p.errorf("LastEvaluatedKey: got %s, want none", text(out.LastEvaluatedKey))
			}
		}},
		{"query/page/start at a deleted item", docPaging, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3", "4")...)
			start := item{"pk": c.pk, "sk": num("2")}
			p.delete(c.table, start)
			c.finds("", nil, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = start }, numbers("3", "4")...)
			c.finds("", nil, func(in *dynamodb.QueryInput) {
				in.ExclusiveStartKey, in.ScanIndexForward = start, aws.Bool(false)
			}, numbers("1")...)
		}},
		{"query/page/start inside a range", docPaging, func(p *probe) {
			c := p.collection("N", numbers("1", "2", "3", "4", "5")...)
			c.finds(" AND sk BETWEEN :a AND :b", item{":a": num("2"), ":b": num("4")}, func(in *dynamodb.QueryInput) {
				in.ExclusiveStartKey = item{"pk": c.pk, "sk": num("2")}
			}, numbers("3", "4")...)
		}},
		{"query/page/bad limit", docQueryAPI, func(p *probe) {
			for _, limit := range []int32{0, -1} {
				_, err := p.collection("N").query("", nil, func(in *dynamodb.QueryInput) { in.Limit = &limit })
				p.refused(err, fmt.Sprintf("Query with Limit %d", limit), validation)
			}
		}},
		{"query/page/bad start key", docQueryAPI, func(p *probe) {
			c := p.collection("N", num("1"))
			for what, start := range map[string]item{
				"no sort key":       {"pk": c.pk},
				"a wrong type":      {"pk": c.pk, "sk": str("1")},
				"another partition": {"pk": p.key(), "sk": num("1")},
			} {
				_, err := c.query("", nil, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = start })
				p.refused(err, "Query that starts after a key with "+what, validation)
			}
		}},
		{"query/page/1 MB", docPaging, func(p *probe) {
			c := p.large(12)
			out, err := c.query("", nil, nil)
			p.ok(err, "Query")
			p.firstMegabyte(out.Count, out.LastEvaluatedKey)
			rest, err := c.query("", nil, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = out.LastEvaluatedKey })
			p.ok(err, "Query")
			p.same("items of both pages", out.Count+rest.Count, 12)
		}},
		{"query/page/1 MB before the filter", docFilter, func(p *probe) {
			out, err := p.large(12).query("", item{":v": num("0")}, func(in *dynamodb.QueryInput) {
				in.FilterExpression, in.ProjectionExpression = aws.String("small = :v"), aws.String("small")
			})
			p.ok(err, "Query")
			p.firstMegabyte(out.ScannedCount, out.LastEvaluatedKey)
		}},
		{"query/page/1 MB with COUNT", docPaging, func(p *probe) {
			out, err := p.large(12).query("", nil, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
			p.ok(err, "Query")
			p.firstMegabyte(out.Count, out.LastEvaluatedKey)
		}},
	}
}

func (p *probe) pagesOfQuery(backward bool) {
	want := numbers("1", "2", "3", "4", "5", "6", "7")
	c := p.collection("N", want...)
	if backward {
		want = numbers("7", "6", "5", "4", "3", "2", "1")
	}
	var got []map[string]types.AttributeValue
	var start item
	for range 10 {
		out, err := c.query("", nil, func(in *dynamodb.QueryInput) {
			in.Limit, in.ExclusiveStartKey, in.ScanIndexForward = aws.Int32(3), start, aws.Bool(!backward)
		})
		p.ok(err, "Query")
		if out.Count > 3 {
			p.fatalf("a page of Limit 3 has %d items", out.Count)
		}
		got = append(got, out.Items...)
		if start = out.LastEvaluatedKey; start == nil {
			p.same("sort keys over all pages", sortKeyText(got), valueText(list(want...)))
			return
		}
	}
	p.errorf("the pages do not end")
}

// large returns a collection of items of 100 KB each. Every one has small = 1.
func (p *probe) large(items int) collection {
	c := collection{p, p.table(layout{sort: "N"}), p.key()}
	for i := range items {
		p.put(c.table, item{"pk": c.pk, "sk": num(fmt.Sprint(i)), "small": num("1"), "large": str(strings.Repeat("x", 100*1024))})
	}
	return c
}

// firstMegabyte checks the count of a page over items of 100 KB: AWS promises
// the page's limit, but not on which side of it the last item falls.
func (p *probe) firstMegabyte(items int32, last item) {
	if items < 9 || items > 11 {
		p.errorf("a page over items of 100 KB has %d of them, want about 10", items)
	}
	if last == nil {
		p.fatalf("LastEvaluatedKey is missing after the first MB")
	}
}
