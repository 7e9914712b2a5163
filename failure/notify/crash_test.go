package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/notify"
	letterqueue "millrace/failure/sqs"
	"millrace/internal/localaws"
)

var errKilled = &event.Error{Class: event.Stopping, Op: "calling", Err: errors.New("killed")}

// mortal counts a sender's calls and kills it at one of them: before it, or
// after its effect and before its answer.
type mortal struct {
	notify.Outbox
	notify.Queue
	at, calls int
	after     bool
}

func (m *mortal) call(do func() error) error {
	m.calls++
	switch {
	case m.calls < m.at || m.at == 0:
		return do()
	case m.calls == m.at && m.after:
		_ = do() // nobody hears of it
	}
	return errKilled
}

func (m *mortal) Get(ctx context.Context, key failure.Key) (marker failure.Marker, err error) {
	err = m.call(func() error { marker, err = m.Outbox.Get(ctx, key); return err })
	return marker, err
}

func (m *mortal) Apply(ctx context.Context, key failure.Key, t failure.Transition) (v failure.Verdict, marker failure.Marker, err error) {
	err = m.call(func() error { v, marker, err = m.Outbox.Apply(ctx, key, t); return err })
	return v, marker, err
}

func (m *mortal) Kept(ctx context.Context, p failure.Promise) error {
	return m.call(func() error { return m.Outbox.Kept(ctx, p) })
}

func (m *mortal) Send(ctx context.Context, letters []failure.Letter) []error {
	var answers []error
	if err := m.call(func() error { answers = m.Queue.Send(ctx, letters); return nil }); err != nil {
		return slices.Repeat([]error{err}, len(letters))
	}
	return answers
}

// TestCase01_KilledAnywhere: a sender is killed at each of its calls, from the
// marker that nobody has looked at to the last row's deletion. The next one
// sends what is missing; a letter that comes twice comes under one id.
func TestCase01_KilledAnywhere(t *testing.T) {
	for at := 1; ; at++ {
		reached := false
		for _, after := range []bool{false, true} {
			_, s, q, n := setUp(t)
			block(t, s, "a", 1, "id-a")
			block(t, s, "b", 2, "id-b")
			m := &mortal{Outbox: n.Outbox, Queue: q, at: at, after: after}
			killed := *n
			killed.Outbox, killed.Queue = m, m
			if _, _, err := killed.Send(t.Context()); err != nil {
				t.Fatal(err)
			}
			reached = m.calls >= at
			if _, unsent, err := n.Send(t.Context()); err != nil || unsent.Letters != 0 {
				t.Fatalf("killed at call %d: %+v is unsent, %v", at, unsent, err)
			}
			ids := map[string]bool{}
			for _, l := range q.accepted {
				ids[l.ID()] = true
			}
			left, err := s.Promises(t.Context(), scope)
			if err != nil || len(left) != 0 || len(ids) != 2 || len(q.accepted) > 4 {
				t.Errorf("killed at call %d, after its effect %v: %d letters of %d blocks, %d rows left, %v", at, after, len(q.accepted), len(ids), len(left), err)
			}
			for _, a := range []string{"a", "b"} {
				if marker, err := s.Get(t.Context(), keyOf(a)); err != nil || marker.Notified != "id-"+a {
					t.Errorf("killed at call %d: the marker is %+v, %v", at, marker, err)
				}
			}
		}
		if !reached {
			if at < 7 { // two reads, one send, two notes, two deletions
				t.Errorf("it was killed at %d calls only", at-1)
			}
			return
		}
	}
}

// onQueue has a notifier send to a queue of the engine.
func onQueue(t *testing.T, engine *localaws.Engine, attributes map[string]string) *letterqueue.Queue {
	t.Helper()
	client, name := sqs.NewFromConfig(engine.Config("letters")), "letters"
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
		t.Fatal(err)
	}
	q, err := letterqueue.New(client, letterqueue.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestCase12_PartialSend: the queue accepts a part of a batch; the rest is sent
// with the next pass, and nothing twice.
func TestCase12_PartialSend(t *testing.T) {
	engine, s, _, n := setUp(t)
	n.Queue = onQueue(t, engine, nil)
	for i := range 10 {
		block(t, s, fmt.Sprintf("order-%d", i), 3, fmt.Sprintf("id-%d", i))
	}
	engine.Inject(localaws.Fault{Do: localaws.Partial, Times: 1, Match: func(c localaws.Call) bool { return c.Operation == "SendMessageBatch" }})
	unsent := send(t, n, 5, 5)
	if event.ClassOf(unsent.Err) != event.Transient || unsent.Oldest.IsZero() {
		t.Errorf("what is unsent is told as %+v", unsent)
	}
	send(t, n, 5, 0)
	send(t, n, 0, 0)
	if got := len(engine.Messages("letters")); got != 10 {
		t.Errorf("%d letters are in the queue", got)
	}
}

// TestCase13_ErrorOfOneMegabyte: what quotes a whole payload leaves marker and
// letter small.
func TestCase13_ErrorOfOneMegabyte(t *testing.T) {
	engine, s, _, n := setUp(t)
	n.Queue = onQueue(t, engine, nil)
	cause := failure.Cause{Class: "permanent", Text: strings.Repeat("ä", 1<<19), First: blockedAt, Last: blockedAt}
	if v, m, err := s.Apply(t.Context(), keyOf("a"), failure.Block(1, "id-a", cause)); err != nil || v != failure.Applied || len(m.Cause.Text) > failure.MaxText {
		t.Fatalf("blocking gave %v, %d bytes of text, %v", v, len(m.Cause.Text), err)
	}
	send(t, n, 1, 0)
	if body := engine.Messages("letters")[0].Body; len(body) > 4*failure.MaxText {
		t.Errorf("the letter has %d bytes", len(body))
	}
}

// TestCase13_LetterAboveTheLimit: a queue that takes less than a letter with
// its record gets it without; so does nobody else.
func TestCase13_LetterAboveTheLimit(t *testing.T) {
	engine, s, _, n := setUp(t)
	n.Queue, n.Events = onQueue(t, engine, map[string]string{"MaximumMessageSize": "4096"}), events{note: strings.Repeat("x", 8000)}
	block(t, s, "large", 1, "id-a")
	send(t, n, 1, 0)
	n.Events = events{}
	block(t, s, "small", 1, "id-b")
	send(t, n, 1, 0)
	for _, m := range engine.Messages("letters") {
		large := strings.Contains(m.Body, `"aggregate":"large"`)
		if inline := strings.Contains(m.Body, `"item":`); inline == large || !strings.Contains(m.Body, `"sha256":"`) {
			t.Errorf("a letter is %s", m.Body)
		}
	}
}
