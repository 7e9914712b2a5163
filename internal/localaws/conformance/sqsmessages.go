package conformance

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	docSend       = "SQS API Reference, SendMessage"
	docReceive    = "SQS API Reference, ReceiveMessage"
	docAttribute  = "SQS Developer Guide, message attributes"
	docAttrMD5    = "SQS Developer Guide, calculating the MD5 message digest for message attributes"
	docLongPoll   = "SQS Developer Guide, long polling"
	docDelayTimer = "SQS Developer Guide, delay queues and message timers"
)

func textAttribute(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

func sqsMessageCases() []Case {
	return []Case{
		{"sqs/message/round trip", docSend, func(p *probe) {
			url := p.queue()
			body := "tab\tline\nreturn\r quote\" \u007f\u00e9\u20ac\ufffd\U0001F600\U0010FFFF" // the SDK checks the body's MD5
			sent := p.send(url, body, "")
			got := p.receiveAll(url, 1, 30)[0]
			p.same("the body", aws.ToString(got.Body), body)
			p.same("the id", aws.ToString(got.MessageId), aws.ToString(sent.MessageId))
			if sent.SequenceNumber != nil {
				p.errorf("a standard queue gave the sequence number %s", *sent.SequenceNumber)
			}
			if sent.MD5OfMessageBody == nil || aws.ToString(got.MD5OfBody) != *sent.MD5OfMessageBody {
				p.errorf("MD5 of the body: sent %v, received %v", sent.MD5OfMessageBody, got.MD5OfBody)
			}
		}},
		{"sqs/message/system attributes", docReceive, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			got := p.receiveAll(url, 1, 30)[0].Attributes
			p.same("ApproximateReceiveCount", got["ApproximateReceiveCount"], "1")
			if got["SenderId"] == "" {
				p.errorf("SenderId is missing")
			}
			for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
				if ms, err := strconv.ParseInt(got[name], 10, 64); err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Hour {
					p.errorf("%s: got %q, want about now in milliseconds", name, got[name])
				}
			}
		}},
		{"sqs/message/system attributes only on demand", docReceive, func(p *probe) {
			url := p.queue()
			p.send(url, "x", "")
			p.until("the message", func() bool {
				out, err := p.target.SQS.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{
					QueueUrl: &url, WaitTimeSeconds: 1, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"SentTimestamp"},
				})
				p.ok(err, "ReceiveMessage")
				if len(out.Messages) == 0 {
					return false
				}
				if got := out.Messages[0].Attributes; len(got) != 1 || got["SentTimestamp"] == "" {
					p.errorf("attributes %v, want SentTimestamp alone", got)
				}
				return true
			})
		}},
		{"sqs/message/attributes", docAttribute, func(p *probe) {
			url := p.queue()
			attributes := map[string]types.MessageAttributeValue{
				"text": textAttribute("a\u00e9"), "number": {DataType: aws.String("Number.int"), StringValue: aws.String("-1.5e3")},
				"bytes": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255, 1}}, "with.dots-and_more": textAttribute("x"),
			}
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: attributes})
			p.ok(err, "SendMessage")
			got := p.receiveAll(url, 1, 30)[0].MessageAttributes
			p.same("how many attributes", len(got), len(attributes))
			for name, want := range attributes {
				p.same("the type of "+name, aws.ToString(got[name].DataType), *want.DataType)
				p.same("the text of "+name, aws.ToString(got[name].StringValue), aws.ToString(want.StringValue))
				p.same("the bytes of "+name, got[name].BinaryValue, want.BinaryValue)
			}
		}},
		{"sqs/message/attributes by name", docReceive, func(p *probe) {
			url := p.queue("VisibilityTimeout", "0")
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{
				"a.one": textAttribute("1"), "a.two": textAttribute("2"), "b": textAttribute("3"),
			}})
			p.ok(err, "SendMessage")
			for asked, want := range map[string]int{"": 0, "b": 1, "a.*": 2, "All": 3, ".*": 3, "B": 0} {
				in := &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 1}
				if asked != "" {
					in.MessageAttributeNames = []string{asked}
				}
				p.until("the message", func() bool {
					out, err := p.target.SQS.ReceiveMessage(p.ctx, in)
					p.ok(err, "ReceiveMessage")
					if len(out.Messages) == 0 {
						return false
					}
					p.same("how many attributes for "+asked, len(out.Messages[0].MessageAttributes), want)
					return true
				})
			}
		}},
		{"sqs/message/MD5 of attributes", docAttrMD5, func(p *probe) {
			url := p.queue()
			out, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{
				"b": {DataType: aws.String("Binary"), BinaryValue: []byte{1, 2, 3}}, "a": textAttribute("x"),
			}})
			p.ok(err, "SendMessage")
			// The digest of 00000001 "a" 00000006 "String" 01 00000001 "x"
			// 00000001 "b" 00000006 "Binary" 02 00000003 010203.
			p.same("MD5OfMessageAttributes", aws.ToString(out.MD5OfMessageAttributes), digest(
				"\x00\x00\x00\x01a\x00\x00\x00\x06String\x01\x00\x00\x00\x01x", "\x00\x00\x00\x01b\x00\x00\x00\x06Binary\x02\x00\x00\x00\x03\x01\x02\x03"))
		}},
		{"sqs/message/largest", docSend, func(p *probe) {
			url := p.queue()
			const most = 1 << 20
			p.send(url, strings.Repeat("x", most-1024), "")
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", most+1024))})
			p.refused(err, "above 1 MiB", badParameter, badContents)
			_, err = p.trySend(sqs.SendMessageInput{
				QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", most-1024)),
				MessageAttributes: map[string]types.MessageAttributeValue{"a": textAttribute(strings.Repeat("x", 2048))},
			})
			p.refused(err, "above 1 MiB with its attributes", badParameter, badContents)
		}},
		{"sqs/message/queue's own limit", docCreateQueue, func(p *probe) {
			url := p.queue("MaximumMessageSize", "1024")
			p.send(url, strings.Repeat("x", 1000), "")
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", 1100))})
			p.refused(err, "above the queue's limit", badParameter, badContents)
		}},
		{"sqs/message/delay", docDelayTimer, func(p *probe) {
			url := p.queue()
			began := time.Now()
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 1})
			p.ok(err, "SendMessage")
			p.receiveAll(url, 1, 30)
			if took := time.Since(began); took < 900*time.Millisecond {
				p.errorf("received after %v, want a second at least", took)
			}
		}},
		{"sqs/message/long poll", docLongPoll, func(p *probe) {
			url := p.queue("ReceiveMessageWaitTimeSeconds", "20")
			sent := make(chan error, 1)
			timer := time.AfterFunc(100*time.Millisecond, func() {
				_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
				sent <- err
			})
			defer timer.Stop()
			began := time.Now()
			got, err := p.target.SQS.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url})
			p.ok(err, "ReceiveMessage")
			p.ok(<-sent, "SendMessage")
			if took := time.Since(began); len(got.Messages) != 1 || took > 10*time.Second {
				p.errorf("%d messages after %v, want the message as soon as it was sent", len(got.Messages), took)
			}
		}},
		{"sqs/message/dead-letter queue", docRedrive, func(p *probe) {
			dead := p.queue()
			arn := p.queueAttributes(dead, types.QueueAttributeNameQueueArn)["QueueArn"]
			url := p.queue("RedrivePolicy", `{"deadLetterTargetArn":"`+arn+`","maxReceiveCount":2}`)
			sent := p.send(url, "x", "")
			for range 2 {
				p.ok(p.hide(url, p.receiveAll(url, 1, 30)[0], 0), "ChangeMessageVisibility")
			}
			p.drained(url, "after two receives")
			got := p.receiveAll(dead, 1, 30)[0]
			p.same("the id", aws.ToString(got.MessageId), aws.ToString(sent.MessageId))
			source := p.queueAttributes(url, types.QueueAttributeNameQueueArn)["QueueArn"]
			p.same("DeadLetterQueueSourceArn", got.Attributes["DeadLetterQueueSourceArn"], source)
		}},
	}
}
