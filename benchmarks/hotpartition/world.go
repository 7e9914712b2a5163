package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/source"
	"millrace/source/dynamodbstreams"
)

// contender is somebody who reads a backlog.
type contender string

const (
	product   contender = "millrace"
	projector contender = "projector"
	drain     contender = "drain"
)

// world is what one run works on: a backlog in the engine, and a group and a
// read-model table that no other run has used.
type world struct {
	remote  remote
	backlog backlog
	view    projection.Projection
	latency time.Duration
	name    string // of this run: group, table and application
	meter   *meter
}

func (w *world) identity() sinks.Identity {
	return sinks.Identity{Group: w.name, Source: w.backlog.table(), Sink: w.name, Version: 1}
}

// sink opens the run's read model; slept says whether its calls take the
// store's latency and count, as they do not where a result is judged.
func (w *world) sink(ctx context.Context, slept bool) (*readmodel.Sink, error) {
	config, err := w.remote.config(ctx, w.name)
	if err != nil {
		return nil, err
	}
	if slept {
		config = w.meter.readModel(slow(config, w.latency))
	}
	return readmodel.New(readmodel.Options{
		Client: dynamodb.NewFromConfig(config), Table: w.name, Identity: w.identity(), Projection: w.view,
		Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}},
	})
}

// stream opens the backlog's stream; the first call for records starts the
// clock.
func (w *world) stream(ctx context.Context) (*dynamodbstreams.Stream, *sdk.Client, error) {
	config, err := w.remote.config(ctx, w.name)
	if err != nil {
		return nil, nil, err
	}
	api := sdk.NewFromConfig(w.meter.streams(config))
	client, err := dynamodbstreams.New(dynamodbstreams.Options{Streams: api, Tables: dynamodb.NewFromConfig(config)})
	if err != nil {
		return nil, nil, err
	}
	stream, err := client.Find(ctx, w.backlog.table())
	return stream, api, err
}

// shard is the backlog's only one.
func shard(ctx context.Context, s *dynamodbstreams.Stream) (source.ShardID, error) {
	shards, next, err := s.Shards(ctx, "")
	if err != nil {
		return "", err
	}
	if len(shards) != 1 || next != "" {
		return "", fmt.Errorf("the backlog lies in %d shards, want one", len(shards))
	}
	return shards[0].ID, nil
}

// contend has a contender take the first n events of the backlog.
func (w *world) contend(ctx context.Context, who contender, n int) error {
	switch who {
	case product:
		return w.runProduct(ctx, n)
	case projector:
		return w.runProjector(ctx, n)
	case drain:
		return w.runDrain(ctx, n)
	}
	return errors.New("nobody of that name")
}

// judge compares the whole read model with the fold of the first n events. The
// digest in each item shows an event that was doubled, lost or out of order.
func (w *world) judge(ctx context.Context, plain *readmodel.Sink, n int) error {
	want, err := w.backlog.expected(w.view, n)
	if err != nil {
		return err
	}
	for after := event.Item(nil); ; {
		page, err := plain.Scan(ctx, 0, 1, after)
		if err != nil {
			return err
		}
		for _, stored := range page.Items {
			if err := differs(plain, want, stored); err != nil {
				return err
			}
			delete(want, stored.Aggregate)
		}
		if after = page.Next; after == nil {
			break
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("%d aggregates are missing in the read model", len(want))
	}
	return nil
}

func differs(plain *readmodel.Sink, want map[string]target, stored readmodel.Stored) error {
	expected, known := want[stored.Aggregate]
	switch {
	case stored.Err != nil:
		return stored.Err
	case !known:
		return fmt.Errorf("aggregate %q is in the read model and should not be, or is there twice", stored.Aggregate)
	case stored.Position.Version != expected.version:
		return fmt.Errorf("%s stands at version %d, want %d", stored.Aggregate, stored.Position.Version, expected.version)
	}
	differences, err := plain.Compare(expected.item, stored)
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		return fmt.Errorf("%s differs from the fold of its events: %v", stored.Aggregate, differences)
	}
	return nil
}
