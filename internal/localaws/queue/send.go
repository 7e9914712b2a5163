package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// window is how long a de-duplication id is remembered.
const window = 5 * time.Minute

// Sent is what the sender learns of an accepted message.
type Sent struct {
	ID       string
	Sequence string // of FIFO queues
}

// duplicates are the de-duplication ids of the last five minutes. They outlive
// their messages.
type duplicates struct {
	accepted map[string]Sent
	order    []struct {
		key string
		at  time.Time
	}
}

func (d *duplicates) add(key string, sent Sent, now time.Time) {
	d.accepted[key] = sent
	d.order = append(d.order, struct {
		key string
		at  time.Time
	}{key, now})
}

func (d *duplicates) forget(now time.Time) {
	for len(d.order) > 0 && now.Sub(d.order[0].at) >= window {
		delete(d.accepted, d.order[0].key)
		d.order = d.order[1:]
	}
}

// Send accepts a message. A duplicate of a FIFO queue is answered as the
// message it repeats and not stored.
func (q *Queue) Send(now time.Time, d Draft) (Sent, error) {
	q.advance(now)
	if err := d.check(q.settings.numbers["MaximumMessageSize"]); err != nil {
		return Sent{}, err
	}
	if err := q.checkKind(d); err != nil {
		return Sent{}, err
	}
	key := ""
	if q.settings.fifo {
		if d.Duplicate == "" {
			sum := sha256.Sum256([]byte(d.Body))
			d.Duplicate = hex.EncodeToString(sum[:])
		}
		key = d.Duplicate
		if q.settings.choices["DeduplicationScope"] == "messageGroup" {
			key = d.Group + " " + key // neither can contain a space
		}
		if first, ok := q.duplicates.accepted[key]; ok {
			return first, nil
		}
	}
	m := &message{
		id: q.account.newID(), body: d.Body, attrs: d.Attributes, group: d.Group, duplicate: d.Duplicate,
		sender: d.Sender, sent: now,
	}
	delay := q.settings.seconds("DelaySeconds")
	if d.Delay != nil && !q.settings.fifo {
		delay = time.Duration(*d.Delay) * time.Second
	}
	q.add(m, delay)
	if q.account.KeepAccepted {
		q.accepted = append(q.accepted, m.view(""))
	}
	sent := Sent{ID: m.id, Sequence: m.sequence}
	if q.settings.fifo {
		q.duplicates.add(key, sent, now)
	}
	return sent, nil
}

// checkKind checks what differs between FIFO and standard queues.
func (q *Queue) checkKind(d Draft) error {
	for name, id := range map[string]string{"MessageGroupId": d.Group, "MessageDeduplicationId": d.Duplicate} {
		if id != "" && !identifier(id) {
			return refuse(InvalidParameter, "Value %s for parameter %s is invalid. Reason: %s can only include alphanumeric and punctuation characters. 1 to 128 in length.", id, name, name)
		}
	}
	if !q.settings.fifo {
		if d.Duplicate != "" {
			return refuse(InvalidParameter, "Value %s for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter that is not valid for this queue type.", d.Duplicate)
		}
		return nil
	}
	switch {
	case d.Group == "":
		return refuse(MissingParameter, "The request must contain the parameter MessageGroupId.")
	case d.Duplicate == "" && q.settings.choices["ContentBasedDeduplication"] != "true":
		return refuse(InvalidParameter, "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	case d.Delay != nil && *d.Delay != 0:
		return refuse(InvalidParameter, "Value %d for parameter DelaySeconds is invalid. Reason: The request includes a parameter that is not valid for this queue type.", *d.Delay)
	}
	return nil
}

// identifier tells whether a text can be a group or de-duplication id.
func identifier(text string) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return len(text) <= 128
}

// sequence is the n-th sequence number: 20 digits that grow, as the service's
// do, and not one by one.
func sequence(n uint64) string { return fmt.Sprintf("188%017d", n*256) }
