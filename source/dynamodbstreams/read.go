package dynamodbstreams

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
	"millrace/source"
)

// iteratorTypes is DynamoDB's word for each kind of start but the shard's end.
var iteratorTypes = map[source.StartKind]types.ShardIteratorType{
	source.TrimHorizon:   types.ShardIteratorTypeTrimHorizon,
	source.Latest:        types.ShardIteratorTypeLatest,
	source.AtTime:        types.ShardIteratorTypeAtTimestamp,
	source.AtSequence:    types.ShardIteratorTypeAtSequenceNumber,
	source.AfterSequence: types.ShardIteratorTypeAfterSequenceNumber,
}

// Iterator takes an iterator, which is good for 15 minutes. A time is cut to
// the millisecond, and a time in the future is refused by the service: the
// error's class is Permanent. The shard's end has the empty iterator.
func (s *Stream) Iterator(ctx context.Context, shard source.ShardID, from source.Start) (source.Iterator, error) {
	if from.Kind == source.ShardEnd {
		return "", nil
	}
	op := fmt.Sprintf("taking an iterator of shard %s at %s", shard, from.Kind)
	kind, ok := iteratorTypes[from.Kind]
	if !ok {
		return "", &event.Error{Class: event.Permanent, Op: op, Err: fmt.Errorf("no such start: %d", from.Kind)}
	}
	in := &sdk.GetShardIteratorInput{StreamArn: aws.String(s.arn), ShardId: aws.String(string(shard)), ShardIteratorType: kind}
	switch from.Kind {
	case source.AtTime:
		in.Timestamp = aws.Time(from.Time.Truncate(time.Millisecond))
	case source.AtSequence, source.AfterSequence:
		in.SequenceNumber = aws.String(string(from.Sequence))
	default:
	}
	out, err := s.api.GetShardIterator(ctx, in)
	if err != nil {
		return "", s.failed(ctx, op, err)
	}
	// Without this check a broken answer would pass for the end of the shard.
	if aws.ToString(out.ShardIterator) == "" {
		return "", noAnswer(op, "iterator")
	}
	return source.Iterator(*out.ShardIterator), nil
}

// Read reads up to limit records, from 1 to 1000; other limits mean the nearest
// of the two, since the service answers a higher one as it answers a reader
// that is too fast.
func (s *Stream) Read(ctx context.Context, it source.Iterator, limit int) (source.Page, error) {
	if it == "" {
		return source.Page{}, nil
	}
	const op = "reading records"
	out, err := s.api.GetRecords(ctx, &sdk.GetRecordsInput{
		ShardIterator: aws.String(string(it)),
		Limit:         aws.Int32(int32(min(max(limit, 1), source.MaxPageRecords))),
	})
	if err != nil {
		return source.Page{}, s.failed(ctx, op, err)
	}
	// An answer has records, none at least, unless it is no service's: it would
	// pass for the end of the shard, which nobody reads again.
	if out.Records == nil && aws.ToString(out.NextShardIterator) == "" {
		return source.Page{}, noAnswer(op, "records")
	}
	page := source.Page{Records: make([]event.Record, len(out.Records)), Next: source.Iterator(aws.ToString(out.NextShardIterator))}
	for i, in := range out.Records {
		if page.Records[i], err = convertRecord(in); err != nil {
			return source.Page{}, &event.Error{Class: event.Permanent, Op: op, Err: fmt.Errorf("record %d of the page: %w", i, err)}
		}
		page.Bytes += sizeOf(in)
	}
	return page, nil
}
