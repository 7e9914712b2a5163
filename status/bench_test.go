package status_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"millrace/event"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/internal/awsvalue"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	eventsTable = "orders-events"
	viewTable   = "orders-view"
)

// bench is an event table and a read model on an engine, filled by hand.
type bench struct {
	t      *testing.T
	engine *localaws.Engine
	client *dynamodb.Client
	events *eventstore.Store
	view   *readmodel.Sink
	fold   projection.Projection

	mu      sync.Mutex
	markers []failure.Marker
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, engine: localaws.New(localaws.Options{Seed: 1})}
	t.Cleanup(func() { _ = b.engine.Close() })
	b.client = dynamodb.NewFromConfig(b.engine.Config("verify"))
	var err error
	if b.fold, err = ordersview.Projection(); err != nil {
		t.Fatal(err)
	}
	b.events, err = eventstore.New(eventstore.Options{Client: b.client, Table: eventsTable, Layout: event.Orders()})
	if err != nil {
		t.Fatal(err)
	}
	b.view = b.sink("view")
	if err := b.events.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.view.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// sink is a read model in the view table.
func (b *bench) sink(name string) *readmodel.Sink {
	b.t.Helper()
	s, err := readmodel.New(readmodel.Options{
		Client: b.client, Table: viewTable, Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}},
		Identity:   sinks.Identity{Group: "g", Source: eventsTable, Sink: name, Version: 1},
		Projection: b.fold,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// story appends an order of n events.
func (b *bench) story(aggregate string, n int) {
	b.t.Helper()
	for from := 0; from < n; from += 100 {
		var events []eventstore.NewEvent
		for v := from + 1; v <= min(n, from+100); v++ {
			e := eventstore.NewEvent{Type: ordersview.ItemAdded, Time: time.Unix(int64(v), 0), Attributes: event.Item{"amount": event.Number("1")}}
			if v == 1 {
				e.Type, e.Attributes["customer"] = ordersview.OrderPlaced, event.String("Ada")
			}
			events = append(events, e)
		}
		if _, err := b.events.Append(b.t.Context(), aggregate, uint64(from), events...); err != nil {
			b.t.Fatal(err)
		}
	}
}

// apply applies the versions after..to to a sink.
func (b *bench) apply(s *readmodel.Sink, aggregate string, after, to uint64) {
	b.t.Helper()
	run := event.Run{Aggregate: aggregate, After: event.Position{Version: after}}
	err := b.events.Range(b.t.Context(), aggregate, after+1, to, func(page []event.Event) error {
		run.Events = append(run.Events, page...)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if out := s.Apply(b.t.Context(), []event.Run{run}); out[0].Err != nil {
		b.t.Fatal(out[0].Err)
	}
}

// order is a story that is in effect.
func (b *bench) order(aggregate string, n int) {
	b.t.Helper()
	b.story(aggregate, n)
	b.apply(b.view, aggregate, 0, uint64(n))
}

// put writes an item by hand, past every rule.
func (b *bench) put(table string, item event.Item) {
	b.t.Helper()
	if _, err := b.client.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: awsvalue.ToItem(item)}); err != nil {
		b.t.Fatal(err)
	}
}

// putAll is put for many, at most 25 a call.
func (b *bench) putAll(table string, items []event.Item) {
	b.t.Helper()
	for batch := range slices.Chunk(items, 25) {
		writes := make([]types.WriteRequest, len(batch))
		for i, item := range batch {
			writes[i].PutRequest = &types.PutRequest{Item: awsvalue.ToItem(item)}
		}
		out, err := b.client.BatchWriteItem(b.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			b.t.Fatalf("%d unprocessed, %v", len(out.UnprocessedItems), err)
		}
	}
}

// edit changes a read model's item by hand.
func (b *bench) edit(aggregate string, change func(event.Item)) {
	b.t.Helper()
	stored, err := b.view.Item(b.t.Context(), aggregate)
	if err != nil || stored.Item == nil {
		b.t.Fatalf("there is no item of %s: %v", aggregate, err)
	}
	change(stored.Item)
	b.put(viewTable, stored.Item)
}

// forget deletes an event, which nobody may do.
func (b *bench) forget(aggregate string, version uint64) {
	b.t.Helper()
	key := event.Item{"pk": event.String(aggregate), "sk": event.String(fmt.Sprintf("%012d", version))}
	if _, err := b.client.DeleteItem(b.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(eventsTable), Key: awsvalue.ToItem(key)}); err != nil {
		b.t.Fatal(err)
	}
}

// block puts a marker on an order, as a worker that cannot apply a version does.
func (b *bench) block(aggregate string, version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.markers = append(b.markers, failure.Marker{
		Key: failure.Key{Aggregate: aggregate}, State: failure.Blocked,
		BlockedVersion: version, SeenVersion: version, Cause: failure.Cause{Class: "permanent"},
	})
}

func (b *bench) blocked(context.Context) ([]failure.Marker, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.markers), nil
}

func (b *bench) verify() status.Verify {
	return status.Verify{
		Events: b.events, View: b.view, Layout: b.events.Layout(), Projection: b.fold, Blocked: b.blocked, Jitter: jitter.Source{Seed: 1},
	}
}

// report verifies with one segment and with eight, which must say the same.
func (b *bench) report() status.Report {
	b.t.Helper()
	var reports [2]status.Report
	for i, segments := range []int{1, 8} {
		v := b.verify()
		v.Segments = segments
		var err error
		if reports[i], err = v.Run(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	if one, eight := fmt.Sprintf("%+v", reports[0]), fmt.Sprintf("%+v", reports[1]); one != eight {
		b.t.Errorf("one segment reports\n%s\neight report\n%s", one, eight)
	}
	return reports[0]
}
