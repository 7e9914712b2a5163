package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/failure"
	store "millrace/failure/dynamodb"
	"millrace/failure/notify"
	"millrace/internal/localaws"
)

var scope = failure.Scope{Group: "g", Table: "orders-events", Sink: "view", SinkVersion: 1}

var blockedAt = time.Unix(1_700_000_000, 0)

func keyOf(aggregate string) failure.Key { return scope.Key(aggregate) }

// queue accepts letters until it is told not to.
type queue struct {
	down     error
	accepted []failure.Letter
	then     func() // runs after a letter was accepted
}

func (q *queue) Send(_ context.Context, letters []failure.Letter) []error {
	answers := make([]error, len(letters))
	for i, l := range letters {
		if answers[i] = q.down; q.down == nil {
			q.accepted = append(q.accepted, l)
			if q.then != nil {
				q.then()
			}
		}
	}
	return answers
}

// events holds one event for every version but those that are gone.
type events struct {
	gone bool
	note string // of each event
}

func (e events) Range(_ context.Context, aggregate string, from, _ uint64, page func([]event.Event) error) error {
	if e.gone {
		return nil
	}
	layout := event.Orders()
	item := event.Item{"pk": event.String(aggregate), "sk": layout.VersionKey(from), "type": event.String("OrderPlaced"), "note": event.String(e.note)}
	return page([]event.Event{{Aggregate: aggregate, Version: from, Image: event.Decoded(item), Layout: layout}})
}

// scoped is the outbox of one sink.
type scoped struct{ *store.Store }

func (s scoped) Promises(ctx context.Context) ([]failure.Promise, error) {
	return s.Store.Promises(ctx, scope)
}

func setUp(t *testing.T) (*localaws.Engine, *store.Store, *queue, *notify.Notifier) {
	t.Helper()
	engine := localaws.New(localaws.Options{})
	t.Cleanup(func() { _ = engine.Close() })
	client := sdk.NewFromConfig(engine.Config("test"))
	if err := control.New(control.Options{Client: client}).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, q := store.New(store.Options{Client: client}), &queue{}
	return engine, s, q, &notify.Notifier{Outbox: scoped{s}, Events: events{}, Queue: q, Build: "test"}
}

func block(t *testing.T, s *store.Store, aggregate string, v uint64, id string) {
	t.Helper()
	cause := failure.Cause{Class: "permanent", Text: "no", First: blockedAt, Last: blockedAt.Add(time.Second)}
	if verdict, _, err := s.Apply(t.Context(), keyOf(aggregate), failure.Block(v, id, cause)); err != nil || verdict != failure.Applied {
		t.Fatalf("blocking gave %v, %v", verdict, err)
	}
}

func send(t *testing.T, n *notify.Notifier, wantSent, wantUnsent int) notify.Unsent {
	t.Helper()
	sent, unsent, err := n.Send(t.Context())
	if err != nil || sent != wantSent || unsent.Letters != wantUnsent {
		t.Fatalf("sent %d, unsent %+v, %v; want %d and %d", sent, unsent, err, wantSent, wantUnsent)
	}
	return unsent
}

func TestEachBlockIsToldOnce(t *testing.T) {
	_, s, q, n := setUp(t)
	for i := range 25 {
		block(t, s, fmt.Sprintf("order-%d", i), 3, fmt.Sprintf("id-%d", i))
	}
	send(t, n, 25, 0)
	send(t, n, 0, 0)
	letter := q.accepted[0]
	if letter.Version != 3 || letter.EventType != "OrderPlaced" || letter.Record.Item == nil || letter.Build != "test" {
		t.Errorf("the letter is %+v", letter)
	}
	marker, err := s.Get(t.Context(), keyOf("order-0"))
	if err != nil || marker.Unsent() {
		t.Errorf("the marker is %+v, %v", marker, err)
	}
}

// TestH20_QueueDown: letters wait with their age, nothing is lost, and they go
// out when the queue is back.
func TestH20_QueueDown(t *testing.T) {
	_, s, q, n := setUp(t)
	block(t, s, "a", 1, "id-a")
	block(t, s, "b", 2, "id-b")
	q.down = &event.Error{Class: event.Permanent, Op: "finding the on-failure queue", Err: errors.New("no such queue")}
	if unsent := send(t, n, 0, 2); !unsent.Oldest.Equal(blockedAt) || unsent.Err == nil {
		t.Errorf("what is unsent is told as %+v", unsent)
	}
	q.down = nil
	send(t, n, 2, 0)
}

// TestReleasedAndBlockedAnew: a row of a block that is over tells nothing, and
// the block that was made while its letter was on its way gets its own.
func TestReleasedAndBlockedAnew(t *testing.T) {
	_, s, q, n := setUp(t)
	block(t, s, "a", 1, "id-1")
	apply := func(transition failure.Transition) {
		t.Helper()
		if v, _, err := s.Apply(t.Context(), keyOf("a"), transition); err != nil || v != failure.Applied {
			t.Fatalf("%s gave %v, %v", transition.Name, v, err)
		}
	}
	q.then = func() {
		q.then = nil
		apply(failure.Heal(1, "healed"))
		block(t, s, "a", 4, "id-2")
	}
	send(t, n, 1, 0)
	send(t, n, 1, 0)
	if len(q.accepted) != 2 || q.accepted[1].BlockID != "id-2" || q.accepted[1].Version != 4 {
		t.Errorf("accepted %+v", q.accepted)
	}
	block(t, s, "b", 1, "id-b")
	if v, _, err := s.Apply(t.Context(), keyOf("b"), failure.Heal(1, "healed-b")); err != nil || v != failure.Applied {
		t.Fatal(v, err)
	}
	send(t, n, 0, 0)
	if left, err := s.Promises(t.Context(), scope); err != nil || len(left) != 0 {
		t.Errorf("%d rows are left, %v", len(left), err)
	}
}

// TestTheEventIsGone: a letter tells of a version that the event store lacks.
func TestTheEventIsGone(t *testing.T) {
	_, s, q, n := setUp(t)
	n.Events = events{gone: true}
	block(t, s, "a", 2, "id-a")
	send(t, n, 1, 0)
	if q.accepted[0].Record.SHA256 != "" || q.accepted[0].Version != 2 {
		t.Errorf("the letter is %+v", q.accepted[0])
	}
}
