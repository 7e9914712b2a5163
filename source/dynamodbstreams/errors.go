package dynamodbstreams

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/source"
)

// The codes that mean something to a reader. They are compared as text, since
// DescribeStream's ThrottlingException is in no SDK model.
const (
	notFound = "ResourceNotFoundException"
	expired  = "ExpiredIteratorException"
	trimmed  = "TrimmedDataAccessException"
)

// named wraps a cause in one of the source package's errors.
func named(op string, class event.Class, name, cause error) error {
	return &event.Error{Class: class, Op: op, Err: fmt.Errorf("%w: %w", name, cause)}
}

// failed says what the error of a call that names a shard means.
func (s *Stream) failed(ctx context.Context, op string, err error) error {
	if awsclient.Code(err) != notFound {
		return s.failedStream(op, err)
	}
	// One code for two meanings. A shard that is gone ends, a stream that is
	// gone ends everything: ask.
	_, again := s.api.DescribeStream(ctx, &sdk.DescribeStreamInput{StreamArn: aws.String(s.arn), Limit: aws.Int32(1)})
	if again == nil {
		return named(op, event.Permanent, source.ErrShardGone, err)
	}
	return s.failedStream(op+", asking whether the stream is there", again)
}

// failedStream says what the error of a call that names only the stream means.
func (s *Stream) failedStream(op string, err error) error {
	switch code := awsclient.Code(err); {
	case code == notFound:
		return &event.Error{
			Class: event.Permanent, Op: op, Err: fmt.Errorf("%w: %w", source.ErrStreamGone, &event.Missing{What: "stream", Name: s.name(), Err: err}),
			Hint: "its table was deleted, or it was disabled more than 24 hours ago; what nobody has read of it is lost, and verify shows what lacks it",
		}
	case code == expired:
		return named(op, event.Transient, source.ErrIteratorExpired, err)
	case code == trimmed:
		return named(op, event.Permanent, source.ErrTrimmed, err)
	case awsclient.Throttled(err):
		return named(op, event.Transient, source.ErrThrottled, err)
	}
	return awsclient.Classify(op, err)
}
