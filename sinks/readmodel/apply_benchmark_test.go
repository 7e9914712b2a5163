package readmodel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/projection/ordersview"
	"millrace/sinks/readmodel"
)

// BenchmarkApply is the cost of a run on the engine in this process, whose own
// share is in it. Compare within one run only.
func BenchmarkApply(b *testing.B) {
	for _, length := range []uint64{1, 1000} {
		b.Run(fmt.Sprintf("events=%d", length), func(b *testing.B) {
			engine := localaws.New(localaws.Options{})
			defer func() { _ = engine.Close() }()
			view, err := ordersview.Projection()
			if err != nil {
				b.Fatal(err)
			}
			s, err := readmodel.New(readmodel.Options{
				Client: dynamodb.NewFromConfig(engine.Config("bench")), Table: table, Identity: identity(), Projection: view,
				Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}},
			})
			if err == nil {
				err = s.EnsureTable(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			benchmarkApply(b.Context(), b, s, order(length))
		})
	}
}

func benchmarkApply(ctx context.Context, b *testing.B, s *readmodel.Sink, events []event.Event) {
	b.Helper()
	length := uint64(len(events))
	var at uint64
	b.ReportAllocs()
	for b.Loop() {
		for i := range events {
			events[i].Version = at + uint64(i) + 1
		}
		got := apply(ctx, s, event.Run{Aggregate: "order-1", After: event.Position{Version: at}, Events: events})
		if at += length; got.Err != nil || got.Position.Version != at {
			b.Fatalf("%+v", got)
		}
	}
}
