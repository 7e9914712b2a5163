package readmodel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/sinks/sinktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const table = "orders-view"

// bench is an engine with a read model's table.
type bench struct {
	*testing.T
	*localaws.Engine
}

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{T: t, Engine: localaws.New(localaws.Options{
		KeepHistory: true,
		StaleReads:  time.Minute, // a read that forgets to be consistent shows
	})}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.sink().EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func identity() sinks.Identity {
	return sinks.Identity{Group: "orders", Source: "orders-events", Sink: "orders-view", Version: 1}
}

// sink opens a worker's sink with the Versions fold; change edits its options.
func (b bench) sink(change ...func(*readmodel.Options)) *readmodel.Sink {
	b.Helper()
	o := b.options(change...)
	s, err := readmodel.New(o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b bench) options(change ...func(*readmodel.Options)) readmodel.Options {
	b.Helper()
	versions, err := sinktest.Versions()
	if err != nil {
		b.Fatal(err)
	}
	o := readmodel.Options{
		Client: dynamodb.NewFromConfig(b.Config("worker")), Table: table,
		Key:      []readmodel.KeyPart{{Attribute: "pk", Template: "VIEW#{aggregate}"}},
		Identity: identity(), Projection: versions,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func (b bench) folding(p projection.Projection) func(*readmodel.Options) {
	return func(o *readmodel.Options) { o.Projection = p }
}

// item is what the table holds, read past all clients.
func (b bench) item(aggregate string) event.Item {
	return b.Item(table, event.Item{"pk": event.String("VIEW#" + aggregate)})
}

// calls counts what reached the engine.
func (b bench) calls(operation string) int {
	return b.Counters().Total(localaws.CallCount{Service: localaws.DynamoDB, Operation: operation})
}

// run makes versions after+1 to last.
func run(aggregate string, after, last uint64) event.Run {
	r := event.Run{Aggregate: aggregate, After: event.Position{Version: after}}
	for v := after + 1; v <= last; v++ {
		r.Events = append(r.Events, sinktest.Event(aggregate, v))
	}
	return r
}

func apply(ctx context.Context, s *readmodel.Sink, r event.Run) event.Outcome {
	return s.Apply(ctx, []event.Run{r})[0]
}

// must applies a run that meets no obstacle.
func (b bench) must(s *readmodel.Sink, r event.Run) {
	b.Helper()
	if got, want := apply(b.Context(), s, r), (event.Outcome{Position: r.Last(), Known: true}); got != want {
		b.Fatalf("run after %d: %+v, want %+v", r.After.Version, got, want)
	}
}

// edit changes an item past all sinks, as an operator might.
func (b bench) edit(aggregate string, change func(event.Item)) {
	b.Helper()
	item := b.item(aggregate).Clone()
	if item == nil {
		item = event.Item{"pk": event.String("VIEW#" + aggregate)}
	}
	change(item)
	_, err := b.operator().PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: awsvalue.ToItem(item)})
	if err != nil {
		b.Fatal(err)
	}
}

func (b bench) remove(ctx context.Context, aggregate string) error {
	key := awsvalue.ToItem(event.Item{"pk": event.String("VIEW#" + aggregate)})
	_, err := b.operator().DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key})
	return err
}

func (b bench) operator() *dynamodb.Client { return dynamodb.NewFromConfig(b.Config("operator")) }

// versions demands which versions an item says are in effect.
func (b bench) versions(aggregate string, last uint64) {
	b.Helper()
	got, err := sinktest.VersionsOf(b.item(aggregate))
	if err != nil {
		b.Fatal(err)
	}
	var want []uint64
	for v := uint64(1); v <= last; v++ {
		want = append(want, v)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.Fatalf("%s: versions %v in effect, want %v", aggregate, got, want)
	}
}
