package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	docFIFO   = "SQS Developer Guide, FIFO queue delivery logic"
	docOnce   = "SQS Developer Guide, exactly-once processing in Amazon SQS; API Reference, SendMessage"
	docFIFOOp = "SQS API Reference, SendMessage: parameters of FIFO queues"
)

func sqsFIFOCases() []Case {
	return []Case{
		{"sqs/fifo/order within a group", docFIFO, func(p *probe) {
			url := p.fifo()
			var want []string
			for _, body := range strings.Split("abcdefgh", "") {
				p.send(url, body, "g")
				want = append(want, body)
			}
			var got []string
			p.until("the messages of the group", func() bool {
				for _, m := range p.receive(url, 60, 1) {
					got = append(got, aws.ToString(m.Body))
					p.ok(p.deleteMessage(url, m), "DeleteMessage")
				}
				return len(got) >= len(want)
			})
			p.same("the order", got, want)
		}},
		{"sqs/fifo/attributes", docReceive, func(p *probe) {
			url := p.fifo()
			first, second := p.send(url, "a", "g"), p.send(url, "b", "g")
			one, two := aws.ToString(first.SequenceNumber), aws.ToString(second.SequenceNumber)
			if len(one) != 20 || one >= two {
				p.errorf("sequence numbers %q and %q, want 20 digits that grow", one, two)
			}
			got := p.receiveAll(url, 1, 30)[0].Attributes
			p.same("MessageGroupId", got["MessageGroupId"], "g")
			p.same("MessageDeduplicationId", got["MessageDeduplicationId"], "a")
			p.same("SequenceNumber", got["SequenceNumber"], one)
		}},
		{"sqs/fifo/group in flight is locked", docFIFO, func(p *probe) {
			url := p.fifo()
			p.send(url, "a", "g")
			got := p.receiveAll(url, 1, 60)
			p.send(url, "b", "g")
			p.drained(url, "while the group is in flight")
			p.send(url, "c", "other")
			p.same("of another group", bodiesOf(p.receiveAll(url, 1, 60)), "c")
			p.ok(p.deleteMessage(url, got[0]), "DeleteMessage")
			p.same("after the delete", bodiesOf(p.receiveAll(url, 1, 60)), "b")
		}},
		{"sqs/fifo/order after the visibility time-out", docFIFO, func(p *probe) {
			url := p.fifo()
			for _, body := range []string{"a", "b", "c"} {
				p.send(url, body, "g")
			}
			for range 3 {
				got := p.receive(url, 60, 1)
				if len(got) == 0 || aws.ToString(got[0].Body) != "a" {
					p.fatalf("received %q, want a first", bodiesOf(got))
				}
				slices.Reverse(got) // shown again last to first
				for _, m := range got {
					p.ok(p.hide(url, m, 0), "ChangeMessageVisibility")
				}
			}
		}},
		{"sqs/fifo/duplicate", docOnce, func(p *probe) {
			url := p.fifo()
			p.send(url, "a", "g")
			p.send(url, "a", "g")
			got := p.receiveAll(url, 1, 60)
			p.same("how many were received", len(got), 1)
			p.ok(p.deleteMessage(url, got[0]), "DeleteMessage")
			p.drained(url, "after the first copy was deleted")
		}},
		{"sqs/fifo/duplicate of a deleted message", docOnce, func(p *probe) {
			url := p.fifo()
			p.send(url, "a", "g")
			p.ok(p.deleteMessage(url, p.receiveAll(url, 1, 60)[0]), "DeleteMessage")
			p.send(url, "a", "g")
			p.drained(url, "after the duplicate of a deleted message")
		}},
		{"sqs/fifo/duplicate by content", docOnce, func(p *probe) {
			url := p.fifo("ContentBasedDeduplication", "true")
			send := func(id *string, attribute string) {
				_, err := p.trySend(sqs.SendMessageInput{
					QueueUrl: &url, MessageBody: aws.String("same"), MessageGroupId: aws.String("g"), MessageDeduplicationId: id,
					MessageAttributes: map[string]types.MessageAttributeValue{"a": textAttribute(attribute)},
				})
				p.ok(err, "SendMessage")
			}
			sum := sha256.Sum256([]byte("same"))
			send(nil, "one")
			send(nil, "two")                                      // attributes do not count
			send(aws.String(hex.EncodeToString(sum[:])), "three") // the id that was made of the body
			send(aws.String("own"), "four")                       // an id of its own goes before
			p.same("how many were received", len(p.receiveAll(url, 2, 60)), 2)
			p.drained(url, "after both")
		}},
		{"sqs/fifo/parameters", docFIFOOp, func(p *probe) {
			url := p.fifo()
			for what, in := range map[string]sqs.SendMessageInput{
				"no group":             {MessageDeduplicationId: aws.String("x")},
				"no de-duplication id": {MessageGroupId: aws.String("g")},
				"a delay":              {MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("x"), DelaySeconds: 1},
				"a group of 129":       {MessageGroupId: aws.String(strings.Repeat("g", 129)), MessageDeduplicationId: aws.String("x")},
				"an id with a space":   {MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("x y")},
			} {
				in.QueueUrl, in.MessageBody = &url, aws.String("x")
				_, err := p.trySend(in)
				p.refused(err, what, badParameter, missingParameter)
			}
		}},
		{"sqs/fifo/batch in order", docBatch, func(p *probe) {
			url := p.fifo("ContentBasedDeduplication", "true")
			batch := entries("a", "b", "c", "d")
			for i := range batch {
				if i != 1 { // this one is refused
					batch[i].MessageGroupId = aws.String("g")
				}
			}
			out, err := p.trySendBatch(url, batch)
			p.ok(err, "SendMessageBatch")
			p.same("how many failed", len(out.Failed), 1)
			var got []types.Message
			p.until("the messages", func() bool {
				more := p.receive(url, 60, 1)
				for _, m := range more {
					p.ok(p.deleteMessage(url, m), "DeleteMessage")
				}
				got = append(got, more...)
				return len(got) >= 3
			})
			p.same("the order", bodiesOf(got), "a c d")
		}},
		{"sqs/fifo/late delete", "SQS API Reference, ReceiveMessage, ReceiveRequestAttemptId: a delete after the visibility timeout fails", func(p *probe) {
			url := p.fifo()
			p.send(url, "a", "g")
			got := p.receiveAll(url, 1, 60)[0]
			p.ok(p.hide(url, got, 0), "ChangeMessageVisibility")
			p.refused(p.deleteMessage(url, got), "a delete after the visibility time-out", badParameter, "ReceiptHandleIsInvalid")
			p.receiveAll(url, 1, 30)
		}},
		{"sqs/fifo/group as tenant in a standard queue", docSend, func(p *probe) {
			url := p.queue()
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageGroupId: aws.String("tenant")})
			p.ok(err, "SendMessage with a group to a standard queue")
			p.same("MessageGroupId", p.receiveAll(url, 1, 30)[0].Attributes["MessageGroupId"], "tenant")
		}},
	}
}
