package failure_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"millrace/event"
	"millrace/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

var blockedOrder = failure.Marker{
	Key:   failure.Key{Group: "orders", Table: "orders-events", Sink: "orders-view", SinkVersion: 1, Aggregate: "order-7"},
	State: failure.Blocked, BlockedVersion: 3, SeenVersion: 9, Generation: "5f0a1c2b3d4e5f60", BlockID: "5f0a1c2b3d4e5f60",
	Cause: failure.Cause{
		Class: "permanent", Type: "*projection.unknownType", Text: "event type \"OrderTeleported\" is unknown",
		Frames: []string{"ordersview.placed orders.go:61"}, Fingerprint: "0123456789ab", Attempts: 1,
		First: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC), Last: time.Date(2026, 11, 30, 3, 0, 1, 0, time.UTC),
	},
}

var teleported = event.Item{"pk": event.String("order-7"), "sk": event.String("000000000003"), "amount": event.Number("12345678901234567890123456789012345678")}

// TestLetterIsWhatItWas: a letter lies in a queue for days; a build that reads
// it must understand what an older one wrote.
func TestLetterIsWhatItWas(t *testing.T) {
	body, err := failure.NewLetter(blockedOrder, teleported, "OrderTeleported", "v0.1.0", 200_000).Body()
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	var whole map[string]any // with its keys in order, since an item's have none
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	encoder := json.NewEncoder(&indented)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(whole); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/letter.json"
	if *update {
		if err := os.WriteFile(golden, indented.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(indented.Bytes(), want) {
		t.Errorf("the letter is\n%s\nand was\n%s", indented.Bytes(), want)
	}
}

func TestLargeRecordsAreNamedByTheirHash(t *testing.T) {
	l := failure.NewLetter(blockedOrder, teleported, "", "dev", 10)
	if l.Record.Item != nil || l.Record.Bytes == 0 || l.Record.SHA256 != failure.Hash(teleported) {
		t.Errorf("the record is %+v", l.Record)
	}
	gone := failure.NewLetter(blockedOrder, nil, "", "dev", 1000)
	if gone.Record.Item != nil || gone.Record.SHA256 != "" || gone.Record.Bytes != 0 {
		t.Errorf("a record that is gone is %+v", gone.Record)
	}
}

// TestH20_EachBlockHasALetterOfItsOwn: a letter that was sent again within five
// minutes under one id would vanish in a FIFO queue.
func TestH20_EachBlockHasALetterOfItsOwn(t *testing.T) {
	first := failure.NewLetter(blockedOrder, teleported, "", "dev", 1000)
	again := blockedOrder
	again.BlockID, again.BlockedVersion = "another", 5
	if second := failure.NewLetter(again, teleported, "", "dev", 1000); second.ID() == first.ID() {
		t.Error("two blocks have one letter")
	}
	if same := failure.NewLetter(blockedOrder, nil, "x", "v2", 1); same.ID() != first.ID() {
		t.Error("one block has two letters")
	}
}

func TestHashHasNoOrder(t *testing.T) {
	a := event.Item{"m": event.Map{"x": event.Null{}, "y": event.List{event.Bool(true), event.Binary("b")}}, "ss": event.StringSet{"a", "b"}, "bs": event.BinarySet{[]byte("q"), []byte("p")}}
	b := event.Item{"bs": event.BinarySet{[]byte("p"), []byte("q")}, "ss": event.StringSet{"b", "a"}, "m": event.Map{"y": event.List{event.Bool(true), event.Binary("b")}, "x": event.Null{}}}
	if failure.Hash(a) != failure.Hash(b) {
		t.Error("the same item has two hashes")
	}
	for _, other := range []event.Item{
		{"m": a["m"], "ss": event.StringSet{"a"}, "bs": a["bs"]},
		{"m": event.Map{"x": event.String("")}, "ss": a["ss"], "bs": a["bs"]},
		{"ss": event.NumberSet{"1"}},
	} {
		if failure.Hash(a) == failure.Hash(other) {
			t.Errorf("%v has the hash of another item", other)
		}
	}
}
