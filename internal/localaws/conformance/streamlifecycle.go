package conformance

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const docDisabled = "Developer Guide, Change data capture for DynamoDB Streams: disabling a stream"

// disabledStream returns a stream with records of many items that was disabled
// after them.
func (p *probe) disabledStream(records int) (table string, s stream) {
	table, s = p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
	for i := range records {
		p.put(table, item{"pk": str(fmt.Sprint(i)), "v": num("1")})
	}
	p.setStream(table, "")
	p.until("the stream to be DISABLED", func() bool { return s.describe().StreamStatus == types.StreamStatusDisabled })
	return table, s
}

func streamLifecycleCases() []Case {
	return []Case{
		{"stream/disabled/shards are closed", docDisabled, func(p *probe) {
			_, s := p.disabledStream(10)
			p.until("all shards to be closed", func() bool {
				return !slices.ContainsFunc(s.shards(), func(shard types.Shard) bool {
					return shard.SequenceNumberRange == nil || shard.SequenceNumberRange.EndingSequenceNumber == nil
				})
			})
			for _, shard := range s.shards() {
				p.sequenceNumber("EndingSequenceNumber", *shard.SequenceNumberRange.EndingSequenceNumber)
			}
		}},
		{"stream/disabled/data stays readable to the end", docDisabled, func(p *probe) {
			_, s := p.disabledStream(20)
			r := s.reader()
			p.until("every shard to end with a null iterator", func() bool {
				r.round()
				return !slices.ContainsFunc(s.shards(), func(shard types.Shard) bool { return !r.finished(*shard.ShardId) })
			})
			p.same("number of records", len(r.records), 20)
		}},
		{"stream/disabled/records lie in the shard's range", docShard, func(p *probe) {
			_, s := p.disabledStream(20)
			ranges := map[string]*types.SequenceNumberRange{}
			for _, shard := range s.shards() {
				ranges[*shard.ShardId] = shard.SequenceNumberRange
			}
			for _, r := range s.all(20) {
				within := ranges[r.shard]
				if within == nil || laterThan(aws.ToString(within.StartingSequenceNumber), r.sequence()) || laterThan(r.sequence(), aws.ToString(within.EndingSequenceNumber)) {
					p.errorf("record %s of shard %s lies outside %+v", r.sequence(), r.shard, within)
				}
			}
		}},
		{"stream/disabled/LATEST ends", docGetRecords, func(p *probe) {
			_, s := p.disabledStream(5)
			for _, shard := range s.shards() {
				it := s.iterator(*shard.ShardId, types.ShardIteratorTypeLatest, "")
				p.until("a null iterator", func() bool {
					out := s.page(it, 0)
					if len(out.Records) > 0 {
						p.fatalf("LATEST of a closed shard shows %d records, want none", len(out.Records))
					}
					it = out.NextShardIterator
					return it == nil
				})
			}
		}},
		{"stream/disabled/iterator from before", docDisabled, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			its := map[string]*string{}
			for _, shard := range s.shards() {
				its[*shard.ShardId] = s.iterator(*shard.ShardId, types.ShardIteratorTypeTrimHorizon, "")
			}
			for i := range 10 {
				p.put(table, item{"pk": str(fmt.Sprint(i))})
			}
			p.setStream(table, "")
			records := 0
			for _, it := range its {
				p.until("a null iterator", func() bool {
					out := s.page(it, 0)
					records += len(out.Records)
					it = out.NextShardIterator
					return it == nil
				})
			}
			p.same("records read by iterators from before", records, 10)
		}},
		{"stream/disabled/no more records", docDisabled, func(p *probe) {
			table, s := p.disabledStream(3)
			for i := range 5 {
				p.put(table, item{"pk": str(fmt.Sprint(i)), "v": num("2")})
			}
			r := s.reader()
			p.until("every shard to end", func() bool {
				r.round()
				return !slices.ContainsFunc(s.shards(), func(shard types.Shard) bool { return !r.finished(*shard.ShardId) })
			})
			p.same("number of records", len(r.records), 3)
		}},
		{"stream/enabled again/new stream", docUpdateTable, func(p *probe) {
			table, first := p.disabledStream(4)
			p.setStream(table, dbtypes.StreamViewTypeNewAndOldImages)
			second := p.latestStream(table)
			if second.arn == first.arn {
				p.fatalf("the stream enabled again has its old ARN %s", first.arn)
			}
			p.same("the new view type", second.describe().StreamViewType, types.StreamViewTypeNewAndOldImages)
			if a, b := aws.ToString(first.describe().StreamLabel), aws.ToString(second.describe().StreamLabel); a == b {
				p.errorf("both streams have the label %s", a)
			}

			p.put(table, item{"pk": str("0"), "v": num("2")})
			records := second.all(1)
			p.same("the new stream's event", summary(records), []string{"MODIFY " + text(item{"pk": str("0"), "v": num("2")})})
			p.same("its old image", records[0].old(), text(item{"pk": str("0"), "v": num("1")}))
			first.all(4)
			p.same("the old stream's view type", first.describe().StreamViewType, types.StreamViewTypeNewImage)
		}},
		{"stream/enabled again/shards are not shared", docDisabled, func(p *probe) {
			table, first := p.disabledStream(4)
			p.setStream(table, dbtypes.StreamViewTypeNewImage)
			second := p.latestStream(table)
			old := map[string]bool{}
			for _, shard := range first.shards() {
				old[*shard.ShardId] = true
			}
			for _, shard := range second.shards() {
				if old[*shard.ShardId] || old[aws.ToString(shard.ParentShardId)] {
					p.errorf("shard %s belongs to the old stream, or to its lineage", *shard.ShardId)
				}
			}
			_, err := second.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: first.shards()[0].ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
			p.refused(err, "GetShardIterator of the old stream's shard by the new ARN", notFound)
		}},
		{"stream/enabled again/both are listed", "Developer Guide, Change data capture for DynamoDB Streams: a disabled stream is readable for 24 hours", func(p *probe) {
			table, first := p.disabledStream(1)
			p.setStream(table, dbtypes.StreamViewTypeNewImage)
			second := p.latestStream(table)
			out, err := p.target.Streams.ListStreams(p.ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
			p.ok(err, "ListStreams")
			var got []string
			for _, one := range out.Streams {
				got = append(got, aws.ToString(one.StreamArn))
			}
			want := []string{first.arn, second.arn}
			slices.Sort(got)
			slices.Sort(want)
			p.same("streams of the table", got, want)
		}},
	}
}
