package localaws

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
)

// versions are the sort keys that a Query of collection a finds.
func (b *bench) versions(consistent bool) int {
	b.t.Helper()
	out, err := b.db.Query(b.t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(events), ConsistentRead: &consistent, KeyConditionExpression: aws.String("pk = :a"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberS{Value: "a"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return int(out.Count)
}

func (b *bench) text(sk int, consistent bool) string {
	b.t.Helper()
	out, err := b.db.GetItem(b.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(events), Key: key("a", sk), ConsistentRead: &consistent})
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Item == nil {
		return ""
	}
	return out.Item["text"].(*types.AttributeValueMemberS).Value
}

func TestStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{StaleReads: time.Second})
		b.put("a", 1, "old")
		if b.text(1, false) != "" || b.text(1, true) != "old" || b.versions(false) != 0 || b.versions(true) != 1 {
			t.Error("a new item: weak reads see it or consistent ones do not")
		}
		time.Sleep(time.Second)
		b.put("a", 1, "new")
		if weak, strong := b.text(1, false), b.text(1, true); weak != "old" || strong != "new" {
			t.Errorf("a changed item reads %q weakly and %q consistently", weak, strong)
		}
		time.Sleep(time.Second)
		if weak := b.text(1, false); weak != "new" {
			t.Errorf("a second later it reads %q", weak)
		}
	})
}

// TestTornTransactions: a Query sees a transaction's items one by one, the
// last first, while GetItem and TransactGetItems see all or nothing.
func TestTornTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{TornTransactions: time.Second})
		var writes []types.TransactWriteItem
		for v := 1; v <= 3; v++ {
			item := key("a", v)
			item["text"] = &types.AttributeValueMemberS{Value: "x"}
			writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(events), Item: item}})
		}
		_, err := b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		must(t, err)
		if b.text(1, true) != "x" {
			t.Error("GetItem does not see the transaction")
		}
		for want := 1; want <= 3; want++ {
			if got := b.versions(true); got != want {
				t.Errorf("after %d s a Query finds %d items", want-1, got)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestSnapshotAndRestore(t *testing.T) {
	b := newBench(t, Options{})
	b.put("a", 1, "x")
	snapshot, err := b.Snapshot(events)
	must(t, err)
	b.put("a", 1, "changed")
	b.put("a", 2, "x")
	must(t, b.Restore(snapshot))
	if b.stored("a", 1) != "x" || b.has(2) {
		t.Errorf("restored: %q, %v", b.stored("a", 1), b.has(2))
	}
	b.put("a", 2, "y") // the snapshot stays as it was
	must(t, b.Restore(snapshot))
	if b.has(2) {
		t.Error("a write after a restore is in the snapshot")
	}
}

func TestExpireItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Shards: 1, EmptyPages: -1})
		_, err := b.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               aws.String(events),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
		})
		must(t, err)
		now := time.Now()
		for sk, until := range []event.Value{
			1: event.Number(decimalText(now.Add(-time.Second))),
			2: event.Number(decimalText(now.Add(time.Hour))),
			3: event.Number(decimalText(now.Add(-6 * 365 * 24 * time.Hour))),
			4: event.String(decimalText(now.Add(-time.Second))),
		} {
			if sk == 0 {
				continue
			}
			item := key("a", sk)
			switch until := until.(type) {
			case event.Number:
				item["until"] = &types.AttributeValueMemberN{Value: string(until)}
			case event.String:
				item["until"] = &types.AttributeValueMemberS{Value: string(until)}
			}
			_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: item})
			must(t, err)
		}
		tip := b.iterator(b.Shards(events)[0].ID, latest, "")
		n, err := b.ExpireItems(events)
		must(t, err)
		if n != 1 || b.has(1) || !b.has(2) || !b.has(3) || !b.has(4) {
			t.Errorf("%d items expired; left: %v", n, b.Items(events))
		}
		records, _ := b.page(tip)
		if len(records) != 1 || records[0].UserIdentity == nil || *records[0].UserIdentity.PrincipalId != "dynamodb.amazonaws.com" || *records[0].UserIdentity.Type != "Service" {
			t.Errorf("records %+v", records)
		}
	})
}

func decimalText(at time.Time) string { return seconds(at).String() }
