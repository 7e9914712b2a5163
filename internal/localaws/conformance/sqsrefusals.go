package conformance

import (
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// digest is the MD5 of texts one after the other.
func digest(parts ...string) string {
	sum := md5.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // the protocol's checksum
	return hex.EncodeToString(sum[:])
}

func sqsRefusalCases() []Case {
	return []Case{
		{"sqs/refused/characters", docSend, func(p *probe) {
			url := p.queue()
			for _, bad := range []string{"\x00", "\x01", "\x0b", "\x1f", "\ufffe", "\uffff"} {
				_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x" + bad)})
				p.refused(err, fmt.Sprintf("a body with %q", bad), badContents)
			}
		}},
		{"sqs/refused/empty body", docSend, func(p *probe) {
			url := p.queue()
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("")})
			p.refused(err, "an empty body", missingParameter, badParameter, badContents)
		}},
		{"sqs/refused/delay", docSend, func(p *probe) {
			url := p.queue()
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 901})
			p.refused(err, "a delay of 901 s", badParameter)
		}},
		{"sqs/refused/attribute names", docAttribute, func(p *probe) {
			url := p.queue()
			for _, name := range []string{"AWS.x", "amazon.x", ".x", "x.", "a..b", "two words", strings.Repeat("n", 257)} {
				_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{name: textAttribute("x")}})
				p.refused(err, fmt.Sprintf("the attribute name %q", clip(name)), badParameter)
			}
		}},
		{"sqs/refused/attribute values", docAttribute, func(p *probe) {
			url := p.queue()
			for what, value := range map[string]types.MessageAttributeValue{
				"an empty text":   {DataType: aws.String("String"), StringValue: aws.String("")},
				"an unknown type": {DataType: aws.String("Colour"), StringValue: aws.String("red")},
				"no number":       {DataType: aws.String("Number"), StringValue: aws.String("red")},
			} {
				_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{"a": value}})
				p.refused(err, what, badParameter)
			}
		}},
		{"sqs/refused/11 attributes", docAttribute, func(p *probe) {
			url := p.queue()
			attributes := map[string]types.MessageAttributeValue{}
			for i := range 11 {
				attributes[fmt.Sprintf("a%d", i)] = textAttribute("x")
			}
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: attributes})
			p.refused(err, "11 attributes", badParameter)
		}},
		{"sqs/refused/receive", docReceive, func(p *probe) {
			url := p.queue()
			for what, in := range map[string]sqs.ReceiveMessageInput{
				"11 messages":       {MaxNumberOfMessages: 11},
				"a wait of 21 s":    {WaitTimeSeconds: 21},
				"hidden above 12 h": {VisibilityTimeout: 43201},
			} {
				in.QueueUrl = &url
				_, err := p.target.SQS.ReceiveMessage(p.ctx, &in)
				p.refused(err, what, badParameter)
			}
		}},
		{"sqs/refused/receipt handle", "SQS API Reference, DeleteMessage and ChangeMessageVisibility", func(p *probe) {
			url := p.queue()
			garbage := types.Message{ReceiptHandle: aws.String("garbage")}
			p.refused(p.deleteMessage(url, garbage), "DeleteMessage", "ReceiptHandleIsInvalid")
			p.refused(p.hide(url, garbage, 5), "ChangeMessageVisibility", "ReceiptHandleIsInvalid")
		}},
		{"sqs/refused/de-duplication id in a standard queue", docSend, func(p *probe) {
			url := p.queue()
			_, err := p.trySend(sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageDeduplicationId: aws.String("x")})
			p.refused(err, "a de-duplication id", badParameter)
		}},
	}
}
