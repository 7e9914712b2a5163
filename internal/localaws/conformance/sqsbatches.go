package conformance

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const docBatch = "SQS API Reference, SendMessageBatch, DeleteMessageBatch and ChangeMessageVisibilityBatch"

type sendEntry = types.SendMessageBatchRequestEntry

func entries(bodies ...string) []sendEntry {
	out := make([]sendEntry, len(bodies))
	for i, body := range bodies {
		out[i] = sendEntry{Id: aws.String(fmt.Sprintf("id-%d", i)), MessageBody: aws.String(body)}
	}
	return out
}

func (p *probe) trySendBatch(url string, batch []sendEntry) (*sqs.SendMessageBatchOutput, error) {
	return p.target.SQS.SendMessageBatch(p.ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: batch})
}

func sqsBatchCases() []Case {
	return []Case{
		{"sqs/batch/send", docBatch, func(p *probe) {
			url := p.queue()
			out, err := p.trySendBatch(url, entries(strings.Split("0123456789", "")...))
			p.ok(err, "SendMessageBatch")
			p.same("how many succeeded", len(out.Successful), 10)
			p.same("how many failed", len(out.Failed), 0)
			seen := map[string]bool{}
			for _, m := range p.receiveAll(url, 10, 60) {
				seen[aws.ToString(m.Body)] = true
			}
			p.same("how many were received", len(seen), 10)
		}},
		{"sqs/batch/some refused", docBatch, func(p *probe) {
			url := p.queue()
			out, err := p.trySendBatch(url, entries("good", "bad\x01", "good too"))
			p.ok(err, "SendMessageBatch")
			p.same("how many succeeded", len(out.Successful), 2)
			if len(out.Failed) != 1 {
				p.fatalf("%d failed, want 1", len(out.Failed))
			}
			failed := out.Failed[0]
			p.same("the failed one", aws.ToString(failed.Id), "id-1")
			p.same("its code", aws.ToString(failed.Code), badContents)
			p.same("whether it is the sender's fault", failed.SenderFault, true)
			p.same("how many were stored", len(p.receiveAll(url, 2, 60)), 2)
		}},
		{"sqs/batch/none or too many", docBatch, func(p *probe) {
			url := p.queue()
			_, err := p.trySendBatch(url, []sendEntry{})
			p.refused(err, "an empty batch", sqsPrefix+"EmptyBatchRequest")
			_, err = p.trySendBatch(url, entries(strings.Split("0123456789a", "")...))
			p.refused(err, "11 entries", sqsPrefix+"TooManyEntriesInBatchRequest")
			p.drained(url, "after the refused batches")
		}},
		{"sqs/batch/ids", docBatch, func(p *probe) {
			url := p.queue()
			batch := entries("a", "b")
			batch[1].Id = batch[0].Id
			_, err := p.trySendBatch(url, batch)
			p.refused(err, "one id twice", sqsPrefix+"BatchEntryIdsNotDistinct")
			for _, id := range []string{"two words", "a.b", strings.Repeat("x", 81)} {
				batch[1].Id = &id
				_, err = p.trySendBatch(url, batch)
				p.refused(err, fmt.Sprintf("the id %q", id), sqsPrefix+"InvalidBatchEntryId")
			}
		}},
		{"sqs/batch/1 MiB", docBatch, func(p *probe) {
			url := p.queue()
			half := strings.Repeat("x", 1<<19)
			out, err := p.trySendBatch(url, entries(half[:len(half)-100], half[:len(half)-100]))
			p.ok(err, "SendMessageBatch of nearly 1 MiB")
			p.same("how many succeeded", len(out.Successful), 2)
			_, err = p.trySendBatch(url, entries(half, half, "x"))
			p.refused(err, "above 1 MiB together", sqsPrefix+"BatchRequestTooLong")
		}},
		{"sqs/batch/delete", docBatch, func(p *probe) {
			url := p.queue()
			_, err := p.trySendBatch(url, entries("a", "b"))
			p.ok(err, "SendMessageBatch")
			got := p.receiveAll(url, 2, 60)
			batch := []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle},
				{Id: aws.String("b"), ReceiptHandle: got[1].ReceiptHandle},
				{Id: aws.String("c"), ReceiptHandle: aws.String("garbage")},
			}
			out, err := p.target.SQS.DeleteMessageBatch(p.ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: batch})
			p.ok(err, "DeleteMessageBatch")
			p.same("how many succeeded", len(out.Successful), 2)
			if len(out.Failed) != 1 {
				p.fatalf("%d failed, want 1", len(out.Failed))
			}
			p.same("the failed one", aws.ToString(out.Failed[0].Id), "c")
			p.same("its code", aws.ToString(out.Failed[0].Code), "ReceiptHandleIsInvalid")
		}},
		{"sqs/batch/visibility", docBatch, func(p *probe) {
			url := p.queue()
			_, err := p.trySendBatch(url, entries("a", "b"))
			p.ok(err, "SendMessageBatch")
			got := p.receiveAll(url, 2, 1)
			batch := []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 3600},
				{Id: aws.String("b"), ReceiptHandle: aws.String("garbage"), VisibilityTimeout: 3600},
			}
			out, err := p.target.SQS.ChangeMessageVisibilityBatch(p.ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: batch})
			p.ok(err, "ChangeMessageVisibilityBatch")
			p.same("how many succeeded", len(out.Successful), 1)
			p.same("how many failed", len(out.Failed), 1)
			again := p.receiveAll(url, 1, 30)
			p.same("what is visible again", bodiesOf(again), aws.ToString(got[1].Body))
		}},
	}
}
