package service_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/eventstore"
	"millrace/projection/ordersview"
	"millrace/service"
)

func (w *world) place(s *service.Service, aggregates ...string) {
	w.t.Helper()
	for _, aggregate := range aggregates {
		placed := eventstore.NewEvent{Type: ordersview.OrderPlaced, Time: time.Now(), Attributes: event.Item{
			"customer": event.String("Ada"), "amount": event.Number("12.50"),
		}}
		if _, err := s.Events().Append(w.t.Context(), aggregate, 0, placed); err != nil {
			w.t.Fatal(err)
		}
	}
}

// anew disables the event table's stream and enables another.
func (w *world) anew() {
	w.t.Helper()
	for _, stream := range []*types.StreamSpecification{{StreamEnabled: aws.Bool(false)}, showing(types.StreamViewTypeNewImage)} {
		_, err := w.tables.UpdateTable(w.t.Context(), &dynamodb.UpdateTableInput{TableName: &w.config.Events, StreamSpecification: stream})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// working runs the pipeline until stop.
func (w *world) working() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, w.t.Context(), w.config, w.registry) }()
	return func() {
		w.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("a stop is no failure: %v", err)
		}
	}
}

func (w *world) inEffect(s *service.Service, aggregates int) {
	w.t.Helper()
	report, err := one(s.Verify(w.t.Context(), 30*time.Second))
	if err != nil || !report.Healthy() || report.Aggregates != aggregates {
		w.t.Errorf("want %d aggregates: %+v, %v", aggregates, report, err)
	}
}

// TestAStreamThatIsMadeAnew: a worker that runs while the stream is disabled
// and enabled again goes on with the new one, wherever its group starts.
func TestAStreamThatIsMadeAnew(t *testing.T) {
	for _, latest := range []bool{false, true} {
		t.Run(fmt.Sprint("latest=", latest), func(t *testing.T) {
			w := newWorld(t)
			w.config.Latest = latest
			s := w.service(t)
			if err := s.EnsureTables(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop := w.working()
			defer func() { stop() }()
			w.place(s, "order-1", "order-2")
			w.inEffect(s, 2)
			w.anew()
			w.place(s, "order-3", "order-4")
			w.inEffect(s, 4)
		})
	}
}

// TestWhatIsUnreadOfAnEarlierStreamComesFirst: while no worker ran, events were
// written and the stream was made anew. Those events are on the earlier stream
// alone, and no later one of their aggregates would bring them.
func TestWhatIsUnreadOfAnEarlierStreamComesFirst(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	if err := s.EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := w.working()
	w.place(s, "order-1")
	w.inEffect(s, 1)
	stop()
	w.place(s, "order-2")
	w.anew()
	w.place(s, "order-3")
	stop = w.working()
	defer func() { stop() }()
	w.inEffect(s, 3)
}
