package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/event"
	"millrace/failure"
	store "millrace/failure/dynamodb"
	"millrace/failure/notify"
	"millrace/internal/localaws"
)

// yard is a queue with the letters of blocks, and a sweeper of it.
type yard struct {
	t       *testing.T
	engine  *localaws.Engine
	store   *store.Store
	sweeper notify.Sweeper
}

func newYard(t *testing.T, blocks int) *yard {
	t.Helper()
	engine, s, _, n := setUp(t)
	q := onQueue(t, engine, nil)
	n.Queue = q
	for i := range blocks {
		block(t, s, fmt.Sprintf("order-%02d", i), 1, fmt.Sprintf("id-%d", i))
	}
	send(t, n, blocks, 0)
	return &yard{t: t, engine: engine, store: s, sweeper: notify.Sweeper{
		Markers: s, Inbox: q, Scopes: []failure.Scope{scope},
	}}
}

// release makes the first blocks live.
func (y *yard) release(blocks int) {
	y.t.Helper()
	for i := range blocks {
		y.apply(fmt.Sprintf("order-%02d", i), failure.Heal(1, fmt.Sprintf("healed-%d", i)))
	}
}

func (y *yard) apply(aggregate string, t failure.Transition) {
	y.t.Helper()
	if v, _, err := y.store.Apply(y.t.Context(), keyOf(aggregate), t); err != nil || v != failure.Applied {
		y.t.Fatalf("%s gave %v, %v", t.Name, v, err)
	}
}

// put sends a body as it is.
func (y *yard) put(body string) {
	y.t.Helper()
	client := sqs.NewFromConfig(y.engine.Config("other"))
	url, err := client.GetQueueUrl(y.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("letters")})
	if err == nil {
		_, err = client.SendMessage(y.t.Context(), &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body})
	}
	if err != nil {
		y.t.Fatal(err)
	}
}

// sweep makes a pass that ends with an error of a class, if any.
func (y *yard) sweep(want notify.Swept, class ...event.Class) {
	y.t.Helper()
	swept, err := y.sweeper.Sweep(y.t.Context())
	if swept != want || (err != nil) != (len(class) > 0) || err != nil && event.ClassOf(err) != class[0] {
		y.t.Errorf("a pass gave %+v, %v; want %+v", swept, err, want)
	}
}

// letter is the body of an aggregate's letter.
func (y *yard) letter(aggregate string) string {
	y.t.Helper()
	for _, m := range y.engine.Messages("letters") {
		if strings.Contains(m.Body, `"aggregate":"`+aggregate+`"`) {
			return m.Body
		}
	}
	y.t.Fatalf("%s has no letter", aggregate)
	return ""
}

func (y *yard) left(want int) {
	y.t.Helper()
	if n := len(y.engine.Messages("letters")); n != want {
		y.t.Errorf("%d letters are left, want %d", n, want)
	}
}

// hide is longer than what stays is hidden.
const hide = 31 * time.Second

// TestH20_SweepDeletesWhatIsOver: letters of aggregates that are live, whose
// row is gone, or that were blocked anew are deleted; those of blocks that
// stand, claimed or not, stay; what is not ours is left alone.
func TestH20_SweepDeletesWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, 13)
		y.release(4)
		y.apply("order-05", failure.Claim("id-5", "claimed", "job"))
		y.apply("order-06", failure.Claim("id-6", "claimed-6", "job"))
		y.apply("order-06", failure.BackToBlocked("claimed-6", 1, 1, "id-6-anew", failure.Cause{Class: "permanent", First: blockedAt, Last: blockedAt}))
		client := sdk.NewFromConfig(y.engine.Config("test"))
		for _, item := range y.engine.Items("millrace") {
			if item["sk"] == event.String("order-07") && strings.HasPrefix(string(item["pk"].(event.String)), "M|") { //nolint:forcetypeassert // all keys are text
				_, err := client.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("millrace"), Key: map[string]types.AttributeValue{
					"pk": &types.AttributeValueMemberS{Value: string(item["pk"].(event.String))}, "sk": &types.AttributeValueMemberS{Value: "order-07"}, //nolint:forcetypeassert // as above
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		ours := y.letter("order-00") // which is live
		for _, body := range []string{
			"no JSON", "{}", `{"schema":"millrace.letter/v2"}`,
			strings.Replace(ours, `"group":"g"`, `"group":"other"`, 1), strings.Replace(ours, `"table":"orders-events"`, `"table":"other"`, 1),
			strings.Replace(ours, `"sink":"view"`, `"sink":"other"`, 1), strings.Replace(ours, `"sinkVersion":1`, `"sinkVersion":2`, 1),
			strings.Replace(ours, `"aggregate":"order-00"`, `"aggregate":"nobody"`, 1), strings.Replace(ours, `"letterId":"`, `"letterId":"x`, 1),
		} {
			if body == ours {
				t.Fatal("a letter that is not ours is ours")
			}
			y.put(body)
		}
		y.put(ours) // sent twice
		y.sweep(notify.Swept{Received: 23, Deleted: 7, Kept: 7, Foreign: 9})
		y.left(16)
		y.sweep(notify.Swept{}) // what stays is hidden
		time.Sleep(hide)
		y.sweep(notify.Swept{Received: 16, Kept: 7, Foreign: 9})
	})
}

// TestH20_BlockedAgainWhileSwept: the aggregate is released and blocked anew
// after its letter was received. The new block's letter is another one.
func TestH20_BlockedAgainWhileSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, 1)
		n := &notify.Notifier{Outbox: scoped{y.store}, Events: events{}, Queue: y.sweeper.Inbox.(notify.Queue)} //nolint:forcetypeassert // it is both
		again := func() {
			y.release(1)
			block(t, y.store, "order-00", 4, "id-anew")
			send(t, n, 1, 0)
		}
		y.sweeper.Markers = markers(func(ctx context.Context, key failure.Key) (failure.Marker, error) {
			again()
			y.sweeper.Markers = y.store
			return y.store.Get(ctx, key)
		})
		// With one letter found, the pass asks again and finds the other.
		swept, err := y.sweeper.Sweep(t.Context())
		if err != nil || swept.Deleted != 1 {
			t.Errorf("a pass gave %+v, %v", swept, err)
		}
		time.Sleep(hide)
		y.sweep(notify.Swept{Received: 1, Kept: 1})
		if body := y.engine.Messages("letters")[0].Body; !strings.Contains(body, `"blockId":"id-anew"`) {
			t.Errorf("the letter that is left is %s", body)
		}
	})
}

type markers func(context.Context, failure.Key) (failure.Marker, error)

func (m markers) Get(ctx context.Context, key failure.Key) (failure.Marker, error) {
	return m(ctx, key)
}

// TestCase12_DeleteThatFails: what was not deleted comes back and is deleted
// with the next pass, whether the queue said so or lied.
func TestCase12_DeleteThatFails(t *testing.T) {
	for _, tc := range []struct {
		do    localaws.Action
		first notify.Swept
		class []event.Class
		stay  int
	}{
		{localaws.Partial, notify.Swept{Received: 8, Deleted: 4, Left: 4}, []event.Class{event.Transient}, 4},
		{localaws.LoseDelete, notify.Swept{Received: 8, Deleted: 8}, nil, 8},
		{localaws.Throttle, notify.Swept{Received: 8, Left: 8}, []event.Class{event.Transient}, 8},
		{localaws.LoseAnswer, notify.Swept{Received: 8, Left: 8}, []event.Class{event.Transient}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t, 8)
			y.release(8)
			y.engine.Inject(localaws.Fault{Do: tc.do, Times: 1, Match: func(c localaws.Call) bool { return c.Operation == "DeleteMessageBatch" }})
			y.sweep(tc.first, tc.class...)
			y.left(tc.stay)
			time.Sleep(hide)
			y.sweep(notify.Swept{Received: tc.stay, Deleted: tc.stay})
			y.left(0)
		})
	}
}

// TestSweepIsBounded: in number, and in time, so that no letter comes twice in
// a pass.
func TestSweepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, 45)
		y.release(45)
		y.sweeper.Most = 20
		y.sweep(notify.Swept{Received: 20, Deleted: 20, More: true})
		y.sweeper.Most = 0
		slow := y.engine.Inject(localaws.Fault{Do: localaws.Slow, Delay: 2500 * time.Millisecond, Match: func(c localaws.Call) bool { return c.Operation == "GetItem" }})
		y.sweep(notify.Swept{Received: 10, Deleted: 10, More: true}) // 25 s for ten
		slow()
		y.sweep(notify.Swept{Received: 15, Deleted: 15})
	})
}

// TestSweepWithoutTables: where the control table or the queue does not answer,
// no letter goes, and the pass ends; one row that cannot be read holds up
// nothing but its own letter.
func TestSweepWithoutTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, 12)
		y.release(12)
		silent := y.engine.Inject(localaws.Fault{Do: localaws.Throttle, After: 3, Match: func(c localaws.Call) bool { return c.Operation == "GetItem" }})
		y.sweep(notify.Swept{Received: 10, Deleted: 3, Left: 7}, event.Transient)
		silent()
		down := y.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: func(c localaws.Call) bool { return c.Operation == "ReceiveMessage" }})
		y.sweep(notify.Swept{}, event.Transient)
		down()
		time.Sleep(hide)
		broken := &event.Error{Class: event.Permanent, Op: "reading a marker", Err: errKilled}
		bad := ""
		y.sweeper.Markers = markers(func(ctx context.Context, key failure.Key) (failure.Marker, error) {
			if bad == "" {
				bad = key.Aggregate
			}
			if key.Aggregate == bad {
				return failure.Marker{}, broken
			}
			return y.store.Get(ctx, key)
		})
		y.sweep(notify.Swept{Received: 9, Deleted: 8, Left: 1}, event.Permanent)
		y.left(1)
	})
}
