package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/config"
	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/awsvalue"
	"millrace/service"
)

// example is a service of an example's configuration on the world's engine.
func (w *world) example(name string) *service.Service {
	w.t.Helper()
	file, err := config.Load("../examples/"+name+"/millrace.yaml", func(string) (string, bool) { return "", false })
	if err != nil {
		w.t.Fatal(err)
	}
	c := service.FromFile(file)
	c.AWS, c.CreateTables = w.config.AWS, true
	w.config = c
	s := w.service(w.t)
	if err := s.EnsureTables(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func happened(kind string, schema uint64, attributes event.Item) eventstore.NewEvent {
	return eventstore.NewEvent{Type: kind, Time: time.Now(), Schema: schema, Attributes: attributes}
}

func amount(text string) event.Item { return event.Item{"amount": event.Number(text)} }

func (w *world) appended(s *service.Service, aggregate string, events ...eventstore.NewEvent) {
	w.t.Helper()
	head, err := s.Events().Head(w.t.Context(), aggregate)
	if err == nil {
		_, err = s.Events().Append(w.t.Context(), aggregate, head, events...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// put writes an item past the event store.
func (w *world) put(table string, item event.Item) {
	w.t.Helper()
	if _, err := w.tables.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: awsvalue.ToItem(item)}); err != nil {
		w.t.Fatal(err)
	}
}

// TestBankWritesFeedNoLoop: the view and snapshots are in the event table, and
// what the stream shows of them is passed over.
func TestBankWritesFeedNoLoop(t *testing.T) {
	w := newWorld(t)
	s := w.example("bank")
	stop := w.working()
	defer func() { stop() }()
	for i := range 10 {
		account := fmt.Sprint("ACCOUNT#", i)
		w.appended(s, account, happened("AccountOpened", 0, event.Item{"owner": event.String("Ada")}), happened("MoneyDeposited", 0, amount("10.10")))
		w.put("bank", event.Item{"pk": event.String(account), "sk": event.String("SNAPSHOT"), "version": event.Number("2")})
		w.appended(s, account, happened("MoneyWithdrawn", 0, amount("0.05")), happened("StatementSent", 0, nil))
	}
	w.inEffect(s, 10)
	view := w.engine.Item("bank", event.Item{"pk": event.String("ACCOUNT#3"), "sk": event.String("VIEW")})
	if view["balance"] != event.Number("10.05") || view["movements"] != event.Number("2") || view["lastProcessedVersion"] != event.Number("4") {
		t.Errorf("the view is %v", view)
	}
	// Ten accounts of four events: at most forty writes of views, and no more
	// after a while, or they would feed themselves.
	writes := func() (n int) {
		for _, c := range w.engine.History("bank") {
			if event.Equal(c.Key["sk"], event.String("VIEW")) {
				n++
			}
		}
		return n
	}
	before := writes()
	w.appended(s, "ACCOUNT#0", happened("AccountClosed", 0, nil))
	w.inEffect(s, 10)
	if after := writes(); before < 10 || before > 40 || after != before+1 {
		t.Errorf("%d writes of views, and %d after one more event", before, after)
	}
}

// TestMaintenanceReadsEachShape: older shapes fold, a newer one blocks its
// aggregate with class schema, and the heads are no events.
func TestMaintenanceReadsEachShape(t *testing.T) {
	w := newWorld(t)
	s := w.example("maintenance")
	stop := w.working()
	defer func() { stop() }()
	minutes := event.Item{"minutes": event.Number("15")}
	w.appended(s, "order-1", happened("OrderCreated", 1, event.Item{"asset": event.String("pump")}),
		happened("WorkLogged", 1, event.Item{"hours": event.Number("1.5")}), happened("WorkLogged", 2, minutes))
	w.inEffect(s, 1)
	if board := w.engine.Item("maintenance-board", event.Item{"pk": event.String("order-1")}); board["minutes"] != event.Number("105") {
		t.Errorf("the board shows %v", board)
	}
	w.appended(s, "order-2", happened("OrderCreated", 1, event.Item{"asset": event.String("fan")}), happened("WorkLogged", 3, minutes))
	deadline := time.Now().Add(30 * time.Second)
	for {
		listing, err := s.Blocked(t.Context(), service.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		if len(listing.Markers) == 1 {
			if m := listing.Markers[0]; m.Cause.Class != "schema" || m.BlockedVersion != 2 || m.Key.Aggregate != "order-2" {
				t.Errorf("the marker is %+v", m)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the newer shape is not blocked")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestOrdersFromAFile: the orders example, with a type that its fold does not
// know.
func TestOrdersFromAFile(t *testing.T) {
	w := newWorld(t)
	s := w.example("orders")
	stop := w.working()
	defer func() { stop() }()
	w.appended(s, "order-1", happened("OrderPlaced", 0, event.Item{"customer": event.String("Ada"), "amount": event.Number("12.50")}),
		happened("ItemAdded", 0, amount("0.55")), happened("OrderPaid", 0, nil))
	w.inEffect(s, 1)
	item := w.engine.Item("orders-view", event.Item{"pk": event.String("order-1")})
	if item["total"] != event.Number("13.05") || item["status"] != event.String("paid") || item["lines"] != event.Number("2") {
		t.Errorf("the item is %v", item)
	}
}
