package conformance

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const docIterator = "API Reference, GetShardIterator"

// oneItem writes versions 1 to n of one item, and returns their records, all
// of one shard unless that rolled over meanwhile.
func (p *probe) oneItem(n int) (table string, s stream, records []placed) {
	table, s = p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
	for i := range n {
		p.put(table, item{"pk": str("a"), "v": num(fmt.Sprint(i + 1))})
	}
	return table, s, s.all(n)
}

// versions reads from an iterator on until it has n records, and returns the
// versions that they show.
func (s stream) versions(iterator *string, n int) []string {
	var got []string
	s.until(fmt.Sprintf("%d records after the iterator", n), func() bool {
		if iterator == nil {
			return true
		}
		out := s.page(iterator, 0)
		for _, r := range out.Records {
			got = append(got, valueText(fromStream(r.Dynamodb.NewImage)["v"]))
		}
		iterator = out.NextShardIterator
		return len(got) >= n
	})
	return got
}

func versionTexts(from, to int) []string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, valueText(num(fmt.Sprint(i))))
	}
	return all
}

func streamIteratorCases() []Case {
	return []Case{
		{"stream/iterator/TRIM_HORIZON", docIterator, func(p *probe) {
			_, s, records := p.oneItem(5)
			p.same("versions", s.versions(s.iterator(records[0].shard, types.ShardIteratorTypeTrimHorizon, ""), 5), versionTexts(1, 5))
		}},
		{"stream/iterator/LATEST", docIterator, func(p *probe) {
			table, s, records := p.oneItem(3)
			it := s.iterator(records[0].shard, types.ShardIteratorTypeLatest, "")
			p.put(table, item{"pk": str("a"), "v": num("4")})
			p.put(table, item{"pk": str("a"), "v": num("5")})
			p.same("versions", s.versions(it, 2), versionTexts(4, 5))
		}},
		{"stream/iterator/AT_SEQUENCE_NUMBER", docIterator, func(p *probe) {
			_, s, records := p.oneItem(5)
			it := s.iterator(records[2].shard, types.ShardIteratorTypeAtSequenceNumber, records[2].sequence())
			p.same("versions", s.versions(it, 3), versionTexts(3, 5))
		}},
		{"stream/iterator/AFTER_SEQUENCE_NUMBER", docIterator, func(p *probe) {
			_, s, records := p.oneItem(5)
			it := s.iterator(records[2].shard, types.ShardIteratorTypeAfterSequenceNumber, records[2].sequence())
			p.same("versions", s.versions(it, 2), versionTexts(4, 5))
		}},
		{"stream/iterator/AFTER_SEQUENCE_NUMBER of the last", docIterator, func(p *probe) {
			table, s, records := p.oneItem(3)
			it := s.iterator(records[2].shard, types.ShardIteratorTypeAfterSequenceNumber, records[2].sequence())
			p.same("records before the next write", len(s.page(it, 0).Records), 0)
			p.put(table, item{"pk": str("a"), "v": num("4")})
			p.same("versions", s.versions(it, 1), versionTexts(4, 4))
		}},
		{"stream/iterator/AT_TIMESTAMP", docIterator, func(p *probe) {
			// The creation time is rounded down to the second, so that the
			// two halves must be more than two seconds apart to tell whether
			// the time counts.
			table, s, records := p.oneItem(2)
			boundary := aws.ToTime(records[1].Dynamodb.ApproximateCreationDateTime).Add(2 * time.Second)
			p.until("two seconds to pass", func() bool { return time.Now().After(boundary.Add(time.Second)) })
			p.put(table, item{"pk": str("a"), "v": num("3")})
			s.all(3)
			it, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: &records[0].shard, ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: &boundary})
			p.ok(err, "GetShardIterator AT_TIMESTAMP")
			p.same("versions", s.versions(it, 1), versionTexts(3, 3))
		}},
		{"stream/iterator/AT_TIMESTAMP of a record", docIterator, func(p *probe) {
			_, s, records := p.oneItem(3)
			at := aws.ToTime(records[0].Dynamodb.ApproximateCreationDateTime)
			it, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: &records[0].shard, ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: &at})
			p.ok(err, "GetShardIterator AT_TIMESTAMP")
			p.same("versions", s.versions(it, 3), versionTexts(1, 3))
		}},
		{"stream/iterator/AT_TIMESTAMP before the oldest", docIterator, func(p *probe) {
			_, s, records := p.oneItem(3)
			it, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: &records[0].shard, ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: aws.Time(time.Now().Add(-48 * time.Hour))})
			p.ok(err, "GetShardIterator AT_TIMESTAMP of two days ago")
			p.same("versions", s.versions(it, 3), versionTexts(1, 3))
		}},
		{"stream/iterator/AT_TIMESTAMP in the future", docIterator, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			_, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: s.shards()[0].ShardId, ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: aws.Time(time.Now().Add(time.Hour))})
			p.refused(err, "GetShardIterator AT_TIMESTAMP in an hour", validation)
		}},
		{"stream/iterator/used twice", "API Reference, GetShardIterator: an iterator expires after 15 minutes, not by its use", func(p *probe) {
			_, s, records := p.oneItem(4)
			it := s.iterator(records[0].shard, types.ShardIteratorTypeTrimHorizon, "")
			p.same("versions", s.versions(it, 4), versionTexts(1, 4))
			p.same("versions, again", s.versions(it, 4), versionTexts(1, 4))
		}},
		{"stream/iterator/next used twice", "API Reference, GetShardIterator: an iterator expires after 15 minutes, not by its use", func(p *probe) {
			_, s, records := p.oneItem(4)
			it := s.iterator(records[1].shard, types.ShardIteratorTypeAtSequenceNumber, records[1].sequence())
			next := s.page(it, 1).NextShardIterator
			p.same("versions", s.versions(next, 2), versionTexts(3, 4))
			p.same("versions, again", s.versions(next, 2), versionTexts(3, 4))
		}},
		{"stream/iterator/unknown shard", docIterator, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			_, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: aws.String("shardId-00000001000000000000-0badc0de"), ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
			p.refused(err, "GetShardIterator of an unknown shard", notFound)
		}},
		{"stream/iterator/unknown stream", docIterator, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			arn := s.otherLabel()
			_, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: s.shards()[0].ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
			p.refused(err, "GetShardIterator of an unknown stream", notFound)
		}},
		{"stream/iterator/bad arguments", docIterator, func(p *probe) {
			_, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			shard := s.shards()[0].ShardId
			for what, in := range map[string]dynamodbstreams.GetShardIteratorInput{
				"an unknown type":                        {ShardIteratorType: "SOMEWHERE"},
				"AT_SEQUENCE_NUMBER without a number":    {ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber},
				"AFTER_SEQUENCE_NUMBER without a number": {ShardIteratorType: types.ShardIteratorTypeAfterSequenceNumber},
				"AT_SEQUENCE_NUMBER with a short number": {ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String("17")},
				"AT_SEQUENCE_NUMBER with another text":   {ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String("not a sequence number")},
				"AT_TIMESTAMP without a timestamp":       {ShardIteratorType: types.ShardIteratorTypeAtTimestamp},
			} {
				in.ShardId = shard
				_, err := s.tryIterator(in)
				p.refused(err, "GetShardIterator with "+what, validation)
			}
		}},
		{"stream/iterator/garbage", docGetRecords, func(p *probe) {
			_, err := p.target.Streams.GetRecords(p.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("this-is-no-iterator")})
			// The documents name no code; only, a reader that is told
			// "expired" would ask for another, and for ever.
			switch code := errorCode(err); code {
			case "", "ExpiredIteratorException", "TrimmedDataAccessException", "InternalServerError", "InternalFailure":
				p.errorf("GetRecords with garbage: want an error that says the request is bad, got %s", describe(err))
			}
		}},
	}
}
