package sqs

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"millrace/event"
	"millrace/failure"
)

const sending = "sending letters to"

// draft is a letter on its way, with its place among the answers.
type draft struct {
	at      int
	message types.SendMessageBatchRequestEntry
}

// group is what keeps its order; "" in a standard queue.
func (d draft) group() string { return aws.ToString(d.message.MessageGroupId) }

// Send sends letters and answers each: nil once SQS has accepted it, an
// *event.Error otherwise. It does not retry beyond what the client does. After
// a call that failed as a whole the letters not sent yet get the same answer.
//
// A FIFO queue gets the letters of one aggregate in the order they stand in:
// those after one that failed are not sent, and answered as Transient.
func (q *Queue) Send(ctx context.Context, letters []failure.Letter) []error {
	answers := make([]error, len(letters))
	waiting := make([]draft, 0, len(letters))
	broken := map[string]bool{} // groups that go no further
	for i, l := range letters {
		m, err := q.message(l)
		d := draft{at: i, message: m}
		switch {
		case broken[d.group()]:
			answers[i] = q.behind()
		case err != nil:
			answers[i] = err
			broken[d.group()] = q.fifo
		default:
			waiting = append(waiting, d)
		}
	}
	broken = map[string]bool{}
	for len(waiting) > 0 {
		var batch []draft
		batch, waiting = q.fill(waiting)
		if err := q.sendBatch(ctx, batch, answers); err != nil {
			for _, d := range append(batch, waiting...) {
				answers[d.at] = err
			}
			break
		}
		for _, d := range batch {
			if answers[d.at] != nil && q.fifo {
				broken[d.group()] = true
			}
		}
		waiting = slices.DeleteFunc(waiting, func(d draft) bool {
			if broken[d.group()] {
				answers[d.at] = q.behind()
			}
			return broken[d.group()]
		})
	}
	return answers
}

// fill takes the next batch: as many letters as there is room for. SQS may
// refuse any entry of a batch and accept the next, so a batch to a FIFO queue
// has one letter of a group, and what is passed over is not overtaken.
func (q *Queue) fill(waiting []draft) (batch, rest []draft) {
	bytes := 0
	taken := map[string]bool{}
	for _, d := range waiting {
		n := size(d.message)
		if len(batch) == maxEntries || bytes+n > maxBytes || taken[d.group()] {
			rest = append(rest, d)
		} else {
			batch = append(batch, d)
			bytes += n
		}
		taken[d.group()] = q.fifo
	}
	return batch, rest
}

// sendBatch sends one batch and answers its letters; an error is that of the
// call as a whole.
func (q *Queue) sendBatch(ctx context.Context, batch []draft, answers []error) error {
	url, err := q.resolve(ctx)
	if err != nil {
		return err
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i, d := range batch {
		entries[i] = d.message
		entries[i].Id = aws.String(strconv.Itoa(i))
	}
	ctx, cancel := q.bounded(ctx)
	defer cancel()
	out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries})
	if err != nil {
		return q.classify(sending, err)
	}
	told := make(map[string]error, len(batch))
	for _, entry := range out.Successful {
		told[aws.ToString(entry.Id)] = nil
	}
	for _, entry := range out.Failed {
		told[aws.ToString(entry.Id)] = q.refused(sending, entry)
	}
	for i, d := range batch {
		err, ok := told[strconv.Itoa(i)]
		if !ok {
			err = q.unanswered(sending)
		}
		answers[d.at] = err
	}
	return nil
}

var errBehind = errors.New("an earlier letter of its aggregate was not accepted")

func (q *Queue) behind() error {
	return &event.Error{Class: event.Transient, Op: q.op(sending), Err: errBehind}
}
