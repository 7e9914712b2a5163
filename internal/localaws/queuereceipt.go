package localaws

import "millrace/internal/localaws/queue"

// receiptEntry is an entry of a batch on received messages.
type receiptEntry struct {
	Id, ReceiptHandle string
}

func (r receiptEntry) id() string     { return r.Id }
func (r receiptEntry) handle() string { return r.ReceiptHandle }

// remove deletes a message, unless a fault is to lose the delete.
func (c *callContext) remove(q *queue.Queue, handle string) error {
	if c.fault == LoseDelete {
		return nil
	}
	return q.Delete(c.now, handle)
}

type deleteMessage struct {
	theQueue
	ReceiptHandle string
}

func (o *deleteMessage) subject(e *Engine) (string, string) {
	return o.name(e), queue.ReceiptOf(o.ReceiptHandle)
}

func (o *deleteMessage) run(e *Engine, c *callContext) (*reply, error) {
	return newReply(), e.onQueue(o.QueueUrl, func(q *queue.Queue) error { return c.remove(q, o.ReceiptHandle) })
}

type deleteMessageBatch struct {
	theQueue
	Entries []receiptEntry
}

func (o *deleteMessageBatch) subject(e *Engine) (string, string) {
	return o.name(e), aboutMessages(idsOf(o.Entries, receiptEntry.handle))
}

func (o *deleteMessageBatch) run(e *Engine, c *callContext) (*reply, error) {
	return e.batch(c, o.QueueUrl, idsOf(o.Entries, receiptEntry.id), func(q *queue.Queue, i int) (entry, error) {
		return nothingToTell, c.remove(q, o.Entries[i].ReceiptHandle)
	})
}

func nothingToTell(*reply) {}

type changeVisibility struct {
	theQueue
	ReceiptHandle     string
	VisibilityTimeout *int
}

func (o *changeVisibility) subject(e *Engine) (string, string) {
	return o.name(e), queue.ReceiptOf(o.ReceiptHandle)
}

func (o *changeVisibility) run(e *Engine, c *callContext) (*reply, error) {
	if o.VisibilityTimeout == nil {
		return nil, &queue.Error{Code: queue.MissingParameter, Message: "The request must contain the parameter VisibilityTimeout."}
	}
	return newReply(), e.onQueue(o.QueueUrl, func(q *queue.Queue) error { return q.Hide(c.now, o.ReceiptHandle, *o.VisibilityTimeout) })
}

type changeVisibilityBatch struct {
	theQueue
	Entries []visibilityEntry
}

type visibilityEntry struct {
	receiptEntry
	VisibilityTimeout int // absent means 0: the SDK does not send a 0
}

func (o *changeVisibilityBatch) subject(e *Engine) (string, string) {
	return o.name(e), aboutMessages(idsOf(o.Entries, func(v visibilityEntry) string { return v.ReceiptHandle }))
}

func (o *changeVisibilityBatch) run(e *Engine, c *callContext) (*reply, error) {
	ids := idsOf(o.Entries, func(v visibilityEntry) string { return v.Id })
	return e.batch(c, o.QueueUrl, ids, func(q *queue.Queue, i int) (entry, error) {
		return nothingToTell, q.Hide(c.now, o.Entries[i].ReceiptHandle, o.Entries[i].VisibilityTimeout)
	})
}
