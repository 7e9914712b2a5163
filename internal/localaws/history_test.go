package localaws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
)

func TestHistory(t *testing.T) {
	b := newBench(t, Options{Shards: 1, KeepHistory: true, EmptyPages: -1})
	b.put("a", 1, "x")
	b.put("a", 1, "x") // changes nothing
	b.put("a", 1, "y")
	_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 1), ConditionExpression: aws.String("attribute_not_exists(pk)")})
	wantCode(t, err, "ConditionalCheckFailedException")
	_, err = b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(events), Key: key("a", 1)})
	must(t, err)
	history := b.History(events)
	if len(history) != 3 {
		t.Fatalf("%d changes, want 3", len(history))
	}
	records, _ := b.page(b.iterator(b.Shards(events)[0].ID, trimHorizon, ""))
	for i, want := range []struct{ old, new event.Value }{{nil, event.String("x")}, {event.String("x"), event.String("y")}, {event.String("y"), nil}} {
		c := history[i]
		if !event.Equal(c.Old["text"], want.old) || !event.Equal(c.New["text"], want.new) || (c.New == nil) != (want.new == nil) {
			t.Errorf("change %d: from %v to %v", i, c.Old, c.New)
		}
		if c.Number != i+1 || c.App != "tests/main" || c.Shard != b.Shards(events)[0].ID || c.Sequence != *records[i].Dynamodb.SequenceNumber {
			t.Errorf("change %d: %+v", i, c)
		}
	}
	if New(Options{}).History(events) != nil {
		t.Error("an engine without history has one")
	}
}

func TestCounters(t *testing.T) {
	b := newBench(t, Options{Shards: 1, EmptyPages: -1})
	b.put("a", 1, "x")
	_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 1), ConditionExpression: aws.String("attribute_not_exists(pk)")})
	wantCode(t, err, "ConditionalCheckFailedException")
	_, err = b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(events), Key: key("a", 1)})
	must(t, err)
	_, err = b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String(events), Item: key("a", 2)}},
	}})
	must(t, err)
	_, next := b.page(b.iterator(b.Shards(events)[0].ID, trimHorizon, ""))
	b.page(next)
	got := b.Counters()
	for want, n := range map[CallCount]int{
		{Service: DynamoDB, Operation: "PutItem", Outcome: "ok", App: "tests/main"}:                              1,
		{Service: DynamoDB, Operation: "PutItem", Outcome: "ConditionalCheckFailedException", App: "tests/main"}: 1,
		{Service: Streams, Operation: "GetRecords"}:                                                              2,
		{Service: Streams, App: "nobody"}:                                                                        0,
	} {
		if have := got.Total(want); have != n {
			t.Errorf("%d calls of %+v, want %d", have, want, n)
		}
	}
	if got.BilledGetRecords != 2 || got.Capacity[events] != (Capacity{Read: 0.5, Write: 4}) {
		t.Errorf("billed %d, capacity %+v", got.BilledGetRecords, got.Capacity)
	}
	if s := got.Shards[b.Shards(events)[0].ID]; s.Calls != 2 || s.Records != 2 || s.Empty != 1 || s.ReadersAtOnce != 1 {
		t.Errorf("shard counters %+v", s)
	}
}

// TestReads: a checker can tell who was given which records and whether a
// shard was read to its end.
func TestReads(t *testing.T) {
	b := newBench(t, Options{Shards: 1, KeepHistory: true, EmptyPages: -1})
	parent := b.Shards(events)[0].ID
	b.put("a", 1, "x")
	b.put("a", 2, "x")
	_, next := b.page(b.iterator(parent, trimHorizon, ""))
	b.page(next) // empty and not the end: not kept
	must(t, b.Roll(events, parent))
	b.page(next)
	child := b.Shards(events)[1].ID
	b.put("a", 3, "x")
	b.page(b.iterator(child, trimHorizon, ""))
	reads, history := b.Reads(events), b.History(events)
	if len(reads) != 3 {
		t.Fatalf("%d reads, want 3: %+v", len(reads), reads)
	}
	for i, want := range []Read{
		{Shard: parent, First: history[0].Sequence, Last: history[1].Sequence, Records: 2},
		{Shard: parent, End: true},
		{Shard: child, Parent: parent, First: history[2].Sequence, Last: history[2].Sequence, Records: 1},
	} {
		want.Table, want.Stream, want.App, want.At = events, b.arn(), "tests/main", reads[i].At
		if reads[i] != want {
			t.Errorf("read %d: %+v, want %+v", i, reads[i], want)
		}
	}
}
