package conformance

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docScan = "Developer Guide, Scanning tables in DynamoDB, and API Reference, Scan"

// scannable returns a table of its own with 40 items: 20 partition keys with
// the sort keys 0 and 1.
func (p *probe) scannable() string {
	table := p.ownTable(layout{sort: "N"})
	for i := range 40 {
		p.put(table, item{"pk": str(fmt.Sprintf("p%02d", i/2)), "sk": num(fmt.Sprint(i % 2)), "i": num(fmt.Sprint(i))})
	}
	return table
}

// scanAll follows the pages of a scan and returns how often each item came.
func (p *probe) scanAll(in dynamodb.ScanInput) map[string]int {
	seen := map[string]int{}
	for range 100 {
		out, err := p.target.DynamoDB.Scan(p.ctx, &in)
		p.ok(err, "Scan")
		if in.Limit != nil && out.ScannedCount > *in.Limit {
			p.fatalf("a page of Limit %d has ScannedCount %d", *in.Limit, out.ScannedCount)
		}
		p.same("Count", out.Count, len(out.Items))
		for _, it := range out.Items {
			seen[text(it)]++
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return seen
		}
	}
	p.fatalf("the pages do not end")
	return nil
}

func (p *probe) eachOnce(seen map[string]int, want int) {
	p.same("different items", len(seen), want)
	for it, times := range seen {
		if times != 1 {
			p.errorf("%s was returned %d times, want once", it, times)
		}
	}
}

func scanCases() []Case {
	return []Case{
		{"scan/all", docScan, func(p *probe) {
			table := p.scannable()
			p.eachOnce(p.scanAll(dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}), 40)
		}},
		{"scan/limit", docScan, func(p *probe) {
			table := p.scannable()
			p.eachOnce(p.scanAll(dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(7)}), 40)
		}},
		{"scan/segments", docScan, func(p *probe) {
			table := p.scannable()
			all := map[string]int{}
			for segment := range int32(4) {
				seen := p.scanAll(dynamodb.ScanInput{
					TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(3),
					Segment: aws.Int32(segment), TotalSegments: aws.Int32(4),
				})
				for it, times := range seen {
					all[it] += times
				}
			}
			p.eachOnce(all, 40)
		}},
		{"scan/segments keep collections together", "Developer Guide, Parallel scan", func(p *probe) {
			table := p.scannable()
			segmentOf := map[string]int32{}
			for segment := range int32(3) {
				out, err := p.target.DynamoDB.Scan(p.ctx, &dynamodb.ScanInput{
					TableName: &table, ConsistentRead: aws.Bool(true), Segment: aws.Int32(segment), TotalSegments: aws.Int32(3),
				})
				p.ok(err, "Scan")
				for _, it := range out.Items {
					key := valueText(it["pk"])
					if other, seen := segmentOf[key]; seen && other != segment {
						p.errorf("the items of %s are in the segments %d and %d", key, other, segment)
					}
					segmentOf[key] = segment
				}
			}
			p.same("partition keys found", len(segmentOf), 20)
		}},
		{"scan/bad segments", docScan, func(p *probe) {
			table := p.table(layout{})
			for _, in := range []dynamodb.ScanInput{
				{Segment: aws.Int32(0)},
				{TotalSegments: aws.Int32(2)},
				{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)},
				{Segment: aws.Int32(-1), TotalSegments: aws.Int32(2)},
				{Segment: aws.Int32(0), TotalSegments: aws.Int32(0)},
				{Segment: aws.Int32(0), TotalSegments: aws.Int32(1_000_001)},
				{Limit: aws.Int32(0)},
			} {
				in.TableName = &table
				_, err := p.target.DynamoDB.Scan(p.ctx, &in)
				p.refused(err, fmt.Sprintf("Scan of segment %v of %v, Limit %v", aws.ToInt32(in.Segment), aws.ToInt32(in.TotalSegments), aws.ToInt32(in.Limit)), validation)
			}
		}},
		{"scan/filter", docScan, func(p *probe) {
			table := p.scannable()
			out, err := p.target.DynamoDB.Scan(p.ctx, &dynamodb.ScanInput{
				TableName: &table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("i < :v AND sk = :one"),
				ExpressionAttributeValues: item{":v": num("10"), ":one": num("1")},
			})
			p.ok(err, "Scan")
			p.same("Count", out.Count, 5)
			p.same("ScannedCount", out.ScannedCount, 40)
		}},
		{"scan/projection and COUNT", docScan, func(p *probe) {
			table := p.scannable()
			out, err := p.target.DynamoDB.Scan(p.ctx, &dynamodb.ScanInput{
				TableName: &table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk"), Limit: aws.Int32(1),
			})
			p.ok(err, "Scan")
			if len(out.Items) != 1 || len(out.Items[0]) != 1 || out.Items[0]["sk"] == nil {
				p.errorf("Scan projecting sk: got %v", out.Items)
			}
			out, err = p.target.DynamoDB.Scan(p.ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Select: types.SelectCount})
			p.ok(err, "Scan")
			p.same("Count", out.Count, 40)
			p.same("number of items", len(out.Items), 0)
		}},
		{"scan/1 MB", docScan, func(p *probe) {
			table := p.ownTable(layout{})
			for i := range 12 {
				p.put(table, item{"pk": str(fmt.Sprint(i)), "large": str(fmt.Sprintf("%0102400d", i))})
			}
			out, err := p.target.DynamoDB.Scan(p.ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
			p.ok(err, "Scan")
			p.firstMegabyte(out.Count, out.LastEvaluatedKey)
			p.eachOnce(p.scanAll(dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}), 12)
		}},
	}
}
