package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/eventstore"
)

// open is an event table of the orders layout. The SDK's own retries are off,
// since the store retries within its Budget and two layers would multiply.
func open(ctx context.Context) (*eventstore.Store, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		return nil, fmt.Errorf("loading the AWS configuration: %w", err)
	}
	return eventstore.New(eventstore.Options{
		Client: dynamodb.NewFromConfig(cfg), Table: "orders-events", Layout: event.Orders(),
		// Jitter is left out, and the store draws a seed of its own. A test that is
		// to repeat sets event.Jitter{Seed: 7}, and each store another one.
	})
}

// An order is paid by whoever read that it is open. Of two who do so at once one
// wins, and the other decides again on what is there then.
func Example() {
	ctx := context.Background()
	store, err := open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		paid, version, err := eventstore.Load(ctx, store, "order-1", func(paid bool, e event.Event) (bool, error) {
			kind, err := e.Type()
			return paid || kind == "OrderPaid", err
		})
		if err != nil || paid {
			fmt.Println("paid:", paid, err)
			return
		}
		_, err = store.Append(ctx, "order-1", version, eventstore.NewEvent{
			Type: "OrderPaid", Time: time.Now(), Attributes: event.Item{"amount": event.Number("12.50")},
		})
		var lost *eventstore.Conflict
		if !errors.As(err, &lost) {
			fmt.Println("paid now:", err)
			return
		}
	}
}
