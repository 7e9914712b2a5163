package pipeline_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// TestH17_LateVersion: a version that is missing from the store holds its
// aggregate alone, is shown as a gap after it was confirmed, and ends it by
// itself when it arrives.
func TestH17_LateVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one")
		w.append("a", 1)
		w.write("a", 2, happened()) // version 3: a writer left 2 out
		w.append("b", 2)
		written := time.Now()
		eventually(t, 20*time.Second, "the gap is confirmed", func() bool {
			troubles := r.Troubles()
			return len(troubles) == 1 && troubles[0].Attempts > 0
		})
		// Half a second of waiting, and 5 s give or take a tenth until the
		// transaction; at most one poll before.
		if took := time.Since(written); took < 5*time.Second || took > 7500*time.Millisecond {
			t.Errorf("confirmed after %v", took)
		}
		if got := w.calls("TransactGetItems", r.app); got != 1 {
			t.Errorf("%d transactions read, want 1", got)
		}
		if got := r.Troubles()[0]; got.Class != event.Gap || got.Aggregate != "a" || got.Version != 2 {
			t.Errorf("the trouble is %+v", got)
		}
		time.Sleep(10 * time.Minute)
		w.applied("view", "a", 1)
		w.applied("view", "b", 2)
		w.write("a", 1, happened())
		if took := eventually(t, time.Minute, "everything is applied", w.caughtUp); took > 2*time.Second {
			t.Errorf("the late version took %v", took)
		}
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble: %v", got)
		}
		if got := r.Stats(); got.GapsArrived != 1 || got.GapsFilled != 0 {
			t.Errorf("%d gaps arrived, %d filled; want 1, 0", got.GapsArrived, got.GapsFilled)
		}
		r.end()
		w.wholly()
	})
}

// TestH17_TornTransaction: a query that sees one item of an append and not yet
// the other makes no gap: the transaction that confirms sees both.
func TestH17_TornTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1, TornTransactions: time.Hour})
		if err := w.engine.SplitAlternating(eventsTable, event.String("a")); err != nil {
			t.Fatal(err)
		}
		var open []string
		for _, s := range w.engine.Shards(eventsTable) {
			if !s.Closed {
				open = append(open, s.ID)
			}
		}
		if err := w.engine.DelayVisible(eventsTable, open[1], time.Hour); err != nil {
			t.Fatal(err)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "both shards are taken", w.owned(r.name))
		w.write("a", 0, happened(), happened(), happened())
		took := eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		if took < 5*time.Second || took > 15*time.Second {
			t.Errorf("applied after %v", took)
		}
		if got := w.calls("TransactGetItems", r.app); got == 0 {
			t.Error("no transaction was read; this tests nothing")
		}
		if got := r.Troubles(); len(got) != 0 {
			t.Errorf("still in trouble: %v", got)
		}
		if got := r.Stats(); got.GapsFilled == 0 {
			t.Errorf("no gap was filled: %+v", got)
		}
		r.end()
		w.applied("view", "a", 3)
		w.oneReader()
	})
}

// TestH6_ChangedEvents: a change, a removal and an expiry of event items are
// counted, told once per aggregate and never offered.
func TestH6_ChangedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		var log strings.Builder
		w.log = &log
		client := dynamodb.NewFromConfig(w.engine.Config("vandal"))
		text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
		key := func(aggregate, version string) map[string]types.AttributeValue {
			return map[string]types.AttributeValue{"pk": text(aggregate), "sk": text(version)}
		}
		versions := []string{}
		w.append("a", 3)
		w.append("b", 2)
		for _, item := range w.engine.Items(eventsTable) {
			if item["pk"] == event.String("a") {
				versions = append(versions, string(item["sk"].(event.String)))
			}
		}
		enabled, attribute, table, set := true, "expires", eventsTable, "SET #e = :past"
		if _, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{ // MODIFY
			TableName: &table, Key: key("a", versions[0]), UpdateExpression: &set,
			ExpressionAttributeNames:  map[string]string{"#e": "expires"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: "946684000"}},
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n, err := w.engine.ExpireItems(eventsTable); err != nil || n != 1 {
			t.Fatalf("%d items expired, %v; want 1", n, err)
		}
		if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key("b", versions[1])}); err != nil {
			t.Fatal(err)
		}
		r := w.start("one")
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		eventually(t, 20*time.Second, "every record was read", func() bool { return r.Stats().Records == 8 })
		if got := r.Stats(); got.Violations != 3 || got.Duplicates != 0 || got.Applied != 5 {
			t.Errorf("%d violations, %d repeats, %d applied; want 3, 0, 5", got.Violations, got.Duplicates, got.Applied)
		}
		r.end()
		w.wholly()
		if got := strings.Count(log.String(), "was changed or removed"); got != 2 {
			t.Errorf("told %d times, want once for a and once for b:\n%s", got, log.String())
		}
	})
}

// TestH13_TargetForgets: a target that lost an aggregate is filled again from
// the first version.
func TestH13_TargetForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one")
		w.append("a", 5)
		w.append("b", 5)
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		w.target.Forget(identity("view"), "a")
		w.append("a", 1)
		w.append("b", 1)
		eventually(t, 20*time.Second, "a is whole again", w.caughtUp)
		if got := r.Stats(); got.Resets != 1 {
			t.Errorf("%d resets, want 1", got.Resets)
		}
		r.end()
		w.wholly()
		if got := len(w.target.Log()); got != 5+5+6+1 {
			t.Errorf("%d effects in all, want 17: 5 of a, then 6 again, and 6 of b", got)
		}
	})
}

// TestH21_FirstSightOfALongAggregate: an aggregate that is met at version
// 20,000 is filled from the first one on, by pages, and within its room.
func TestH21_FirstSightOfALongAggregate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		w.bulk("a", 19_999)
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.append("a", 1)
		r := w.start("one")
		deadline := time.Now().Add(2 * time.Minute)
		for !w.caughtUp() && time.Now().Before(deadline) {
			if got := r.Stats(); got.Fills > 1000 || got.Pending > 1 {
				t.Fatalf("%d fills and %d pending, want at most a page and one", got.Fills, got.Pending)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if got := r.Stats(); got.GapsFilled != 1 || got.Applied != 20_000 || got.Records != 1 {
			t.Errorf("counted %+v", got)
		}
		r.end()
		w.wholly()
	})
}

// TestH21_BudgetFullOfGaps: with the least budget, and everything in it behind
// gaps, the gaps are still closed, and the budget holds.
func TestH21_BudgetFullOfGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		small := func(o *pipeline.Options) {
			o.BufferBytes, o.BufferEntries, o.Span = 1, 1, 1
		}
		names := []string{"a", "b", "c", "d", "e", "f"}
		for _, a := range names {
			w.bulk(a, 1)
		}
		time.Sleep(time.Second)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, a := range names {
			w.bulk(a, 400) // its first version never comes by the stream
		}
		r := w.start("one", small)
		deadline := time.Now().Add(5 * time.Minute)
		for !w.caughtUp() && time.Now().Before(deadline) {
			if got := r.Stats(); got.Bytes > 2*pipeline.PageRoom || got.Entries > 2000 || got.Fills > 1000 {
				t.Fatalf("the budget does not hold: %+v", got)
			}
			time.Sleep(10 * time.Millisecond)
		}
		r.end()
		w.wholly()
	})
}
