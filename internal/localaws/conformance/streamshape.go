package conformance

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	docListStreams    = "API Reference, ListStreams"
	docDescribeStream = "API Reference, DescribeStream and StreamDescription"
	docShard          = "API Reference, Shard and SequenceNumberRange"
)

func streamShapeCases() []Case {
	return []Case{
		{"stream/list/of a table", docListStreams, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			out, err := p.target.Streams.ListStreams(p.ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
			p.ok(err, "ListStreams")
			if len(out.Streams) != 1 {
				p.fatalf("ListStreams of the table: got %d streams, want 1", len(out.Streams))
			}
			p.same("StreamArn", aws.ToString(out.Streams[0].StreamArn), s.arn)
			p.same("TableName", aws.ToString(out.Streams[0].TableName), table)
			p.same("StreamLabel", aws.ToString(out.Streams[0].StreamLabel), aws.ToString(p.describeTable(table).LatestStreamLabel))
		}},
		{"stream/list/paging", docListStreams, func(p *probe) {
			want := map[string]int{}
			for range 3 {
				_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
				want[s.arn] = 0
			}
			var start *string
			for {
				out, err := p.target.Streams.ListStreams(p.ctx, &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(2), ExclusiveStartStreamArn: start})
				p.ok(err, "ListStreams")
				if len(out.Streams) > 2 {
					p.fatalf("ListStreams with Limit 2 returned %d streams", len(out.Streams))
				}
				for _, one := range out.Streams {
					if _, mine := want[aws.ToString(one.StreamArn)]; mine {
						want[*one.StreamArn]++
					}
				}
				if start = out.LastEvaluatedStreamArn; start == nil {
					break
				}
			}
			for arn, times := range want {
				if times != 1 {
					p.errorf("%s was listed %d times, want once", arn, times)
				}
			}
		}},
		{"stream/describe", docDescribeStream, func(p *probe) {
			table, s := p.streamed(layout{sort: "N", view: dbtypes.StreamViewTypeNewAndOldImages})
			d := s.describe()
			p.same("StreamArn", aws.ToString(d.StreamArn), s.arn)
			p.same("TableName", aws.ToString(d.TableName), table)
			p.same("StreamStatus", d.StreamStatus, types.StreamStatusEnabled)
			p.same("StreamViewType", d.StreamViewType, types.StreamViewTypeNewAndOldImages)
			if label := aws.ToString(d.StreamLabel); label == "" || !strings.HasSuffix(s.arn, "/stream/"+label) {
				p.errorf("StreamLabel: got %q, want the end of %s", label, s.arn)
			}
			if d.CreationRequestDateTime == nil {
				p.errorf("CreationRequestDateTime is missing")
			}
			schema := make([]string, 0, 2)
			for _, element := range d.KeySchema {
				schema = append(schema, aws.ToString(element.AttributeName)+":"+string(element.KeyType))
			}
			p.same("KeySchema", schema, []string{"pk:HASH", "sk:RANGE"})
		}},
		{"stream/describe/shards", docShard, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			seen := map[string]bool{}
			for _, shard := range s.shards() {
				id := aws.ToString(shard.ShardId)
				if len(id) < 28 || len(id) > 65 || seen[id] {
					p.errorf("ShardId: got %q, want 28 to 65 characters, and each once", id)
				}
				seen[id] = true
				if r := shard.SequenceNumberRange; r == nil || r.EndingSequenceNumber != nil {
					p.errorf("SequenceNumberRange of a new shard: got %+v, want an open one", r)
				} else {
					p.sequenceNumber("StartingSequenceNumber", aws.ToString(r.StartingSequenceNumber))
				}
			}
		}},
		{"stream/describe/paging", docDescribeStream, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			want := s.shards()
			var got []string
			var start *string
			for range len(want) + 1 {
				out, err := p.target.Streams.DescribeStream(p.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, Limit: aws.Int32(1), ExclusiveStartShardId: start})
				p.ok(err, "DescribeStream")
				if n := len(out.StreamDescription.Shards); n > 1 {
					p.fatalf("DescribeStream with Limit 1 returned %d shards", n)
				}
				for _, shard := range out.StreamDescription.Shards {
					got = append(got, *shard.ShardId)
				}
				if start = out.StreamDescription.LastEvaluatedShardId; start == nil {
					break
				}
			}
			if start != nil {
				p.errorf("the pages do not end")
			}
			ids := make([]string, 0, len(want))
			for _, shard := range want {
				ids = append(ids, *shard.ShardId)
			}
			slices.Sort(got)
			slices.Sort(ids)
			p.same("shards over all pages", got, ids)
		}},
		{"stream/describe/children of an open shard", docDescribeStream, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			out, err := p.target.Streams.DescribeStream(p.ctx, &dynamodbstreams.DescribeStreamInput{
				StreamArn:   &s.arn,
				ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeChildShards, ShardId: s.shards()[0].ShardId},
			})
			p.ok(err, "DescribeStream with a ShardFilter")
			p.same("children of an open shard", len(out.StreamDescription.Shards), 0)
		}},
		{"stream/describe/missing", docDescribeStream, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			for _, arn := range []string{
				strings.Replace(s.arn, table, uniqueName("absent"), 1),
				s.otherLabel(),
			} {
				_, err := p.target.Streams.DescribeStream(p.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
				p.refused(err, "DescribeStream of "+arn, notFound)
			}
		}},
	}
}

// otherLabel returns the ARN of a stream that the table never had.
func (s stream) otherLabel() string {
	return s.arn[:strings.LastIndex(s.arn, "/")] + "/2001-02-03T04:05:06.789"
}

// sequenceNumber checks the form that AWS documents: 21 to 40 digits.
func (p *probe) sequenceNumber(what, number string) {
	digits := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' }) < 0
	if len(number) < 21 || len(number) > 40 || !digits {
		p.errorf("%s: got %q, want 21 to 40 digits", what, number)
	}
}
