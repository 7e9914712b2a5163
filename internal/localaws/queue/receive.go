package queue

import (
	"math/rand/v2"
	"slices"
	"time"
)

// maxInFlight is how many messages of a queue can be in flight.
const maxInFlight = 120_000

// Message is a message as its receiver, or an onlooker, sees it.
type Message struct {
	ID, Body   string
	Attributes map[string]Attribute // shared: not to be changed
	Receipt    string               // "" for an onlooker
	Group      string
	Duplicate  string // the de-duplication id, of FIFO queues
	Sequence   string // of FIFO queues
	Sender     string
	Source     string // the ARN of the queue it was moved here from
	Sent       time.Time
	First      time.Time // of the first receive; zero before it
	Receives   int       // over all queues
	Hidden     bool      // delayed or in flight
}

// Receive takes up to most messages, between 1 and 10, and hides them for a
// time; nil is the queue's own. Chance decides the order of a standard queue.
func (q *Queue) Receive(now time.Time, most int, hide *time.Duration, chance uint64) ([]Message, error) {
	q.advance(now)
	if q.inFlight >= maxInFlight {
		if q.settings.fifo {
			return nil, nil // as AWS documents it: no error
		}
		return nil, refuse(OverLimit, "Too many messages in flight: %d", q.inFlight)
	}
	hidden := q.settings.seconds("VisibilityTimeout")
	if hide != nil {
		hidden = *hide
	}
	var out []Message
	for len(out) < most && len(q.ready.items) > 0 {
		for _, l := range q.draw(most-len(out), chance) {
			out = append(out, q.receiveFrom(l, now, hidden, most-len(out))...)
		}
	}
	q.advance(now) // a time of 0 hides nothing
	return out, nil
}

// receiveFrom takes what can be received from one line.
func (q *Queue) receiveFrom(l *line, now time.Time, hidden time.Duration, most int) []Message {
	var out []Message
	for _, m := range slices.Clone(l.messages[:min(len(l.messages), most)]) {
		if q.timers.has(m) {
			break // a delayed one holds those behind it up
		}
		if q.exhausted(m) {
			q.bury(m, now)
			continue
		}
		q.take(m, now)
		q.hide(m, now.Add(hidden))
		out = append(out, m.view(q.receipt(m)))
	}
	q.refresh(l)
	return out
}

// draw is lines to receive from. Of a standard queue it takes some of twice as
// many, in no order: its order is promised to nobody.
func (q *Queue) draw(most int, chance uint64) []*line {
	reach := most
	if !q.settings.fifo {
		reach = 2 * most
	}
	var lines []*line
	for len(lines) < reach && len(q.ready.items) > 0 {
		l := q.ready.first()
		q.ready.drop(l)
		lines = append(lines, l)
	}
	if !q.settings.fifo {
		shuffled := rand.New(rand.NewPCG(chance, 2)) //nolint:gosec // reproducible on purpose
		shuffled.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	return lines
}

func (q *Queue) take(m *message, now time.Time) {
	if m.total == 0 {
		m.first = now
	}
	m.total++
	m.here++
	m.taken = now
	m.inFlight = true
	m.line.inFlight++
	q.inFlight++
}

// exhausted tells whether the redrive policy has had enough of a message.
// Without its dead-letter queue a message stays.
func (q *Queue) exhausted(m *message) bool {
	return q.settings.dead != "" && m.here >= q.settings.allowed && q.account.byARN(q.settings.dead) != nil
}

// bury moves a message to the dead-letter queue. Its age goes on counting
// there in a standard queue and starts anew in a FIFO queue.
func (q *Queue) bury(m *message, now time.Time) {
	dead := q.account.byARN(q.settings.dead)
	q.remove(m)
	moved := &message{
		id: m.id, body: m.body, attrs: m.attrs, group: m.group, duplicate: m.duplicate, sender: m.sender,
		sent: m.sent, source: q.account.arn(q.name), first: m.first, total: m.total,
	}
	if q.settings.fifo {
		moved.sent = now
	}
	dead.add(moved, 0)
}

func (m *message) view(receipt string) Message {
	return Message{
		ID: m.id, Body: m.body, Attributes: m.attrs, Receipt: receipt, Group: m.group, Duplicate: m.duplicate,
		Sequence: m.sequence, Sender: m.sender, Source: m.source, Sent: m.sent, First: m.first, Receives: m.total,
		Hidden: m.timer > 0,
	}
}

// Messages are all messages in the order of arrival, without touching them.
func (q *Queue) Messages(now time.Time) []Message {
	q.advance(now)
	all := make([]*message, 0, len(q.messages))
	for _, m := range q.messages {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *message) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	out := make([]Message, len(all))
	for i, m := range all {
		out[i] = m.view("")
	}
	return out
}

// Accepted are all messages that the queue ever accepted, in the order of
// arrival and as they were then, whatever became of them. A duplicate that a
// FIFO queue did not store is none. Nil unless Account.KeepAccepted was set.
func (q *Queue) Accepted() []Message { return slices.Clone(q.accepted) }
