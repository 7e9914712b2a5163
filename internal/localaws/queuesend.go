package localaws

import "millrace/internal/localaws/queue"

// outgoing is a message to be sent, alone or as the entry of a batch.
type outgoing struct {
	MessageBody            string
	DelaySeconds           *int
	MessageAttributes      map[string]messageAttribute
	MessageDeduplicationId string
	MessageGroupId         string
}

type messageAttribute struct {
	DataType    string
	StringValue string
	BinaryValue []byte
}

// sender stands for the one caller that the engine's credentials know.
const sender = "local"

func (m outgoing) draft() queue.Draft {
	attributes := make(map[string]queue.Attribute, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		attributes[name] = queue.Attribute{Type: a.DataType, Text: a.StringValue, Binary: a.BinaryValue}
	}
	return queue.Draft{
		Body: m.MessageBody, Attributes: attributes, Delay: m.DelaySeconds,
		Group: m.MessageGroupId, Duplicate: m.MessageDeduplicationId, Sender: sender,
	}
}

// answerSent writes what the sender learns of a message.
func answerSent(r *reply, d queue.Draft, sent queue.Sent) {
	r.text("MessageId", sent.ID)
	r.text("MD5OfMessageBody", queue.BodyMD5(d.Body))
	if sum := queue.AttributesMD5(d.Attributes); sum != "" {
		r.text("MD5OfMessageAttributes", sum)
	}
	if sent.Sequence != "" {
		r.text("SequenceNumber", sent.Sequence)
	}
}

type sendMessage struct {
	theQueue
	outgoing
}

func (o *sendMessage) subject(e *Engine) (string, string) { return o.name(e), o.MessageGroupId }

func (o *sendMessage) run(e *Engine, c *callContext) (*reply, error) {
	d := o.draft()
	var sent queue.Sent
	if err := e.onQueue(o.QueueUrl, func(q *queue.Queue) (err error) {
		sent, err = q.Send(c.now, d)
		return err
	}); err != nil {
		return nil, err
	}
	r := newReply()
	answerSent(r, d, sent)
	return r, nil
}

type sendMessageBatch struct {
	theQueue
	Entries []sendEntry
}

type sendEntry struct {
	Id string
	outgoing
}

func (o *sendMessageBatch) subject(e *Engine) (string, string) {
	return o.name(e), joinDistinct(idsOf(o.Entries, func(s sendEntry) string { return s.MessageGroupId }))
}

func (o *sendMessageBatch) run(e *Engine, c *callContext) (*reply, error) {
	drafts := make([]queue.Draft, len(o.Entries))
	for i, entry := range o.Entries {
		drafts[i] = entry.draft()
	}
	if err := queue.CheckBatchSize(drafts); err != nil {
		return nil, err
	}
	ids := idsOf(o.Entries, func(s sendEntry) string { return s.Id })
	return e.batch(c, o.QueueUrl, ids, func(q *queue.Queue, i int) (entry, error) {
		sent, err := q.Send(c.now, drafts[i])
		if err != nil {
			return nil, err
		}
		return func(r *reply) { answerSent(r, drafts[i], sent) }, nil
	})
}
