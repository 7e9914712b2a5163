package watermill_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"millrace/event"
	"millrace/sinks"
	"millrace/sinks/sinktest"
	"millrace/sinks/watermill"
)

// refusing is JSON that refuses the suite's poison.
func refusing(e event.Event) ([]byte, error) {
	if err := sinktest.Refuse(e); err != nil {
		return nil, err
	}
	return watermill.JSON(e)
}

func TestConformance(t *testing.T) {
	for name, cache := range map[string]int{"remembering": 0, "remembering nothing": -1, "remembering one": 1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			sinktest.Run(t, sinktest.Harness{
				Poison: sinktest.Poison,
				Open: func(id sinks.Identity) (sinks.Sink, error) {
					return watermill.New(b.options(func(o *watermill.Options) {
						o.Identity, o.Cache, o.Marshal = id, cache, refusing
					}))
				},
				Versions: func(_ context.Context, _ sinks.Identity, aggregate string) ([]uint64, error) {
					return b.versions(aggregate), nil
				},
			})
		})
	}
}

// TestConformanceOfGoChannel runs the suite over Watermill's own pub/sub, as a
// subscriber sees it.
func TestConformanceOfGoChannel(t *testing.T) {
	b := newBench(t)
	// Publish returns when the subscriber has the message, which is what the
	// sink asks of every adapter.
	pubsub := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, nil)
	messages, err := pubsub.Subscribe(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	subscriber := make(chan struct{})
	go func() {
		defer close(subscriber)
		for m := range messages {
			if err := b.Publish("orders", m); err != nil {
				t.Error(err)
			}
			m.Ack()
		}
	}()
	t.Cleanup(func() {
		if err := pubsub.Close(); err != nil {
			t.Error(err)
		}
		<-subscriber
	})
	sinktest.Run(t, sinktest.Harness{
		Poison: sinktest.Poison,
		Open: func(id sinks.Identity) (sinks.Sink, error) {
			return watermill.New(b.options(func(o *watermill.Options) {
				o.Identity, o.Marshal, o.Publisher = id, refusing, shared{pubsub}
			}))
		},
		Versions: func(_ context.Context, _ sinks.Identity, aggregate string) ([]uint64, error) {
			return b.versions(aggregate), nil
		},
	})
}

// shared is a publisher that outlives the sink.
type shared struct{ message.Publisher }

func (shared) Close() error { return nil }
