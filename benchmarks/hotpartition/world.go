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

// run is what a contender did.
type run struct {
	events  int // of them taken
	writes  int64
	elapsed time.Duration
	start   moment
	end     moment
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

// contend makes a table, has a contender take the first n events of the
// backlog and judges what it did.
func (w *world) contend(ctx context.Context, who contender, n int) (run, error) {
	plain, err := w.sink(ctx, false)
	if err != nil {
		return run{}, err
	}
	if err := plain.EnsureTable(ctx); err != nil {
		return run{}, err
	}
	switch who {
	case product:
		err = w.runProduct(ctx, n)
	case projector:
		err = w.runProjector(ctx, n)
	case drain:
		err = w.runDrain(ctx, n)
	default:
		err = errors.New("nobody of that name")
	}
	if err != nil {
		return run{}, fmt.Errorf("running %s on %s: %w", who, w.backlog.Workload, err)
	}
	if who != drain {
		if err := w.judge(ctx, plain, n); err != nil {
			return run{}, fmt.Errorf("judging %s on %s: %w", who, w.backlog.Workload, err)
		}
	}
	m := w.meter
	return run{events: n, writes: m.writes.Load(), start: m.start, end: m.end, elapsed: m.end.at.Sub(m.start.at)}, nil
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
