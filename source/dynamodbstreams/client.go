package dynamodbstreams

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/source"
)

// Options says whom to call. Both clients should have the SDK's own retries
// off, since a call's error is what pacing and back-off go by.
type Options struct {
	Streams *sdk.Client      // required
	Tables  *dynamodb.Client // required by Find only
}

// Client finds and opens streams. It is safe for concurrent use.
type Client struct {
	options Options
}

// New checks the options.
func New(o Options) (*Client, error) {
	if o.Streams == nil {
		return nil, errors.New("opening streams: no client for DynamoDB Streams")
	}
	return &Client{options: o}, nil
}

// Find opens the newest stream of a table: the one that is enabled, or else the
// last one that was, whose records stay readable for 24 hours after that
// (DynamoDB API Reference, TableDescription.LatestStreamArn). The error is
// source.ErrStreamGone when the table never had a stream; one that does not
// exist is named, with the place that was asked.
func (c *Client) Find(ctx context.Context, table string) (*Stream, error) {
	op := "finding the stream of table " + table
	if c.options.Tables == nil {
		return nil, fmt.Errorf("%s: no client for DynamoDB", op)
	}
	out, err := c.options.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	switch {
	case awsclient.Code(err) == notFound:
		return nil, &event.Error{
			Class: event.Permanent, Op: op, Err: &event.Missing{What: "event table", Name: table, Place: c.place(), Err: err},
			Hint: "check the table's name, the Region and the endpoint",
		}
	case awsclient.Throttled(err):
		return nil, named(op, event.Transient, source.ErrThrottled, err)
	case err != nil:
		return nil, awsclient.Classify(op, err)
	}
	if out.Table == nil || aws.ToString(out.Table.LatestStreamArn) == "" {
		return nil, &event.Error{
			Class: event.Permanent, Op: op, Err: fmt.Errorf("%w: the table never had one", source.ErrStreamGone),
			Hint: "enable one: aws dynamodb update-table --table-name " + table +
				" --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE",
		}
	}
	return c.Open(*out.Table.LatestStreamArn), nil
}

func (c *Client) place() string {
	o := c.options.Tables.Options()
	return awsclient.Place(o.Region, o.BaseEndpoint)
}

// Open binds to a stream by its ARN and makes no call.
func (c *Client) Open(arn string) *Stream { return &Stream{api: c.options.Streams, arn: arn} }

// Stream is one stream of one table. Its errors are the source package's where
// that has one, around the cause; all carry a class. It is safe for concurrent
// use.
//
// A call that names a shard and meets "resource not found" costs one more
// DescribeStream, without a retry, to tell whether the shard or the whole stream
// is gone. Where that call fails too, its error is returned and neither is
// claimed.
type Stream struct {
	api *sdk.Client
	arn string
}

var (
	_ source.Discoverer = (*Stream)(nil)
	_ source.Reader     = (*Stream)(nil)
)

// ARN names the stream.
func (s *Stream) ARN() string { return s.arn }

// Label is the last part of the ARN: a stream that is disabled and enabled
// again has a new one. It contains colons.
func (s *Stream) Label() string { return s.arn[strings.LastIndex(s.arn, "/")+1:] }

// name is the table and the label, as the ARN has them.
func (s *Stream) name() string { return s.arn[strings.LastIndex(s.arn, ":table/")+len(":table/"):] }

// Labelled is the stream of the same table under another label, as lease rows
// of an earlier one name it.
func (s *Stream) Labelled(label string) *Stream {
	return &Stream{api: s.api, arn: strings.TrimSuffix(s.arn, s.Label()) + label}
}
