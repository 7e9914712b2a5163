package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	docCreateQueue = "SQS API Reference, CreateQueue"
	docDeleteQueue = "SQS API Reference, DeleteQueue and CreateQueue: 60 seconds"
	docQueueURL    = "SQS API Reference, GetQueueUrl and common errors"
	docAttributes  = "SQS API Reference, GetQueueAttributes and SetQueueAttributes"
	docListQueues  = "SQS API Reference, ListQueues"
	docPurge       = "SQS API Reference, PurgeQueue"
	docRedrive     = "SQS API Reference, CreateQueue, RedrivePolicy; Developer Guide, dead-letter queues"
)

func sqsQueueCases() []Case {
	return []Case{
		{"sqs/queue/create and find", docCreateQueue, func(p *probe) {
			name := uniqueName("queue")
			url := p.named(name)
			if !strings.HasSuffix(url, "/"+name) {
				p.errorf("the URL %s does not end in the queue's name", url)
			}
			out, err := p.target.SQS.GetQueueUrl(p.ctx, &sqs.GetQueueUrlInput{QueueName: &name})
			p.ok(err, "GetQueueUrl")
			p.same("GetQueueUrl", aws.ToString(out.QueueUrl), url)
		}},
		{"sqs/queue/create again", docCreateQueue, func(p *probe) {
			name := uniqueName("queue")
			url := p.named(name, "VisibilityTimeout", "45")
			p.same("the URL of the same queue", p.named(name, "VisibilityTimeout", "45"), url)
			_, err := p.tryQueue(name, "VisibilityTimeout", "46")
			var exists *types.QueueNameExists
			if !errors.As(err, &exists) {
				p.errorf("creating it with another attribute: %s, want QueueNameExists", describe(err))
			}
		}},
		{"sqs/queue/bad name", docCreateQueue, func(p *probe) {
			for _, name := range []string{strings.Repeat("n", 81), "two words", "a.b", "ends.fifo"} {
				_, err := p.tryQueue(name)
				p.refused(err, fmt.Sprintf("CreateQueue %q", name), badParameter)
			}
			_, err := p.tryQueue(uniqueName("queue"), "FifoQueue", "true")
			p.refused(err, "a FIFO queue without the suffix", badParameter)
		}},
		{"sqs/queue/missing", docQueueURL, func(p *probe) {
			url := p.queue()
			_, err := p.target.SQS.GetQueueUrl(p.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(uniqueName("absent"))})
			p.missing(err, "GetQueueUrl")
			absent := url + "-absent"
			_, err = p.trySend(sqs.SendMessageInput{QueueUrl: &absent, MessageBody: aws.String("x")})
			p.missing(err, "SendMessage")
			_, err = p.target.SQS.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{QueueUrl: &absent})
			p.missing(err, "ReceiveMessage")
			_, err = p.target.SQS.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &absent})
			p.missing(err, "GetQueueAttributes")
		}},
		{"sqs/queue/deleted", docDeleteQueue, func(p *probe) {
			name := uniqueName("queue")
			url := p.named(name)
			_, err := p.target.SQS.DeleteQueue(p.ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
			p.ok(err, "DeleteQueue")
			_, err = p.tryQueue(name)
			var recently *types.QueueDeletedRecently
			if !errors.As(err, &recently) {
				p.errorf("creating it again at once: %s, want QueueDeletedRecently", describe(err))
			}
		}},
		{"sqs/queue/attributes/defaults", docAttributes, func(p *probe) {
			got := p.queueAttributes(p.queue(), types.QueueAttributeNameAll)
			for name, want := range map[string]string{
				"DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600",
				"ReceiveMessageWaitTimeSeconds": "0", "VisibilityTimeout": "30",
				"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0",
			} {
				p.same(name, got[name], want)
			}
			for _, name := range []string{"QueueArn", "CreatedTimestamp", "LastModifiedTimestamp"} {
				if got[name] == "" {
					p.errorf("%s is missing", name)
				}
			}
			if _, ok := got["FifoQueue"]; ok {
				p.errorf("a standard queue has the attribute FifoQueue")
			}
		}},
		{"sqs/queue/attributes/some", docAttributes, func(p *probe) {
			got := p.queueAttributes(p.queue("DelaySeconds", "5"), types.QueueAttributeNameDelaySeconds)
			p.same("the attributes", got, map[string]string{"DelaySeconds": "5"})
		}},
		{"sqs/queue/attributes/set", docAttributes, func(p *probe) {
			url := p.queue()
			p.ok(p.setQueue(url, "VisibilityTimeout", "99", "MaximumMessageSize", "2048"), "SetQueueAttributes")
			p.until("the new attributes", func() bool {
				got := p.queueAttributes(url, types.QueueAttributeNameAll)
				return got["VisibilityTimeout"] == "99" && got["MaximumMessageSize"] == "2048"
			})
		}},
		{"sqs/queue/attributes/bad values", docAttributes, func(p *probe) {
			url := p.queue()
			for name, values := range map[string][]string{
				"DelaySeconds": {"-1", "901", "x"}, "MaximumMessageSize": {"1023", "1048577"}, "MessageRetentionPeriod": {"59", "1209601"},
				"ReceiveMessageWaitTimeSeconds": {"21"}, "VisibilityTimeout": {"43201", "-1"},
			} {
				for _, value := range values {
					p.refused(p.setQueue(url, name, value), name+"="+value, "InvalidAttributeValue")
				}
			}
		}},
		{"sqs/queue/attributes/unknown", docAttributes, func(p *probe) {
			url := p.queue()
			p.refused(p.setQueue(url, "Colour", "red"), "setting an unknown attribute", "InvalidAttributeName")
			_, err := p.target.SQS.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"Colour"}})
			p.refused(err, "getting an unknown attribute", "InvalidAttributeName")
		}},
		{"sqs/queue/attributes/FIFO for ever", docCreateQueue, func(p *probe) {
			if err := p.setQueue(p.queue(), "FifoQueue", "true"); err == nil {
				p.errorf("a standard queue was made a FIFO queue, want a refusal")
			}
			got := p.queueAttributes(p.fifo("ContentBasedDeduplication", "true"), types.QueueAttributeNameAll)
			p.same("FifoQueue", got["FifoQueue"], "true")
			p.same("ContentBasedDeduplication", got["ContentBasedDeduplication"], "true")
		}},
		{"sqs/queue/list", docListQueues, func(p *probe) {
			prefix := uniqueName("list")
			var want []string
			for _, suffix := range []string{"-a", "-b", "-c"} {
				want = append(want, p.named(prefix+suffix))
			}
			p.queue()
			p.until("the queues to be listed", func() bool {
				var got []string
				in := &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(2)}
				for {
					out, err := p.target.SQS.ListQueues(p.ctx, in)
					p.ok(err, "ListQueues")
					if len(out.QueueUrls) > 2 {
						p.fatalf("a page has %d queues, want at most 2", len(out.QueueUrls))
					}
					got = append(got, out.QueueUrls...)
					if in.NextToken = out.NextToken; in.NextToken == nil {
						break
					}
				}
				slices.Sort(got)
				return slices.Equal(got, want)
			})
		}},
		{"sqs/queue/purge", docPurge, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			_, err := p.target.SQS.PurgeQueue(p.ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
			p.ok(err, "PurgeQueue")
			_, err = p.target.SQS.PurgeQueue(p.ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
			var busy *types.PurgeQueueInProgress
			if !errors.As(err, &busy) {
				p.errorf("a second purge within a minute: %s, want PurgeQueueInProgress", describe(err))
			}
			p.until("the queue to be empty", func() bool { return len(p.receive(url, 0, 0)) == 0 })
		}},
		{"sqs/queue/redrive policy", docRedrive, func(p *probe) {
			dead := p.queueAttributes(p.queue(), types.QueueAttributeNameQueueArn)["QueueArn"]
			policy := func(arn string, most any) string {
				return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%v}`, arn, most)
			}
			url := p.queue("RedrivePolicy", policy(dead, 3))
			if got := p.queueAttributes(url, types.QueueAttributeNameAll)["RedrivePolicy"]; !strings.Contains(got, dead) {
				p.errorf("RedrivePolicy: got %q, want the target %s", got, dead)
			}
			refusals := []string{badParameter, "InvalidAttributeValue"}
			p.refused(p.setQueue(url, "RedrivePolicy", policy(dead+"-absent", 3)), "a target that does not exist", refusals...)
			p.refused(p.setQueue(url, "RedrivePolicy", policy(dead, 0)), "no receives at all", refusals...)
			p.refused(p.setQueue(url, "RedrivePolicy", "none"), "no JSON", refusals...)
			p.refused(p.setQueue(p.fifo(), "RedrivePolicy", policy(dead, 3)), "a standard queue for a FIFO queue", refusals...)
		}},
	}
}

// missing checks both faces of a missing queue: the SDK's type and the code.
func (p *probe) missing(err error, call string) {
	var typed *types.QueueDoesNotExist
	if !errors.As(err, &typed) {
		p.errorf("%s: %s, want the type QueueDoesNotExist", call, describe(err))
	}
	p.refused(err, call, noQueue)
}
