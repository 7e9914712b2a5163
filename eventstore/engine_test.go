package eventstore

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

// engine is a local engine that ends with the test.
func engine(t *testing.T, o localaws.Options) *localaws.Engine {
	t.Helper()
	e := localaws.New(o)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// client is one process's store on an engine.
func client(t *testing.T, e *localaws.Engine, seed uint64) *Store {
	t.Helper()
	s, err := New(Options{
		Client: dynamodb.NewFromConfig(e.Config("millrace/orders/test")),
		Table:  "orders-events", Layout: event.Orders(), Jitter: jitter.Source{Seed: seed},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is a store on a table of its own.
func opened(t *testing.T, o localaws.Options) (*Store, *localaws.Engine) {
	t.Helper()
	e := engine(t, o)
	s := client(t, e, 1)
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, e
}

// all are an aggregate's events as a range shows them.
func all(ctx context.Context, s *Store, aggregate string) ([]event.Event, error) {
	var events []event.Event
	err := s.Range(ctx, aggregate, 1, Newest, func(page []event.Event) error {
		events = append(events, page...)
		return nil
	})
	return events, err
}

// fill appends count events in the largest steps, each with a payload of that
// many bytes.
func fill(t *testing.T, s *Store, aggregate string, count, bytes int) {
	t.Helper()
	for version := uint64(0); version < uint64(count); {
		step := make([]NewEvent, min(MaxTransactionItems, count-int(version), max(1, MaxTransactionBytes/(bytes+200))))
		for i := range step {
			step[i] = placed("1")
			step[i].Attributes["fill"] = event.String(strings.Repeat("x", bytes))
		}
		next, err := s.Append(t.Context(), aggregate, version, step...)
		if err != nil {
			t.Fatal(err)
		}
		version = next
	}
}
