package sqs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"millrace/event"
	"millrace/failure"
)

const (
	receiving = "receiving letters from"
	deleting  = "deleting letters from"
)

// Receive receives up to most letters and hides them from other receivers for
// a time, which is rounded up to whole seconds, from 1 s to 12 h. It goes on
// until it has them or a call finds no other; the time counts from the call
// that found the letter. A FIFO queue gives no letters of an aggregate while
// some of it are hidden. Letters that come with an error were received before
// it, and are hidden.
func (q *Queue) Receive(ctx context.Context, most int, hide time.Duration) ([]failure.Received, error) {
	if hide > maxHide {
		return nil, &event.Error{Class: event.Permanent, Op: q.op(receiving), Err: fmt.Errorf("letters can be hidden for %v at most, not %v", maxHide, hide)}
	}
	// The client does not send a 0, for which the queue's own time would hold.
	seconds := max(1, int32((hide+time.Second-1)/time.Second))
	var letters []failure.Received
	seen := map[string]int{}
	for len(letters) < most {
		url, err := q.resolve(ctx)
		if err != nil {
			return letters, err
		}
		in := &sqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: int32(min(maxEntries, most-len(letters))), VisibilityTimeout: seconds, //nolint:gosec // at most ten
			MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameSentTimestamp,
			},
			WaitTimeSeconds: int32(q.wait / time.Second), //nolint:gosec // at most 20
		}
		out, err := q.receive(ctx, in)
		if err != nil {
			return letters, q.classify(receiving, err)
		}
		before := len(letters)
		for _, m := range out.Messages {
			id := aws.ToString(m.MessageId)
			at, again := seen[id] // hidden for less time than this takes
			if !again {
				at = len(letters)
				seen[id] = at
				letters = append(letters, failure.Received{})
			}
			letters[at] = received(m)
		}
		if len(letters) == before {
			break
		}
	}
	return letters, nil
}

func (q *Queue) receive(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	ctx, cancel := q.bounded(ctx)
	defer cancel()
	return q.client.ReceiveMessage(ctx, in) //nolint:wrapcheck // it is classified by the caller
}

func received(m types.Message) failure.Received {
	r := failure.Received{Handle: aws.ToString(m.ReceiptHandle), Body: []byte(aws.ToString(m.Body)), Attributes: map[string]string{}}
	for name, a := range m.MessageAttributes {
		r.Attributes[name] = aws.ToString(a.StringValue)
	}
	// Counts and times that cannot be read stay zero: they only inform.
	r.Receives, _ = strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		r.Sent = time.UnixMilli(ms).UTC()
	}
	return r
}

// Delete deletes received letters and answers each: nil once it is deleted, also
// if it was before, an *event.Error otherwise. A letter whose handle is not good
// any more comes back by a Receive. After a call that failed as a whole the
// letters not asked for yet get the same answer.
func (q *Queue) Delete(ctx context.Context, handles []string) []error {
	answers := make([]error, len(handles))
	for start := 0; start < len(handles); start += maxEntries {
		end := min(start+maxEntries, len(handles))
		if err := q.deleteBatch(ctx, handles[start:end], answers[start:end]); err != nil {
			for i := start; i < len(handles); i++ {
				answers[i] = err // the next call would fare no better
			}
			break
		}
	}
	return answers
}

// deleteBatch deletes up to ten letters and answers them; an error is that of
// the call as a whole.
func (q *Queue) deleteBatch(ctx context.Context, handles []string, answers []error) error {
	url, err := q.resolve(ctx)
	if err != nil {
		return err
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	for i, handle := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(handle)}
	}
	ctx, cancel := q.bounded(ctx)
	defer cancel()
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})
	if err != nil {
		return q.classify(deleting, err)
	}
	told := make(map[string]error, len(handles))
	for _, entry := range out.Successful {
		told[aws.ToString(entry.Id)] = nil
	}
	for _, entry := range out.Failed {
		told[aws.ToString(entry.Id)] = q.refused(deleting, entry)
	}
	for i := range handles {
		err, ok := told[strconv.Itoa(i)]
		if !ok {
			err = q.unanswered(deleting)
		}
		answers[i] = err
	}
	return nil
}
