package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	control "millrace/checkpoint/dynamodb"
	"millrace/internal/controlkey"
)

// nobody is an aggregate that is none: what is asked about it changes nothing and
// finds nothing.
const nobody = "-"

// eventTable looks at the event table and its stream.
func (c *checker) eventTable(ctx context.Context) {
	name := c.config.Events
	table, words := c.describe(ctx, "event table", name, c.events.Fits)
	if table == nil {
		return
	}
	if c.expiry(ctx, "event table", name, func(attribute string) {
		c.fail("event table", "events are read for as long as a read model may be rebuilt: switch TTL off on this table, or put what expires into another",
			"%s: TTL is on, by the attribute %s", name, attribute)
	}) {
		words += ", TTL off"
	}
	c.ok("event table", "%s", words)
	c.recovery(ctx, name)
	if n := len(table.Replicas); n > 0 {
		c.warn("replicas", "read the stream in the one Region that appends; what another Region writes can come between two versions",
			"%s is replicated to %d other Regions, and replication is a reader of its stream", name, n)
	} else {
		c.ok("replicas", "%s: none", name)
	}
	c.stream(ctx, aws.ToString(table.LatestStreamArn), table.StreamSpecification)
	_, err := c.events.Head(ctx, nobody)
	if err == nil {
		_, err = c.events.Confirm(ctx, nobody, []uint64{1})
	}
	if err != nil {
		c.unseen("event reads", "dynamodb:Query and dynamodb:GetItem on "+name, true, err)
		return
	}
	c.ok("event reads", "%s: gaps can be filled", name)
}

// recovery looks whether an event table can be brought back.
func (c *checker) recovery(ctx context.Context, name string) {
	const check = "recovery"
	out, err := c.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	switch {
	case err != nil:
		c.unseen(check, "dynamodb:DescribeContinuousBackups on "+name, false, err)
	case out.ContinuousBackupsDescription == nil || out.ContinuousBackupsDescription.PointInTimeRecoveryDescription == nil ||
		out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled:
		c.warn(check, "events exist once: switch point-in-time recovery on", "%s: point-in-time recovery is off", name)
	default:
		c.ok(check, "%s: point-in-time recovery is on", name)
	}
}

// stream makes the calls that a reader makes.
func (c *checker) stream(ctx context.Context, arn string, spec *types.StreamSpecification) {
	const check = "stream"
	_, label, _ := strings.Cut(arn, "/stream/")
	out, err := c.streams.DescribeStream(ctx, &streams.DescribeStreamInput{StreamArn: &arn, Limit: aws.Int32(1)})
	if err != nil {
		c.unseen(check, "dynamodb:DescribeStream on "+arn, true, err)
		return
	}
	if len(out.StreamDescription.Shards) > 0 {
		it, err := c.streams.GetShardIterator(ctx, &streams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: out.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			c.unseen(check, "dynamodb:GetShardIterator on "+arn, true, err)
			return
		}
		_, err = c.streams.GetRecords(ctx, &streams.GetRecordsInput{ShardIterator: it.ShardIterator, Limit: aws.Int32(1)})
		var many *streamtypes.LimitExceededException
		switch {
		case errors.As(err, &many):
			c.warn("readers", "see who else reads the stream: two readers a shard is all that it allows", "a shard is read by as many as may: %s", brief(err))
		case err != nil:
			c.unseen(check, "dynamodb:GetRecords on "+arn, true, err)
			return
		}
	}
	pace := "as fast as it goes"
	if per := c.config.ReadsPerSecond; per >= 0 {
		if per == 0 {
			per = 5
		}
		pace = fmt.Sprintf("at most %s records a second and shard", strconv.FormatFloat(per*1000, 'f', -1, 64))
	}
	c.ok(check, "%s, %s; read %s", label, spec.StreamViewType, pace)
}

// sink looks at a read model's table, and at the positions of any other sink.
func (c *checker) sink(ctx context.Context, t *target) {
	check := "sink " + t.config.Name
	if t.view == nil {
		c.skip(check, "made by %s; its positions are in the control table", t.config.Made.By)
		return
	}
	name := t.config.ReadModel.Table
	table, words := c.describe(ctx, check, name, t.view.Fits)
	if table == nil {
		return
	}
	if _, err := t.view.Positions(ctx, []string{nobody}); err != nil {
		c.unseen(check, "dynamodb:BatchGetItem on "+name, true, err)
		return
	}
	key := map[string]types.AttributeValue{}
	for _, part := range t.config.ReadModel.Key {
		key[part.Attribute] = &types.AttributeValueMemberS{Value: strings.ReplaceAll(part.Template, "{aggregate}", nobody)}
	}
	if !c.writes(ctx, check, name, key, "UpdateItem") {
		return
	}
	words += ", may be read and written"
	// Of the event table it is looked at with the events.
	if name != c.config.Events && c.expiry(ctx, check, name, func(attribute string) {
		c.warn(check, "an item that expires takes its position with it, and the next event folds the aggregate anew",
			"%s: TTL is on, by the attribute %s", name, attribute)
	}) {
		words += ", TTL off"
	}
	c.ok(check, "%s", words)
}

// control looks at the control table.
func (c *checker) control(ctx context.Context) {
	const check = "control table"
	name := c.config.Control
	table, words := c.describe(ctx, check, name, func(d *types.TableDescription) error { return control.Fits(name, d) })
	if table == nil {
		return
	}
	rows, err := c.Service.control().List(ctx, c.config.Group, c.config.Events)
	if err != nil {
		c.unseen(check, "dynamodb:Query on "+name, true, err)
		return
	}
	key := map[string]types.AttributeValue{
		controlkey.PK: &types.AttributeValueMemberS{Value: nobody}, controlkey.SK: &types.AttributeValueMemberS{Value: nobody},
	}
	if !c.writes(ctx, check, name, key, "PutItem", "UpdateItem", "DeleteItem") {
		return
	}
	words += ", may be read and written"
	if c.expiry(ctx, check, name, func(attribute string) {
		c.fail(check, "a marker that expires is a blocked aggregate that is forgotten: switch TTL off on this table", "%s: TTL is on, by the attribute %s", name, attribute)
	}) {
		words += ", TTL off"
	}
	c.ok(check, "%s; group %s has %d shards on record", words, c.config.Group, len(rows))
}

// Letters should live as long as SQS lets them; below so many days they are gone
// before a long weekend is over.
const (
	longestLife = 14 * 24 * time.Hour
	shortLife   = 4 * 24 * time.Hour
)

// queue looks at the on-failure queue.
func (c *checker) queue(ctx context.Context) {
	const check = "queue"
	name := c.config.Queue
	if name == "" {
		c.skip(check, "none is configured: letters of blocked aggregates stay in the control table")
		return
	}
	url := name
	if !strings.Contains(name, "://") {
		out, err := c.queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		var absent *sqstypes.QueueDoesNotExist
		switch {
		case errors.As(err, &absent):
			c.fail(check, "create it, name another, or look at Region and endpoint", "queue %s does not exist", name)
			return
		case err != nil:
			c.unseen(check, "sqs:GetQueueUrl on "+name, true, err)
			return
		}
		url = aws.ToString(out.QueueUrl)
	}
	out, err := c.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
	if err != nil {
		c.unseen(check, "sqs:GetQueueAttributes on "+name, false, err)
		return
	}
	c.ok(check, "%s: %s letters, %s in flight; whether letters may be sent, only a letter tells", name,
		out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesNotVisible"])
	if out.Attributes["RedrivePolicy"] != "" {
		c.fail(check, "take the redrive policy off the queue: a sweep receives letters and leaves them, and SQS would move those of blocks that stand", "%s has a redrive policy of its own", name)
	}
	seconds, err := strconv.Atoi(out.Attributes["MessageRetentionPeriod"])
	if life := time.Duration(seconds) * time.Second; err == nil && life <= shortLife {
		c.warn(check, fmt.Sprintf("set MessageRetentionPeriod to %d: the control table keeps the block, but nobody is told after that", int(longestLife.Seconds())),
			"%s drops letters after %s", name, days(life))
	}
}

func days(d time.Duration) string {
	return strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " days"
}

// readers says what cannot be looked at.
func (c *checker) readers() {
	c.skip("readers", "a stream allows two readers a shard; other groups, Lambda triggers and replication take places and cannot be seen here")
}
