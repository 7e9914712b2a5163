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
)

const (
	receiving = "receiving letters from"
	deleting  = "deleting letters from"
)

// Received is a letter from the queue.
type Received struct {
	// Handle deletes the letter. It is good until the letter is received
	// again; in a FIFO queue until its visibility time-out ends.
	Handle string
	// Body is the letter's JSON, equal in meaning to what was sent and not
	// always in its bytes.
	Body []byte
	// Attributes are those the letter was sent with.
	Attributes map[string]string
	// Receives is how often the letter was received, about; Sent is when it
	// was sent.
	Receives int
	Sent     time.Time
}

// Receive receives up to most letters and hides them from other receivers for
// a time, which is rounded up to whole seconds, from 1 s to 12 h. It goes on
// until it has them or a call finds no other; the time counts from the call
// that found the letter. A FIFO queue gives no letters of an aggregate while
// some of it are hidden. Letters that come with an error were received before
// it, and are hidden.
func (q *Queue) Receive(ctx context.Context, most int, hide time.Duration) ([]Received, error) {
	if hide > maxHide {
		return nil, &event.Error{Class: event.Permanent, Op: q.op(receiving), Err: fmt.Errorf("letters can be hidden for %v at most, not %v", maxHide, hide)}
	}
	// The client does not send a 0, for which the queue's own time would hold.
	seconds := max(1, int32((hide+time.Second-1)/time.Second))
	var letters []Received
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
		out, err := q.client.ReceiveMessage(ctx, in)
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
				letters = append(letters, Received{})
			}
			letters[at] = received(m)
		}
		if len(letters) == before {
			break
		}
	}
	return letters, nil
}

func received(m types.Message) Received {
	r := Received{Handle: aws.ToString(m.ReceiptHandle), Body: []byte(aws.ToString(m.Body)), Attributes: map[string]string{}}
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

// Delete deletes received letters; deleting one twice is no error. It tries
// all of them and returns one *event.Error for those that stay: Permanent if
// no further try can delete any of them. A letter whose handle is not good any
// more comes back by a Receive.
func (q *Queue) Delete(ctx context.Context, handles []string) error {
	var first error
	class := event.Permanent
	stay := 0
	fail := func(err error, letters int) {
		if first == nil {
			first = err
		}
		if c := event.ClassOf(err); c != event.Permanent {
			class = c
		}
		stay += letters
	}
	for start := 0; start < len(handles); start += maxEntries {
		batch := handles[start:min(start+maxEntries, len(handles))]
		failures, err := q.deleteBatch(ctx, batch)
		if err != nil {
			fail(err, len(handles)-start) // the next call would fare no better
			break
		}
		for _, failure := range failures {
			fail(failure, 1)
		}
	}
	if first == nil {
		return nil
	}
	return &event.Error{Class: class, Op: fmt.Sprintf("deleting letters, %d of %d are left", stay, len(handles)), Err: first}
}

// deleteBatch deletes up to ten letters and returns what kept some of them; an
// error is that of the call as a whole.
func (q *Queue) deleteBatch(ctx context.Context, handles []string) (failures []error, err error) {
	url, err := q.resolve(ctx)
	if err != nil {
		return nil, err
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	told := make(map[string]bool, len(handles))
	for i, handle := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(handle)}
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})
	if err != nil {
		return nil, q.classify(deleting, err)
	}
	for _, entry := range out.Successful {
		told[aws.ToString(entry.Id)] = true
	}
	for _, entry := range out.Failed {
		told[aws.ToString(entry.Id)] = true
		failures = append(failures, q.refused(deleting, entry))
	}
	for range len(handles) - len(told) {
		failures = append(failures, q.unanswered(deleting))
	}
	return failures, nil
}
