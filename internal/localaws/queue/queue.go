package queue

import (
	"strconv"
	"time"
)

// Queue is one queue. Not safe for concurrent use.
type Queue struct {
	account  *Account
	name     string
	settings settings
	created  time.Time
	modified time.Time
	purged   time.Time

	arrivals   uint64
	messages   map[string]*message // by id
	lines      map[string]*line    // of FIFO queues, by group
	ready      pile[*line]         // whose front can be received, oldest arrival first
	timers     pile[*message]      // delayed and in flight, by the end of it
	ages       pile[*message]      // all, by the time of sending
	inFlight   int
	duplicates duplicates // of FIFO queues
	accepted   []Message  // if the account keeps them

	changed chan struct{} // closed when there may be more to receive
}

// line is messages that come one after the other: those of a group, or one of
// a standard queue.
type line struct {
	messages []*message // in the order of arrival
	inFlight int
	place    int // in Queue.ready
}

func newQueue(a *Account, name string, s settings, now time.Time) *Queue {
	return &Queue{
		account: a, name: name, settings: s, created: now, modified: now,
		messages: map[string]*message{}, lines: map[string]*line{}, changed: make(chan struct{}),
		duplicates: duplicates{accepted: map[string]Sent{}},
		ready: pile[*line]{
			before: func(a, b *line) bool { return a.messages[0].order < b.messages[0].order },
			place:  func(l *line) *int { return &l.place },
		},
		timers: pile[*message]{
			before: func(a, b *message) bool { return a.until.Before(b.until) },
			place:  func(m *message) *int { return &m.timer },
		},
		ages: pile[*message]{
			before: func(a, b *message) bool { return a.sent.Before(b.sent) },
			place:  func(m *message) *int { return &m.age },
		},
	}
}

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

// Wait is how long a receive waits where it does not say.
func (q *Queue) Wait() time.Duration { return q.settings.seconds("ReceiveMessageWaitTimeSeconds") }

// Changed is closed as soon as there may be more to receive than there was
// when it was called, or the queue is deleted.
func (q *Queue) Changed() <-chan struct{} { return q.changed }

// Next is when a message becomes available by itself; false for never.
func (q *Queue) Next() (time.Time, bool) {
	if len(q.timers.items) == 0 {
		return time.Time{}, false
	}
	return q.timers.first().until, true
}

func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Set sets attributes. A message that was not received yet gets a new delay in
// a FIFO queue and keeps its old one in a standard queue, as AWS documents it.
func (q *Queue) Set(now time.Time, attributes map[string]string) error {
	if _, ok := attributes["FifoQueue"]; ok {
		return refuse(InvalidAttributeName, "Unknown Attribute FifoQueue.")
	}
	wanted, err := q.settings.with(attributes)
	if err != nil {
		return err
	}
	if err := q.account.checkTarget(wanted); err != nil {
		return err
	}
	q.settings, q.modified = wanted, now
	if _, ok := attributes["DelaySeconds"]; ok && wanted.fifo {
		for _, m := range q.messages {
			if m.here == 0 {
				q.hide(m, m.sent.Add(wanted.seconds("DelaySeconds")))
			}
		}
		for _, l := range q.lines {
			q.refresh(l)
		}
	}
	q.advance(now)
	return nil
}

// Attributes are the queue's attributes, its message counts included.
func (q *Queue) Attributes(now time.Time) map[string]string {
	q.advance(now)
	out := q.settings.texts()
	delayed := len(q.timers.items) - q.inFlight
	out["QueueArn"] = q.account.arn(q.name)
	out["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	out["LastModifiedTimestamp"] = strconv.FormatInt(q.modified.Unix(), 10)
	out["ApproximateNumberOfMessages"] = strconv.Itoa(len(q.messages) - len(q.timers.items))
	out["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(q.inFlight)
	out["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(delayed)
	return out
}

// Purge deletes all messages. The service takes up to a minute for it and
// refuses a second purge within that time.
func (q *Queue) Purge(now time.Time) error {
	if !q.purged.IsZero() && now.Sub(q.purged) < betweenPurges {
		return refuse(PurgeInProgress, "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name)
	}
	q.purged = now
	clear(q.messages)
	clear(q.lines)
	q.ready.items, q.timers.items, q.ages.items, q.inFlight = nil, nil, nil, 0
	return nil
}

// advance lets happen what time brings about: delays and visibility time-outs
// end, messages grow too old, de-duplication ids are forgotten.
func (q *Queue) advance(now time.Time) {
	for len(q.timers.items) > 0 && !q.timers.first().until.After(now) {
		q.show(q.timers.first())
	}
	kept := q.settings.seconds("MessageRetentionPeriod")
	for len(q.ages.items) > 0 && now.Sub(q.ages.first().sent) >= kept {
		q.remove(q.ages.first())
	}
	q.duplicates.forget(now)
}

// add puts a new message at the end of its line.
func (q *Queue) add(m *message, hidden time.Duration) {
	q.arrivals++
	m.order = q.arrivals
	m.line = &line{}
	if q.settings.fifo {
		if q.lines[m.group] == nil {
			q.lines[m.group] = m.line
		}
		m.line = q.lines[m.group]
		m.sequence = sequence(q.arrivals)
	}
	m.line.messages = append(m.line.messages, m)
	q.messages[m.id] = m
	q.ages.put(m)
	if hidden > 0 {
		q.hide(m, m.sent.Add(hidden))
	}
	q.refresh(m.line)
}

// hide keeps a message from being received. The caller refreshes its line.
func (q *Queue) hide(m *message, until time.Time) {
	m.until = until
	q.timers.put(m)
}

// show ends a message's delay or its time in flight.
func (q *Queue) show(m *message) {
	q.timers.drop(m)
	if m.inFlight {
		m.inFlight = false
		m.line.inFlight--
		q.inFlight--
	}
	q.refresh(m.line)
}

// remove takes a message out of the queue.
func (q *Queue) remove(m *message) {
	l := m.line
	at := 0
	for l.messages[at] != m {
		at++
	}
	q.ready.drop(l) // its rank is that of its front, which may be the one that goes
	// Messages go from near the front: the few before this one move, not the
	// many behind it.
	copy(l.messages[1:at+1], l.messages[:at])
	l.messages[0] = nil
	l.messages = l.messages[1:]
	delete(q.messages, m.id)
	q.ages.drop(m)
	q.show(m)
	if len(l.messages) == 0 && q.settings.fifo {
		delete(q.lines, m.group)
	}
}

// refresh brings a line in or out of those that can be received from.
func (q *Queue) refresh(l *line) {
	if len(l.messages) == 0 || l.inFlight > 0 || q.timers.has(l.messages[0]) {
		q.ready.drop(l)
		return
	}
	if !q.ready.has(l) {
		q.ready.put(l)
		q.wake()
	}
}
