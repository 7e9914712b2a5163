package queue

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// receipt is the handle of one receive of a message.
func (q *Queue) receipt(m *message) string {
	return base64.RawURLEncoding.EncodeToString([]byte(q.name + "/" + m.id + "/" + strconv.Itoa(m.here)))
}

// ReceiptOf is the id of the message that a receipt handle is for; "" for
// what is none.
func ReceiptOf(handle string) string {
	_, id, _ := parseReceipt(handle)
	return id
}

func parseReceipt(handle string) (queue, id string, receive int) {
	text, err := base64.RawURLEncoding.DecodeString(handle)
	if err != nil {
		return "", "", 0
	}
	parts := strings.Split(string(text), "/")
	if len(parts) != 3 {
		return "", "", 0
	}
	if receive, err = strconv.Atoi(parts[2]); err != nil {
		return "", "", 0
	}
	return parts[0], parts[1], receive
}

// received is the message of a handle, nil when it is gone, and whether the
// handle is that of its last receive.
func (q *Queue) received(handle string) (m *message, last bool, err error) {
	name, id, receive := parseReceipt(handle)
	if name != q.name {
		return nil, false, refuse(InvalidReceipt, "The input receipt handle is invalid.")
	}
	m = q.messages[id]
	return m, m != nil && m.here == receive, nil
}

// Delete deletes a message. What is gone already is deleted again without
// complaint. A FIFO queue refuses a handle whose visibility time-out is over;
// in a standard queue the handle of the last receive works also then, and an
// older one does nothing, with success.
func (q *Queue) Delete(now time.Time, handle string) error {
	q.advance(now)
	m, last, err := q.received(handle)
	if err != nil || m == nil {
		return err
	}
	if q.settings.fifo && (!last || !m.inFlight) {
		return refuse(InvalidParameter, "Value %s for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.", handle)
	}
	if last {
		q.remove(m)
	}
	return nil
}

// Hide sets for how many seconds from now on a message in flight stays hidden;
// 0 makes it available at once.
func (q *Queue) Hide(now time.Time, handle string, seconds int) error {
	q.advance(now)
	if seconds < 0 || seconds > MaxHidden {
		return refuse(InvalidParameter, "Value %d for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be between 0 and %d.", seconds, MaxHidden)
	}
	m, last, err := q.received(handle)
	switch {
	case err != nil:
		return err
	case m == nil || !last:
		return refuse(InvalidParameter, "Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.", handle)
	case !m.inFlight:
		return refuse(NotInFlight, "The specified message isn't in flight.")
	}
	until := now.Add(time.Duration(seconds) * time.Second)
	if until.Sub(m.taken) > MaxHidden*time.Second {
		return refuse(InvalidParameter, "Value %d for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [%d seconds].", seconds, MaxHidden)
	}
	q.hide(m, until)
	q.advance(now)
	return nil
}
