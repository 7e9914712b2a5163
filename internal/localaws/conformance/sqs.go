package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The codes of SQS that the cases expect: the ones of the query protocol, which
// the SDK shows where the service gives them.
const (
	sqsPrefix        = "AWS.SimpleQueueService."
	noQueue          = sqsPrefix + "NonExistentQueue"
	badParameter     = "InvalidParameterValue"
	missingParameter = "MissingParameter"
	badContents      = "InvalidMessageContents"
)

// queue makes a queue that is deleted with the case; attributes are names and
// values in turn.
func (p *probe) queue(attributes ...string) string {
	return p.named(uniqueName("queue"), attributes...)
}

// fifo makes a FIFO queue.
func (p *probe) fifo(attributes ...string) string {
	return p.named(uniqueName("queue")+".fifo", append(attributes, "FifoQueue", "true")...)
}

func (p *probe) named(name string, attributes ...string) string {
	url, err := p.tryQueue(name, attributes...)
	p.ok(err, "CreateQueue")
	return url
}

func (p *probe) tryQueue(name string, attributes ...string) (url string, err error) {
	out, err := p.target.SQS.CreateQueue(p.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: pairs(attributes)})
	if err != nil {
		return "", err
	}
	url = aws.ToString(out.QueueUrl)
	if !slices.Contains(p.queues, url) {
		p.queues = append(p.queues, url)
	}
	return url, nil
}

func pairs(attributes []string) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(attributes); i += 2 {
		out[attributes[i]] = attributes[i+1]
	}
	return out
}

// deleteQueues must also work after a case has run out of its time, so it
// takes a context of its own.
func (p *probe) deleteQueues(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, url := range p.queues {
		_, err := p.target.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		if code := errorCode(err); err != nil && code != noQueue && code != "QueueDoesNotExist" {
			t.Logf("deleting queue %s: %v", url, err)
		}
	}
}

func (p *probe) queueAttributes(url string, names ...types.QueueAttributeName) map[string]string {
	out, err := p.target.SQS.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	p.ok(err, "GetQueueAttributes")
	return out.Attributes
}

func (p *probe) setQueue(url string, attributes ...string) error {
	_, err := p.target.SQS.SetQueueAttributes(p.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: pairs(attributes)})
	return err
}

func (p *probe) trySend(in sqs.SendMessageInput) (*sqs.SendMessageOutput, error) {
	return p.target.SQS.SendMessage(p.ctx, &in)
}

// send sends one message; of a FIFO queue with a group, and with the body as
// de-duplication id.
func (p *probe) send(url, body, group string) *sqs.SendMessageOutput {
	in := sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
	if group != "" {
		in.MessageGroupId, in.MessageDeduplicationId = &group, &body
	}
	out, err := p.trySend(in)
	p.ok(err, "SendMessage")
	return out
}

// receive receives up to ten messages with all they have, waiting for up to
// wait seconds for the first.
func (p *probe) receive(url string, hide, wait int32) []types.Message {
	out, err := p.target.SQS.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: hide, WaitTimeSeconds: wait,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	p.ok(err, "ReceiveMessage")
	return out.Messages
}

// receiveAll receives until it has n messages.
func (p *probe) receiveAll(url string, n int, hide int32) []types.Message {
	var all []types.Message
	p.until("the messages of the queue", func() bool {
		if len(all) < n {
			all = append(all, p.receive(url, hide, 1)...)
		}
		return len(all) >= n
	})
	return all
}

// drained checks that nothing can be received.
func (p *probe) drained(url, when string) {
	if got := p.receive(url, 30, 1); len(got) > 0 {
		p.errorf("%s: received %s, want nothing", when, bodiesOf(got))
	}
}

func bodiesOf(messages []types.Message) string {
	var bodies []string
	for _, m := range messages {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	return strings.Join(bodies, " ")
}

func (p *probe) deleteMessage(url string, m types.Message) error {
	_, err := p.target.SQS.DeleteMessage(p.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
	return err
}

func (p *probe) hide(url string, m types.Message, seconds int32) error {
	_, err := p.target.SQS.ChangeMessageVisibility(p.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds,
	})
	return err
}
