package dynamodbstreams

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
	"millrace/source"
)

// pageOfShards is the most a DescribeStream answer holds (API Reference,
// DescribeStream, Limit).
const pageOfShards = 100

// statuses is DynamoDB's word for each state of a stream.
var statuses = map[types.StreamStatus]source.StreamStatus{
	types.StreamStatusEnabling:  source.Enabling,
	types.StreamStatusEnabled:   source.Enabled,
	types.StreamStatusDisabling: source.Disabling,
	types.StreamStatusDisabled:  source.Disabled,
}

// Describe asks for the stream itself. Now is the Date header of the answer, to
// the second: the service's clock, whatever ours says.
func (s *Stream) Describe(ctx context.Context) (source.StreamInfo, error) {
	op := "describing stream " + s.arn
	out, err := s.api.DescribeStream(ctx, &sdk.DescribeStreamInput{StreamArn: aws.String(s.arn), Limit: aws.Int32(1)})
	if err != nil {
		return source.StreamInfo{}, s.failedStream(op, err)
	}
	d := out.StreamDescription
	if d == nil {
		return source.StreamInfo{}, noAnswer(op, "description")
	}
	now, _ := awsmiddleware.GetServerTime(out.ResultMetadata)
	return source.StreamInfo{
		ARN: s.arn, Label: s.Label(), Table: aws.ToString(d.TableName), Status: statuses[d.StreamStatus],
		View: string(d.StreamViewType), Now: now,
	}, nil
}

// Shards lists up to 100 shards. ErrShardGone means that the shard to go on
// after is not there any more: begin with the first page.
func (s *Stream) Shards(ctx context.Context, after source.ShardID) ([]source.Shard, source.ShardID, error) {
	return s.page(ctx, "listing shards of stream "+s.arn, after, nil)
}

// Children asks for a closed shard's children with the CHILD_SHARDS filter,
// page after page. An endpoint that does not know the filter answers with every
// shard; the others are left out here.
func (s *Stream) Children(ctx context.Context, parent source.ShardID) ([]source.Shard, error) {
	op := "listing children of shard " + string(parent)
	filter := &types.ShardFilter{Type: types.ShardFilterTypeChildShards, ShardId: aws.String(string(parent))}
	var (
		out   []source.Shard
		after source.ShardID
		asked = make(map[source.ShardID]bool)
	)
	for {
		page, next, err := s.page(ctx, op, after, filter)
		if err != nil {
			return nil, err
		}
		for _, shard := range page {
			if slices.Contains(shard.Parents, parent) {
				out = append(out, shard)
			}
		}
		if next == "" {
			return out, nil
		}
		if asked[next] {
			return nil, fmt.Errorf("%s: %w", op, source.ErrCursorRepeated)
		}
		asked[next], after = true, next
	}
}

func (s *Stream) page(ctx context.Context, op string, after source.ShardID, filter *types.ShardFilter) ([]source.Shard, source.ShardID, error) {
	in := &sdk.DescribeStreamInput{StreamArn: aws.String(s.arn), Limit: aws.Int32(pageOfShards), ShardFilter: filter}
	if after != "" {
		in.ExclusiveStartShardId = aws.String(string(after))
	}
	out, err := s.api.DescribeStream(ctx, in)
	switch {
	case err != nil && after == "" && filter == nil:
		return nil, "", s.failedStream(op, err)
	case err != nil:
		return nil, "", s.failed(ctx, op, err)
	case out.StreamDescription == nil:
		return nil, "", noAnswer(op, "description")
	}
	page := make([]source.Shard, len(out.StreamDescription.Shards))
	for i, shard := range out.StreamDescription.Shards {
		page[i] = convertShard(shard)
	}
	return page, source.ShardID(aws.ToString(out.StreamDescription.LastEvaluatedShardId)), nil
}

func convertShard(in types.Shard) source.Shard {
	out := source.Shard{ID: source.ShardID(aws.ToString(in.ShardId))}
	if parent := aws.ToString(in.ParentShardId); parent != "" {
		out.Parents = []source.ShardID{source.ShardID(parent)}
	}
	// A shard takes records until its range has an end (Developer Guide,
	// "Change data capture for DynamoDB Streams", open and closed shards).
	out.Closed = in.SequenceNumberRange != nil && aws.ToString(in.SequenceNumberRange.EndingSequenceNumber) != ""
	return out
}

// noAnswer is the error of an answer that lacks what it is asked for: a server
// that is no DynamoDB, or a broken one.
func noAnswer(op, what string) error {
	return &event.Error{Class: event.Permanent, Op: op, Err: fmt.Errorf("the answer has no %s", what)}
}
