package sqs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"millrace/event"
	"millrace/internal/awsclient"
)

// The service's limits (API Reference, SendMessageBatch, ReceiveMessage and
// ChangeMessageVisibility).
const (
	maxEntries = 10
	maxBytes   = 1 << 20 // of one message, and of a batch together
	maxHide    = 12 * time.Hour
	maxWait    = 20 * time.Second
)

// callTime is how long a call may take beside what it waits for letters.
const callTime = 10 * time.Second

// Queue is an on-failure queue. It is safe for concurrent use. Errors are
// *event.Error: throttles, time-outs and failures inside SQS are Transient, a
// queue that does not exist or may not be used is Unavailable, and what else SQS
// refuses is Permanent.
type Queue struct {
	client *sqs.Client
	name   string // or URL, as it was given
	fifo   bool
	wait   time.Duration
	url    atomic.Pointer[string] // nil until a call has found the queue
}

// Options are the settings of a queue.
type Options struct {
	// Name is the queue's name, in the client's account and Region, or its
	// URL. Required. It is a FIFO queue if the name ends in ".fifo".
	Name string
	// Wait is how long a Receive waits for a first letter, from 1 to 20 s.
	// Default 1 s. There is no 0: without waiting SQS asks only some of its
	// servers, and an answer without letters says nothing.
	Wait time.Duration
}

// New is a queue on a client. It makes no call: a worker can start, block
// aggregates and settle records while SQS is away.
func New(client *sqs.Client, o Options) (*Queue, error) {
	if o.Name == "" {
		return nil, errors.New("the on-failure queue needs a name or a URL")
	}
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	if o.Wait < time.Second || o.Wait > maxWait {
		return nil, fmt.Errorf("waiting for letters takes from 1 s to %v, not %v", maxWait, o.Wait)
	}
	q := &Queue{client: client, name: o.Name, fifo: strings.HasSuffix(o.Name, ".fifo"), wait: o.Wait}
	if strings.Contains(o.Name, "://") {
		q.url.Store(&o.Name)
	}
	return q, nil
}

// resolve is the queue's URL. Two calls at once may both ask for it: they get
// the same answer, and no lock is held over a call.
func (q *Queue) resolve(ctx context.Context) (*string, error) {
	if url := q.url.Load(); url != nil {
		return url, nil
	}
	ctx, cancel := q.bounded(ctx)
	defer cancel()
	out, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &q.name})
	if err != nil {
		return nil, q.classify("finding", err)
	}
	if aws.ToString(out.QueueUrl) == "" {
		return nil, q.classify("finding", errors.New("the answer has no URL"))
	}
	q.url.Store(out.QueueUrl)
	return out.QueueUrl, nil
}

// Find asks whether the queue is there. A queue that is named by its URL is asked
// for its attributes, which takes a permission that nothing else here needs.
func (q *Queue) Find(ctx context.Context) error {
	if !strings.Contains(q.name, "://") {
		_, err := q.resolve(ctx)
		return err
	}
	ctx, cancel := q.bounded(ctx)
	defer cancel()
	_, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.name, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return q.classify("finding", err)
	}
	return nil
}

// bounded is for one call: a connection that hangs must not keep the letters
// waiting for as long as the worker lives.
func (q *Queue) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, q.wait+callTime)
}

// classify names the call and the queue in an error, and says what SQS's own
// errors mean: that there is no such queue, and that others keep it busy.
func (q *Queue) classify(doing string, err error) error {
	op := q.op(doing)
	var missing *types.QueueDoesNotExist
	var full *types.OverLimit
	var keys *types.KmsThrottled
	switch {
	case errors.As(err, &missing) && strings.Contains(missing.ErrorMessage(), "access"):
		// The service's answer to a role that may not ask: "does not exist or you do
		// not have access to it".
		return &event.Error{Class: event.Unavailable, Op: op, Err: err, Hint: "it may exist: give the role its permissions on the queue, sqs:GetQueueUrl among them"}
	case errors.As(err, &missing):
		return &event.Error{
			Class: event.Unavailable, Op: "asking SQS", Err: &event.Missing{What: "on-failure queue", Name: q.name, Place: "this account and Region", Err: err},
			Hint: "create it, or correct its name, the account, the Region or the endpoint",
		}
	case errors.As(err, &full):
		return &event.Error{Class: event.Transient, Op: op, Err: err, Hint: "120,000 letters are in flight: they come back when their visibility time-out ends"}
	case errors.As(err, &keys):
		return &event.Error{Class: event.Transient, Op: op, Err: err}
	}
	return awsclient.Classify(op, err)
}

func (q *Queue) op(doing string) string {
	return fmt.Sprintf("%s the on-failure queue %q", doing, q.name)
}

// refused is what SQS said of one entry of a batch.
func (q *Queue) refused(doing string, entry types.BatchResultErrorEntry) error {
	class := event.Transient
	if entry.SenderFault {
		class = event.Permanent
	}
	return &event.Error{
		Class: class, Op: q.op(doing),
		Err: fmt.Errorf("%s: %s", aws.ToString(entry.Code), aws.ToString(entry.Message)),
	}
}

// errNoAnswer is for an entry that a batch's answer leaves out.
var errNoAnswer = errors.New("the answer says nothing of this entry")

func (q *Queue) unanswered(doing string) error {
	return &event.Error{Class: event.Transient, Op: q.op(doing), Err: errNoAnswer}
}
