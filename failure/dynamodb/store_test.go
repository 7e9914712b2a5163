package dynamodb_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/failure"
	"millrace/failure/dynamodb"
	"millrace/internal/awsclient"
	"millrace/internal/localaws"
)

var scope = failure.Scope{Group: "g", Table: "orders-events", Sink: "view", SinkVersion: 1}

func keyOf(aggregate string) failure.Key { return scope.Key(aggregate) }

func open(t *testing.T) (*localaws.Engine, *dynamodb.Store) {
	t.Helper()
	engine := localaws.New(localaws.Options{})
	t.Cleanup(func() { _ = engine.Close() })
	client := sdk.NewFromConfig(engine.Config("test"))
	if err := control.New(control.Options{Client: client}).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return engine, dynamodb.New(dynamodb.Options{Client: client})
}

// anyTransition draws every kind of write, with the generations of a small
// world, so that conditions hold and fail for every reason. What a writer may
// have seen on record is never above what is.
func anyTransition(t *rapid.T, n int, row event.Item) failure.Transition {
	onRecord, _ := failure.AsVersion(row[failure.SeenVersionAttribute])
	v := uint64(rapid.IntRange(1, 4).Draw(t, "version"))
	seen := rapid.Uint64Range(0, onRecord).Draw(t, "seen")
	held := fmt.Sprintf("g%d", rapid.IntRange(0, n).Draw(t, "held"))
	fresh := fmt.Sprintf("g%d", n+1)
	cause := failure.Cause{Class: "permanent", Type: "*errors.errorString", Text: "no", Attempts: 1}
	return []failure.Transition{
		failure.Block(v, fresh, cause),
		failure.Follow(v),
		failure.Claim(held, fresh, "job"),
		failure.BackToBlocked(held, v, seen, fresh, cause),
		failure.Release(held, v, fresh),
		failure.Heal(v, fresh),
		failure.SkipIntent(held, failure.Skip{Version: v, Reason: "why", Actor: "who"}),
		failure.Notified(held),
	}[rapid.IntRange(0, 7).Draw(t, "transition")]
}

// TestTheTableDoesWhatTheModelInterprets: the searched protocol is the one that
// runs. Each write is executed by DynamoDB's expressions and interpreted on a
// row in memory: same verdict, same row.
func TestTheTableDoesWhatTheModelInterprets(t *testing.T) {
	_, store := open(t)
	aggregates := 0
	rapid.Check(t, func(rt *rapid.T) {
		aggregates++
		key := keyOf(fmt.Sprintf("order-%d", aggregates))
		var row event.Item
		for n := range rapid.IntRange(1, 12).Draw(rt, "writes") {
			transition := anyTransition(rt, n, row)
			next, held := transition.Apply(row)
			want := failure.Applied
			if !held {
				want = failure.Judge(transition, row)
			}
			row = next
			marker, err := failure.ParseMarker(key, row)
			if err != nil {
				rt.Fatalf("the interpreted row is unreadable: %v", err)
			}
			verdict, got, err := store.Apply(t.Context(), key, transition)
			if err != nil {
				rt.Fatalf("%s: %v", transition.Name, err)
			}
			if verdict != want || !reflect.DeepEqual(got, marker) {
				rt.Fatalf("%s gave %v and %+v, interpreted %v and %+v", transition.Name, verdict, got, want, marker)
			}
		}
	})
}

// TestLostAnswerOfABlock: the block took effect and its answer was lost; the
// same block applied again is known for one's own.
func TestLostAnswerOfABlock(t *testing.T) {
	engine, store := open(t)
	block := failure.Block(3, "generation-1", failure.Cause{Class: "permanent", Text: "no"})
	remove := engine.Inject(localaws.Fault{
		Match: func(c localaws.Call) bool { return c.Operation == "TransactWriteItems" }, Do: localaws.LoseAnswer, Times: 1,
	})
	defer remove()
	if _, _, err := store.Apply(t.Context(), keyOf("a"), block); !awsclient.Unanswered(err) {
		t.Fatalf("the answer was not lost: %v", err)
	}
	verdict, marker, err := store.Apply(t.Context(), keyOf("a"), block)
	if err != nil || !verdict.Succeeded() || marker.BlockedVersion != 3 {
		t.Fatalf("applied again it gave %v, %+v, %v", verdict, marker, err)
	}
	promises, err := store.Promises(t.Context(), scope)
	if err != nil || len(promises) != 1 || promises[0].BlockID != "generation-1" || promises[0].Version != 3 || promises[0].Key != keyOf("a") {
		t.Fatalf("the outbox holds %+v, %v", promises, err)
	}
}

func TestMarkersAreListedUntilTheyAreLive(t *testing.T) {
	_, store := open(t)
	for i := range 150 {
		key := keyOf(fmt.Sprintf("order|%d", i))
		if _, _, err := store.Apply(t.Context(), key, failure.Block(uint64(i+1), fmt.Sprintf("g-%d", i), failure.Cause{Class: "permanent"})); err != nil {
			t.Fatal(err)
		}
	}
	if v, _, err := store.Apply(t.Context(), keyOf("order|7"), failure.Heal(8, "g-7-healed")); err != nil || v != failure.Applied {
		t.Fatalf("healing gave %v, %v", v, err)
	}
	markers, foreign, err := store.Standing(t.Context(), scope)
	if err != nil || len(foreign) != 0 || len(markers) != 149 {
		t.Fatalf("listed %d markers, %d foreign rows, %v", len(markers), len(foreign), err)
	}
	other := scope
	other.SinkVersion = 2
	if markers, _, err := store.Standing(t.Context(), other); err != nil || len(markers) != 0 {
		t.Fatalf("another version of the sink has %d markers, %v", len(markers), err)
	}
}

// TestH20_OutboxOfANewerBlockStays: the letter of an older block was accepted
// late; the promise of the newer one must stand.
func TestH20_OutboxOfANewerBlockStays(t *testing.T) {
	_, store := open(t)
	key := keyOf("a")
	for _, step := range []failure.Transition{
		failure.Block(3, "g1", failure.Cause{}), failure.Claim("g1", "g2", "job"), failure.BackToBlocked("g2", 5, 3, "g3", failure.Cause{}),
	} {
		if v, _, err := store.Apply(t.Context(), key, step); err != nil || v != failure.Applied {
			t.Fatalf("%s gave %v, %v", step.Name, v, err)
		}
	}
	if err := store.Kept(t.Context(), failure.Promise{Key: key, Outbox: failure.Outbox{BlockID: "g1"}}); err != nil {
		t.Fatal(err)
	}
	promises, err := store.Promises(t.Context(), scope)
	if err != nil || len(promises) != 1 || promises[0].BlockID != "g3" || promises[0].Version != 5 {
		t.Fatalf("the outbox holds %+v, %v", promises, err)
	}
	if err := store.Kept(t.Context(), promises[0]); err != nil {
		t.Fatal(err)
	}
	if promises, err := store.Promises(t.Context(), scope); err != nil || len(promises) != 0 {
		t.Fatalf("the outbox still holds %+v, %v", promises, err)
	}
}

// TestH18_CrashedAreListed: those at which workers died, of one sink, until
// they are live; a job that claimed one holds it back no less.
func TestH18_CrashedAreListed(t *testing.T) {
	engine, store := open(t)
	crash, other := failure.Cause{Class: event.Crash.String()}, failure.Cause{Class: event.Permanent.String()}
	elsewhere := keyOf("elsewhere")
	elsewhere.SinkVersion++
	apply := func(key failure.Key, step failure.Transition) {
		t.Helper()
		if v, _, err := store.Apply(t.Context(), key, step); err != nil || v != failure.Applied {
			t.Fatalf("%s of %v gave %v, %v", step.Name, key, v, err)
		}
	}
	listed := func(want map[failure.Key]uint64) {
		t.Helper()
		markers, err := store.Crashed(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		got := map[failure.Key]uint64{}
		for _, m := range markers {
			got[m.Key] = m.SeenVersion
		}
		if !maps.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	}
	listed(map[failure.Key]uint64{})
	apply(keyOf("blocked"), failure.Block(3, "a1", crash))
	apply(keyOf("blocked"), failure.Follow(5))
	apply(keyOf("claimed"), failure.Block(1, "b1", crash))
	apply(keyOf("claimed"), failure.Claim("b1", "b2", "job"))
	apply(keyOf("live"), failure.Block(1, "c1", crash))
	apply(keyOf("live"), failure.Heal(1, "c2"))
	apply(keyOf("failed"), failure.Block(1, "d1", other))
	apply(keyOf("failed later"), failure.Block(1, "f1", crash))
	apply(keyOf("failed later"), failure.Claim("f1", "f2", "job"))
	apply(keyOf("failed later"), failure.BackToBlocked("f2", 2, 1, "f3", other)) // no killer any more
	apply(elsewhere, failure.Block(1, "e1", crash))
	want := map[failure.Key]uint64{keyOf("blocked"): 5, keyOf("claimed"): 1}
	rows := len(engine.Items("millrace"))
	listed(want)
	if n := len(engine.Items("millrace")); n != rows-2 {
		t.Errorf("%d of 2 rows that are over were deleted", rows-n)
	}
	apply(keyOf("live"), failure.Block(4, "c3", crash)) // again
	want[keyOf("live")] = 4
	listed(want)
}
