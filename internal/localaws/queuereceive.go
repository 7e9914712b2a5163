package localaws

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/internal/localaws/queue"
)

type receiveMessage struct {
	theQueue
	AttributeNames              []string // the older name of the next
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
}

// run waits for messages, outside every lock: for one to be sent, for a delay
// or a visibility time-out to end, and for a group to be free again.
func (o *receiveMessage) run(e *Engine, c *callContext) (*reply, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if c.fault == Partial {
		return o.answer(nil), nil
	}
	var end *time.Timer
	for last := false; ; {
		got, more, err := o.try(e, c)
		if err != nil || len(got) > 0 || last || more.wait <= 0 {
			return o.answer(got), err
		}
		if end == nil {
			end = time.NewTimer(more.wait)
			defer end.Stop()
		}
		var known <-chan time.Time
		if more.timed {
			timer := time.NewTimer(more.next.Sub(e.now()))
			defer timer.Stop() // a poll sees few of them
			known = timer.C
		}
		select {
		case <-more.changed:
		case <-known:
		case <-end.C:
			last = true
		case <-c.gone: // nobody is left to have messages
			return o.answer(nil), nil
		case <-e.closing:
			return o.answer(nil), nil
		}
	}
}

// prospect is what an empty-handed receiver can hope for.
type prospect struct {
	wait    time.Duration // how long a receive waits in all
	changed <-chan struct{}
	timed   bool
	next    time.Time // when a message becomes available by itself, if timed
}

func (o *receiveMessage) try(e *Engine, c *callContext) (got []queue.Message, p prospect, err error) {
	most := 1
	if o.MaxNumberOfMessages != nil {
		most = *o.MaxNumberOfMessages
	}
	var hide *time.Duration
	if o.VisibilityTimeout != nil {
		d := time.Duration(*o.VisibilityTimeout) * time.Second
		hide = &d
	}
	err = e.onQueue(o.QueueUrl, func(q *queue.Queue) (err error) {
		if got, err = q.Receive(e.now(), most, hide, c.draw); err != nil {
			return err
		}
		p.wait, p.changed = q.Wait(), q.Changed()
		if o.WaitTimeSeconds != nil {
			p.wait = time.Duration(*o.WaitTimeSeconds) * time.Second
		}
		p.next, p.timed = q.Next()
		return nil
	})
	return got, p, err
}

func (o *receiveMessage) check() error {
	if err := checkRange("MaxNumberOfMessages", o.MaxNumberOfMessages, 1, 10); err != nil {
		return err
	}
	if err := checkRange("VisibilityTimeout", o.VisibilityTimeout, 0, queue.MaxHidden); err != nil {
		return err
	}
	if err := checkRange("WaitTimeSeconds", o.WaitTimeSeconds, 0, queue.MaxWait); err != nil {
		return err
	}
	for _, name := range slices.Concat(o.AttributeNames, o.MessageSystemAttributeNames) {
		if name != "All" && !slices.Contains(systemAttributes, name) {
			return &queue.Error{Code: queue.InvalidAttributeName, Message: "Unknown Attribute " + name + "."}
		}
	}
	return nil
}

// systemAttributes are what a receiver can ask to be told of a message.
var systemAttributes = []string{
	"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "SequenceNumber",
	"MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
}

func systemAttribute(m queue.Message, name string) string {
	switch name {
	case "SenderId":
		return m.Sender
	case "SentTimestamp":
		return strconv.FormatInt(m.Sent.UnixMilli(), 10)
	case "ApproximateReceiveCount":
		return strconv.Itoa(m.Receives)
	case "ApproximateFirstReceiveTimestamp":
		return strconv.FormatInt(m.First.UnixMilli(), 10)
	case "SequenceNumber":
		return m.Sequence
	case "MessageDeduplicationId":
		return m.Duplicate
	case "MessageGroupId":
		return m.Group
	case "DeadLetterQueueSourceArn":
		return m.Source
	}
	return "" // trace headers cannot be sent
}

func (o *receiveMessage) answer(messages []queue.Message) *reply {
	r := newReply()
	if len(messages) == 0 {
		return r
	}
	asked := slices.Concat(o.AttributeNames, o.MessageSystemAttributeNames)
	r.list("Messages", len(messages), func(i int) {
		m := messages[i]
		r.text("MessageId", m.ID)
		r.text("ReceiptHandle", m.Receipt)
		r.text("MD5OfBody", queue.BodyMD5(m.Body))
		r.text("Body", m.Body)
		if len(asked) > 0 {
			r.object("Attributes", func() {
				for _, name := range systemAttributes {
					value := systemAttribute(m, name)
					if value != "" && (slices.Contains(asked, "All") || slices.Contains(asked, name)) {
						r.text(name, value)
					}
				}
			})
		}
		if chosen := o.choose(m.Attributes); len(chosen) > 0 {
			r.text("MD5OfMessageAttributes", queue.AttributesMD5(chosen))
			r.object("MessageAttributes", func() { answerAttributes(r, chosen) })
		}
	})
	return r
}

// choose is the message attributes that were asked for: by name, by a prefix
// before ".*", or all.
func (o *receiveMessage) choose(all map[string]queue.Attribute) map[string]queue.Attribute {
	chosen := maps.Clone(all)
	maps.DeleteFunc(chosen, func(name string, _ queue.Attribute) bool {
		return !slices.ContainsFunc(o.MessageAttributeNames, func(asked string) bool {
			prefix, any := strings.CutSuffix(asked, ".*")
			return asked == "All" || asked == name || any && (prefix == "" || strings.HasPrefix(name, prefix+"."))
		})
	})
	return chosen
}

func answerAttributes(r *reply, attributes map[string]queue.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		r.object(name, func() {
			r.text("DataType", a.Type)
			if a.IsBytes() {
				r.text("BinaryValue", base64.StdEncoding.EncodeToString(a.Binary))
			} else {
				r.text("StringValue", a.Text)
			}
		})
	}
}
