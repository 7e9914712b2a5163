package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/controlkey"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// spoil has aggregates' markers be of another schema, as another build or a
// hand leaves them; 1 makes them good again.
func (w *world) spoil(schema string, aggregates []string) {
	w.t.Helper()
	for _, aggregate := range aggregates {
		key := controlkey.Marker("g", eventsTable, "view", 1, aggregate)
		_, err := dynamodb.NewFromConfig(w.config("hand")).UpdateItem(w.t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(controlTable),
			Key: map[string]types.AttributeValue{
				controlkey.PK: &types.AttributeValueMemberS{Value: key.PK}, controlkey.SK: &types.AttributeValueMemberS{Value: key.SK},
			},
			UpdateExpression:          aws.String("SET #schema = :v"),
			ExpressionAttributeNames:  map[string]string{"#schema": controlkey.Schema},
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: schema}},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// remove deletes an aggregate's marker, as a hand does.
func (w *world) remove(aggregate string) {
	w.t.Helper()
	key := controlkey.Marker("g", eventsTable, "view", 1, aggregate)
	_, err := dynamodb.NewFromConfig(w.config("hand")).DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(controlTable),
		Key: map[string]types.AttributeValue{
			controlkey.PK: &types.AttributeValueMemberS{Value: key.PK}, controlkey.SK: &types.AttributeValueMemberS{Value: key.SK},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// poisoned makes aggregates of two versions whose second one is refused.
func (w *world) poisoned(n int) (aggregates []string) {
	for i := range n {
		a := fmt.Sprintf("poison-%02d", i)
		w.faults.refuse(a, 2)
		w.append(a, 2)
		aggregates = append(aggregates, a)
	}
	return aggregates
}

func (w *world) blockedAll(aggregates []string, seen uint64) {
	w.t.Helper()
	for _, a := range aggregates {
		eventually(w.t, 20*time.Second, a+" is blocked", w.seen(a, seen))
	}
}

// TestC8_FollowersOfMarkersThatCannotBeRead: more markers are spoilt while their
// aggregates are blocked than there are followers. Other blocked aggregates are
// followed, and all are once their markers are good again.
func TestC8_FollowersOfMarkersThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		all := w.poisoned(11)
		r := w.start("one", w.onTable)
		w.blockedAll(all, 2)
		spoilt, good := all[:10], all[10]
		w.spoil("2", spoilt)
		for _, a := range all {
			w.append(a, 1)
		}
		eventually(t, 10*time.Second, "the others' followers are settled", func() bool { return r.Stats().Pending == 10 })
		before := w.calls("UpdateItem", r.app)
		time.Sleep(10 * time.Minute)
		if n := w.calls("UpdateItem", r.app) - before; n > 1000 { // of which 200 renew the lease
			t.Errorf("%d writes in ten minutes", n)
		}
		if got := r.Troubles(); len(got) != 10 || got[0].Class != event.Permanent {
			t.Errorf("in trouble are %+v", got)
		}
		w.spoil("1", spoilt)
		eventually(t, 2*time.Minute, "all are settled", func() bool { return r.Stats().Pending == 0 })
		w.blockedAll(append(spoilt, good), 3)
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble are %+v", got)
		}
		r.end()
	})
}

// TestC8_BlocksOfMarkersThatCannotBeRead: a worker that begins meets more of
// them than it has appliers. None is settled, all others go on, and none is
// tried time and again.
func TestC8_BlocksOfMarkersThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		all := w.poisoned(10)
		first := w.start("one", w.onTable)
		w.blockedAll(all, 2)
		first.end()
		w.spoil("2", all)
		for _, a := range all {
			w.append(a, 1)
		}
		second := w.start("two", w.onTable, func(o *pipeline.Options) { o.Sinks[0].Parallel = 4 })
		eventually(t, 20*time.Second, "all are met", func() bool { return len(second.Troubles()) == 10 })
		w.append("good", 3)
		eventually(t, 10*time.Second, "the others go on", func() bool { return w.has("view", "good", 3) })
		before := second.Stats().Runs
		time.Sleep(10 * time.Minute)
		if s := second.Stats(); s.Pending != 10 || s.Runs != before {
			t.Errorf("%d wait, %d runs in ten minutes", s.Pending, s.Runs-before)
		}
		w.faults.heal()
		w.spoil("1", all)
		eventually(t, 2*time.Minute, "all are on record", func() bool { return second.Stats().Pending == 0 })
		w.blockedAll(all, 3)
		for _, m := range w.standing() {
			if got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), m); err != nil || got.To != 3 {
				t.Errorf("a redrive ended %+v, %v", got, err)
			}
		}
		second.end()
		w.wholly()
	})
}

// TestC8_AMarkerThatCannotBeReadIsDeleted: its aggregate is tried again, like
// one without a marker.
func TestC8_AMarkerThatCannotBeReadIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		all := w.poisoned(1)
		r := w.start("one", w.onTable)
		w.blockedAll(all, 2)
		w.spoil("2", all)
		w.append(all[0], 1)
		eventually(t, 20*time.Second, "it is met", func() bool { return len(r.Troubles()) == 1 })
		w.faults.heal()
		w.remove(all[0])
		eventually(t, 2*time.Minute, "it goes on", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestH18_ACrashThatCannotBeReadKeepsNobodyFromBeginning: the marker at which
// workers died is spoilt. Who begins does not try its event, and does all else.
func TestH18_ACrashThatCannotBeReadKeepsNobodyFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.append("killer", 1)
		verdict, _, err := w.markers("setup").Apply(t.Context(), storyScope.Key("killer"), failure.Block(1, "g1", failure.Cause{Class: event.Crash.String()}))
		if err != nil || !verdict.Succeeded() {
			t.Fatal(verdict, err)
		}
		w.spoil("2", []string{"killer"})
		w.append("good", 3)
		r := w.start("one", w.onTable)
		eventually(t, 20*time.Second, "all else is applied", func() bool { return w.has("view", "good", 3) })
		during(t, 5*time.Minute, "its event is not tried", func() bool { return !w.has("view", "killer", 1) })
		w.spoil("1", []string{"killer"})
		eventually(t, 2*time.Minute, "it is settled", func() bool { return r.Stats().Pending == 0 })
		if w.has("view", "killer", 1) {
			t.Error("its event was tried")
		}
		r.end()
	})
}

// TestC8_ThrottledMarkersHoldNobodyElse: the table refuses the writes on markers
// for minutes, while more aggregates are to be blocked than there are appliers.
// The others go on, nothing is tried again meanwhile, and a worker that stops
// then leaves it to its successor.
func TestC8_ThrottledMarkersHoldNobodyElse(t *testing.T) {
	for name, stop := range map[string]bool{"it passes": false, "the worker stops": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				all := w.poisoned(10)
				answer := w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Times: math.MaxInt, Match: func(c localaws.Call) bool {
					return c.Operation == "TransactWriteItems" || c.Operation == "UpdateItem" && strings.HasPrefix(c.Key, "M|")
				}})
				r := w.start("one", w.onTable, func(o *pipeline.Options) { o.Sinks[0].Parallel = 4 })
				time.Sleep(2 * time.Minute)
				runs, writes := r.Stats().Runs, w.calls("TransactWriteItems", r.app)
				w.append("good", 3)
				eventually(t, 10*time.Second, "the others go on", func() bool { return w.has("view", "good", 3) })
				time.Sleep(3 * time.Minute)
				if n := r.Stats().Runs - runs; n != 1 {
					t.Errorf("%d runs beside that one", n-1)
				}
				if n := w.calls("TransactWriteItems", r.app) - writes; n < 10 || n > 500 {
					t.Errorf("%d writes in three minutes", n)
				}
				if stop {
					r.end()
					r = w.start("two", w.onTable)
				}
				answer()
				eventually(t, 2*time.Minute, "all are blocked, and settled", func() bool { return len(w.standing()) == 10 && r.Stats().Pending == 0 })
				w.blockedAll(all, 2)
				r.end()
			})
		})
	}
}

// TestC9_MarkersDeletedTimeAndAgain: a hand deletes the markers of blocked
// aggregates, over and over, while followers come. Each is blocked again with
// all on record, and nothing is lost by it.
func TestC9_MarkersDeletedTimeAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		all := w.poisoned(3)
		r := w.start("one", w.onTable, sweeping(20*time.Second))
		w.blockedAll(all, 2)
		for i := range 40 {
			for _, a := range all {
				w.remove(a)
				if i%2 == 0 {
					w.append(a, 1)
				}
			}
			time.Sleep(time.Duration(i*37%900) * time.Millisecond)
		}
		for _, a := range all {
			w.append(a, 1)
		}
		w.blockedAll(all, w.heads[all[0]])
		w.faults.heal()
		for _, m := range w.standing() {
			if got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), m); err != nil || got.To != w.heads[m.Key.Aggregate] {
				t.Errorf("a redrive ended %+v, %v", got, err)
			}
		}
		r.end()
		w.wholly()
	})
}
