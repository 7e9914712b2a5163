package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/rs/zerolog"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/sinks"
)

// stall is how long a run may go without any progress.
const stall = 30 * time.Second

// runProduct has the product's worker take the whole backlog: its defaults, but
// for the limit of reads.
func (w *world) runProduct(ctx context.Context, n int) error {
	worker, arrived, err := w.worker(ctx, n)
	if err != nil {
		return err
	}
	fetch, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(fetch, ctx) }()
	failed := arrived.wait(ctx, ended, worker)
	stop()
	if err := errors.Join(failed, <-ended); err != nil {
		return err
	}
	// Records that a lost lease had the worker read twice would be work that
	// the others did not have.
	if s := worker.Stats(); s.Applied != uint64(n) || s.Duplicates != 0 { //nolint:gosec // a count
		return fmt.Errorf("%d events applied and %d duplicates, want %d and none", s.Applied, s.Duplicates, n)
	}
	return nil
}

func (w *world) worker(ctx context.Context, n int) (*pipeline.Worker, *arrival, error) {
	plain, err := w.remote.config(ctx, w.name)
	if err != nil {
		return nil, nil, err
	}
	if err := control.New(control.Options{Client: dynamodb.NewFromConfig(plain)}).EnsureTable(ctx); err != nil {
		return nil, nil, err
	}
	stream, _, err := w.stream(ctx)
	if err != nil {
		return nil, nil, err
	}
	client := dynamodb.NewFromConfig(slow(plain, w.latency))
	store, err := eventStore(client, w.backlog)
	if err != nil {
		return nil, nil, err
	}
	view, err := w.sink(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	arrived := &arrival{Sink: view, want: int64(n), meter: w.meter, all: make(chan struct{})}
	worker, err := pipeline.NewWorker(pipeline.Options{
		Group: w.name, Worker: w.name, Stream: stream, Store: store, Layout: store.Layout(),
		Control:        control.New(control.Options{Client: client}),
		Sinks:          []pipeline.Sink{{Name: w.name, Version: 1, Sink: arrived}},
		ReadsPerSecond: -1,
		Jitter:         jitter.Source{Seed: seed},
		Log:            zerolog.Nop(),
	})
	return worker, arrived, err
}

// arrival is a sink that tells when the last event is in effect, to the moment
// of the answer.
type arrival struct {
	sinks.Sink
	want  int64
	meter *meter

	count atomic.Int64
	once  sync.Once
	all   chan struct{} // closed when all have arrived
}

// Apply passes the runs on and counts what took effect.
func (a *arrival) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	outcomes := a.Sink.Apply(ctx, runs)
	var moved int64
	for i, o := range outcomes {
		if o.Known && o.Position.Version > runs[i].After.Version {
			moved += int64(o.Position.Version - runs[i].After.Version) //nolint:gosec // within one run
		}
	}
	if a.count.Add(moved) >= a.want {
		a.once.Do(func() {
			a.meter.finish()
			close(a.all)
		})
	}
	return outcomes
}

// wait returns when everything has arrived, and an error when nothing moves
// any more or the worker gives up. Then ended still has an answer.
func (a *arrival) wait(ctx context.Context, ended chan error, worker *pipeline.Worker) error {
	tick := time.NewTicker(stall)
	defer tick.Stop()
	for last := int64(-1); ; {
		select {
		case <-a.all:
			return nil
		case err := <-ended:
			ended <- nil
			return errors.Join(errors.New("the worker ended early"), err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for the last event: %w", ctx.Err())
		case <-tick.C:
			at := a.count.Load()
			if at == last {
				return fmt.Errorf("nothing moved for %v at %d of %d events: %v", stall, at, a.want, worker.Troubles())
			}
			last = at
		}
	}
}
