package conformance

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const docGetRecords = "API Reference, GetRecords"

func streamPageCases() []Case {
	return []Case{
		{"stream/page/limit", docGetRecords, func(p *probe) {
			_, s, records := p.oneItem(7)
			it := s.iterator(records[0].shard, types.ShardIteratorTypeTrimHorizon, "")
			var sizes []int
			var got []string
			p.until("seven records in pages", func() bool {
				out := s.page(it, 3)
				if n := len(out.Records); n > 0 {
					sizes = append(sizes, n)
				}
				for _, r := range out.Records {
					got = append(got, valueText(fromStream(r.Dynamodb.NewImage)["v"]))
				}
				it = out.NextShardIterator
				return len(got) >= 7 || it == nil
			})
			p.same("versions over all pages", got, versionTexts(1, 7))
			if slices.Max(append(sizes, 0)) > 3 {
				p.errorf("pages of Limit 3 have %v records", sizes)
			}
		}},
		{"stream/page/limit of 1000", docGetRecords, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			it := s.iterator(*s.shards()[0].ShardId, types.ShardIteratorTypeTrimHorizon, "")
			s.page(it, 1000)
			_, err := p.target.Streams.GetRecords(p.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(1001)})
			p.refused(err, "GetRecords with Limit 1001", "LimitExceededException", validation)
			_, err = p.target.Streams.GetRecords(p.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(0)})
			p.refused(err, "GetRecords with Limit 0", validation)
		}},
		{"stream/page/at most 1000 records", docGetRecords, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			key := item{"pk": str("a")}
			const writes = 1100
			for i := range writes { // all to one item, and so to one shard
				p.put(table, with(key, item{"v": num(fmt.Sprint(i))}))
			}
			records := s.all(writes)
			it := s.iterator(records[0].shard, types.ShardIteratorTypeTrimHorizon, "")
			p.until("the first records", func() bool {
				out := s.page(it, 0)
				if n := len(out.Records); n > 1000 {
					p.errorf("a page has %d records, want at most 1000", n)
				}
				it = out.NextShardIterator
				return len(out.Records) > 0
			})
		}},
		{"stream/page/at most 1 MB", docGetRecords, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			for i := range 6 {
				p.put(table, item{"pk": str("a"), "v": num(fmt.Sprint(i + 1)), "large": str(fmt.Sprintf("%0307200d", i))})
			}
			records := s.all(6)
			it := s.iterator(records[0].shard, types.ShardIteratorTypeTrimHorizon, "")
			var got []string
			p.until("six large records", func() bool {
				out := s.page(it, 0)
				// 1 MB holds three of these; a fourth may start within it.
				if n := len(out.Records); n > 4 {
					p.errorf("a page has %d records of 300 KB, want about 1 MB", n)
				}
				for _, r := range out.Records {
					got = append(got, valueText(fromStream(r.Dynamodb.NewImage)["v"]))
				}
				it = out.NextShardIterator
				return len(got) >= 6 || it == nil
			})
			p.same("versions over all pages", got, versionTexts(1, 6))
		}},
		{"stream/page/empty with a next iterator", docGetRecords, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			for _, shard := range s.shards() {
				out := s.page(s.iterator(*shard.ShardId, types.ShardIteratorTypeTrimHorizon, ""), 0)
				if len(out.Records) != 0 || out.NextShardIterator == nil {
					p.errorf("a new shard: got %d records and next iterator %t, want none and one", len(out.Records), out.NextShardIterator != nil)
				}
			}
		}},
	}
}
