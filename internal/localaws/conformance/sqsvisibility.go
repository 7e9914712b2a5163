package conformance

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	docVisibility       = "SQS Developer Guide, visibility timeout"
	docChangeVisibility = "SQS API Reference, ChangeMessageVisibility"
	docDeleteMessage    = "SQS API Reference, DeleteMessage"
)

func sqsVisibilityCases() []Case {
	return []Case{
		{"sqs/visibility/hidden in flight", docVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			p.receiveAll(url, 1, 30)
			p.drained(url, "while the message is in flight")
			p.until("the counts", func() bool {
				got := p.queueAttributes(url, types.QueueAttributeNameAll)
				return got["ApproximateNumberOfMessages"] == "0" && got["ApproximateNumberOfMessagesNotVisible"] == "1"
			})
		}},
		{"sqs/visibility/ends", docVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			first := p.receiveAll(url, 1, 1)[0]
			began := time.Now()
			second := p.receiveAll(url, 1, 30)[0]
			if took := time.Since(began); took < 500*time.Millisecond {
				p.errorf("received again after %v, want about a second", took)
			}
			p.same("the id", aws.ToString(second.MessageId), aws.ToString(first.MessageId))
			p.same("ApproximateReceiveCount", second.Attributes["ApproximateReceiveCount"], "2")
			p.same("ApproximateFirstReceiveTimestamp", second.Attributes["ApproximateFirstReceiveTimestamp"], first.Attributes["ApproximateFirstReceiveTimestamp"])
			if aws.ToString(first.ReceiptHandle) == aws.ToString(second.ReceiptHandle) {
				p.errorf("both receives have the same handle")
			}
		}},
		{"sqs/visibility/set to 0", docChangeVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			p.ok(p.hide(url, p.receiveAll(url, 1, 3600)[0], 0), "ChangeMessageVisibility")
			p.receiveAll(url, 1, 30)
		}},
		{"sqs/visibility/prolonged", docChangeVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			p.ok(p.hide(url, p.receiveAll(url, 1, 1)[0], 3600), "ChangeMessageVisibility")
			if got := p.receive(url, 30, 2); len(got) > 0 {
				p.errorf("received within the prolonged time: %s", bodiesOf(got))
			}
		}},
		{"sqs/visibility/out of bounds", docChangeVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			got := p.receiveAll(url, 1, 30)[0]
			p.refused(p.hide(url, got, 43201), "above 12 h", badParameter)
			p.refused(p.hide(url, got, -1), "below 0", badParameter)
		}},
		{"sqs/visibility/not in flight", docChangeVisibility, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			got := p.receiveAll(url, 1, 30)[0]
			p.ok(p.hide(url, got, 0), "ChangeMessageVisibility")
			p.refused(p.hide(url, got, 10), "of a visible message", sqsPrefix+"MessageNotInflight", badParameter)
		}},
		{"sqs/delete/gone", docDeleteMessage, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			got := p.receiveAll(url, 1, 30)[0]
			p.ok(p.deleteMessage(url, got), "DeleteMessage")
			p.until("the message to be gone", func() bool {
				counts := p.queueAttributes(url, types.QueueAttributeNameAll)
				return counts["ApproximateNumberOfMessagesNotVisible"] == "0" && counts["ApproximateNumberOfMessages"] == "0"
			})
		}},
		{"sqs/delete/twice", docDeleteMessage, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			got := p.receiveAll(url, 1, 30)[0]
			p.ok(p.deleteMessage(url, got), "DeleteMessage")
			p.ok(p.deleteMessage(url, got), "DeleteMessage a second time")
		}},
		{"sqs/delete/old handle", docDeleteMessage, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			first := p.receiveAll(url, 1, 30)[0]
			p.ok(p.hide(url, first, 0), "ChangeMessageVisibility")
			p.receiveAll(url, 1, 30)
			p.ok(p.deleteMessage(url, first), "DeleteMessage with the handle of the receive before the last")
		}},
	}
}
