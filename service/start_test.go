package service_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/localaws"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/service"
	"millrace/status"
)

// world is an engine with a port and a pipeline on it.
type world struct {
	t        *testing.T
	engine   *localaws.Engine
	tables   *dynamodb.Client
	config   service.Config
	registry service.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	engine := localaws.New(localaws.Options{Shards: 2, KeepHistory: true})
	server, err := engine.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close()
		_ = engine.Close()
	})
	orders, err := ordersview.Projection()
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t:      t,
		engine: engine, tables: dynamodb.NewFromConfig(engine.Config("setup")),
		config: service.Config{
			Group: "orders", Events: "orders-events", Control: "control",
			Sinks: []service.Sink{{ReadModel: &service.ReadModel{Table: "orders-view", Fold: "orders"}}},
			AWS:   service.AWS{Local: true, Endpoint: server.URL}, Lease: time.Second, Drain: 10 * time.Second,
		},
		registry: service.Registry{Folds: map[string]projection.Projection{"orders": orders}},
	}
}

func (w *world) service(t *testing.T) *service.Service {
	t.Helper()
	s, err := service.New(t.Context(), w.config, w.registry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) drop(table string) {
	w.t.Helper()
	if _, err := w.tables.DeleteTable(w.t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		w.t.Fatal(err)
	}
}

// recreate makes the event table anew, with another stream or none.
func (w *world) recreate(stream *types.StreamSpecification) {
	w.t.Helper()
	w.drop(w.config.Events)
	_, err := w.tables.CreateTable(w.t.Context(), &dynamodb.CreateTableInput{
		TableName: &w.config.Events, BillingMode: types.BillingModePayPerRequest, StreamSpecification: stream,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// item puts one into the view, of an owner.
func (w *world) item(owner string) {
	w.t.Helper()
	_, err := w.tables.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: &w.config.Sinks[0].ReadModel.Table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "order-1"}, "lastProcessedVersion": &types.AttributeValueMemberN{Value: "3"},
		"lastProcessedVersionBy": &types.AttributeValueMemberS{Value: owner},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func showing(view types.StreamViewType) *types.StreamSpecification {
	return &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
}

// TestWorkerStart: what keeps a worker from working is told at the start.
func TestWorkerStart(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		class event.Class
		want  []string // nil: it starts
	}{
		{"all is there", func(*world) {}, 0, nil},
		{
			"no event table", func(w *world) { w.drop("orders-events") }, event.Permanent,
			[]string{"orders-events", "check the table's name, the Region and the endpoint"},
		},
		{
			"no control table", func(w *world) { w.drop("control") }, event.Permanent,
			[]string{`the control table "control" does not exist`, "--create-tables"},
		},
		{
			"no view", func(w *world) { w.drop("orders-view") }, event.Permanent,
			[]string{`the read model's table "orders-view" does not exist`, "--create-tables"},
		},
		{
			"no stream", func(w *world) { w.recreate(nil) }, event.Permanent,
			[]string{"orders-events", "the table never had one", "aws dynamodb update-table --table-name orders-events --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE"},
		},
		{
			"keys only", func(w *world) { w.recreate(showing(types.StreamViewTypeKeysOnly)) }, event.Permanent,
			[]string{"orders-events", "its records show KEYS_ONLY, and a reader needs NEW_IMAGE or NEW_AND_OLD_IMAGES", "disable the stream"},
		},
		{
			"old images", func(w *world) { w.recreate(showing(types.StreamViewTypeOldImage)) }, event.Permanent,
			[]string{"its records show OLD_IMAGE"},
		},
		{"another group's view", func(w *world) {
			w.item("orders|orders-events|orders-view@1")
			w.config.Group = "typo"
		}, event.Foreign, []string{`belongs to "orders|orders-events|orders-view@1", not to "typo|orders-events|orders-view@1"`}},
		{"another group's view, for one that may not scan", func(w *world) {
			w.item("orders|orders-events|orders-view@1")
			w.config.Group = "typo"
			w.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: func(c localaws.Call) bool { return c.Operation == "Scan" }})
		}, 0, nil},
		{"a view that another sink writes to as well", func(w *world) { w.item("orders|orders-events|summary@1") }, 0, nil},
		{"both images", func(w *world) { w.recreate(showing(types.StreamViewTypeNewAndOldImages)) }, 0, nil},
		{
			"a view with another key", func(w *world) { w.config.Sinks[0].ReadModel.Table = "control"; w.config.Control = "orders-view" }, event.Permanent,
			[]string{"ValidationException"},
		},
		{"a throttled view", func(w *world) {
			w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "BatchGetItem" }})
		}, 0, nil},
		{"a throttled stream", func(w *world) {
			w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "DescribeTable" }})
		}, event.Transient, []string{"finding the stream of table orders-events: throttled"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if err := w.service(t).EnsureTables(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.spoil(w)
			worker, err := w.service(t).Worker(t.Context())
			if tc.want == nil {
				if err != nil || worker == nil {
					t.Fatalf("it does not start: %v", err)
				}
				return
			}
			if class := event.ClassOf(err); err == nil || class != tc.class {
				t.Errorf("class %v, want %v: %v", class, tc.class, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it says %q, want %q", err, want)
				}
			}
		})
	}
}

// TestRun creates the tables, keeps the read model, stops, and is right.
func TestRun(t *testing.T) {
	w := newWorld(t)
	w.config.CreateTables = true
	s := w.service(t)
	if err := s.EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, aggregate := range []string{"order-1", "order-2", "order-3"} {
		placed := eventstore.NewEvent{Type: ordersview.OrderPlaced, Time: time.Now(), Attributes: event.Item{
			"customer": event.String("Ada"), "amount": event.Number("12.50"),
		}}
		paid := eventstore.NewEvent{Type: ordersview.OrderPaid, Time: time.Now()}
		if _, err := s.Events().Append(t.Context(), aggregate, 0, []eventstore.NewEvent{placed, paid, paid}[:i+1]...); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, t.Context(), w.config, w.registry) }()
	report, err := one(s.Verify(t.Context(), 30*time.Second))
	if err != nil || !report.Healthy() || report.Aggregates != 3 || report.Events != 6 {
		t.Errorf("%+v, %v", report, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a stop is no failure: %v", err)
	}
}

// one is the report of a pipeline that has one read model.
func one(all []service.Verified, err error) (status.Report, error) {
	if len(all) != 1 {
		return status.Report{}, fmt.Errorf("%d reports: %w", len(all), err)
	}
	return all[0].Report, err
}
