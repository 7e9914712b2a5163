package localaws

import (
	"errors"
	"slices"
	"strings"

	"millrace/internal/localaws/queue"
)

// entry answers one entry of a batch that succeeded.
type entry func(r *reply)

// batch does the entries of a batch one by one and answers what became of
// each. Under the fault Partial the later half fails inside the service.
func (e *Engine) batch(c *callContext, url string, ids []string, each func(q *queue.Queue, i int) (entry, error)) (*reply, error) {
	done := make([]entry, len(ids))
	failures := make([]*queue.Error, len(ids))
	err := e.onQueue(url, func(q *queue.Queue) error {
		if err := queue.CheckBatch(ids); err != nil {
			return err
		}
		for i := range ids {
			if c.fault == Partial && i >= len(ids)/2 {
				continue
			}
			answer, err := each(q, i)
			if err == nil {
				done[i] = answer
			} else if !errors.As(err, &failures[i]) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var succeeded, failed []int
	for i := range ids {
		if done[i] != nil {
			succeeded = append(succeeded, i)
		} else {
			failed = append(failed, i)
		}
	}
	r := newReply()
	r.list("Successful", len(succeeded), func(n int) {
		r.text("Id", ids[succeeded[n]])
		done[succeeded[n]](r)
	})
	r.list("Failed", len(failed), func(n int) {
		i := failed[n]
		r.text("Id", ids[i])
		r.bool("SenderFault", failures[i] != nil)
		if failures[i] == nil {
			r.text("Code", "InternalError")
			r.text("Message", "Internal error")
			return
		}
		r.text("Code", queryCode(failures[i].Code))
		r.text("Message", failures[i].Message)
	})
	return r, nil
}

// idsOf lists one text of each entry of a batch.
func idsOf[T any](entries []T, id func(T) string) []string {
	out := make([]string, len(entries))
	for i, entry := range entries {
		out[i] = id(entry)
	}
	return out
}

// aboutMessages is what a call on received messages is about.
func aboutMessages(handles []string) string {
	return joinDistinct(idsOf(handles, queue.ReceiptOf))
}

// joinDistinct joins texts with commas, each once, in order of appearance.
func joinDistinct(texts []string) string {
	var out []string
	for _, text := range texts {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ",")
}
