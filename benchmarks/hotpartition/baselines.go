package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
	"millrace/sinks/readmodel"
	"millrace/source"
)

// runProjector takes one event after the other, as a function behind a stream
// does, with the product's care: a consistent read, a check of the position, a
// write under the condition that the position still stands. It shares the
// product's read model, so the fold and the write are the same; it keeps no
// checkpoint and no lease, which is in its favour.
func (w *world) runProjector(ctx context.Context, n int) error {
	stream, _, err := w.stream(ctx)
	if err != nil {
		return err
	}
	view, err := w.sink(ctx, true)
	if err != nil {
		return err
	}
	id, err := shard(ctx, stream)
	if err != nil {
		return err
	}
	cursor, err := source.NewCursor(stream, id, source.Start{Kind: source.TrimHorizon})
	if err != nil {
		return err
	}
	layout := event.Orders()
	for left := n; left > 0; {
		page, err := cursor.Read(ctx, min(left, source.MaxPageRecords))
		if err != nil {
			return err
		}
		if len(page.Records) == 0 {
			return fmt.Errorf("the stream ends %d events early", left)
		}
		left -= len(page.Records)
		for i := range page.Records {
			e, verdict, err := layout.Route(&page.Records[i])
			if verdict != event.IsEvent {
				return errors.Join(fmt.Errorf("record %s is no event", page.Records[i].Sequence), err)
			}
			if err := project(ctx, view, e); err != nil {
				return err
			}
		}
	}
	w.meter.finish()
	return nil
}

// project applies one event.
func project(ctx context.Context, view *readmodel.Sink, e event.Event) error {
	positions, err := view.Positions(ctx, []string{e.Aggregate})
	if err != nil {
		return err
	}
	at := positions[0]
	switch {
	case at.Version >= e.Version:
		return nil // a duplicate
	case at.Version != e.Version-1:
		return fmt.Errorf("version %d of %s came after version %d", e.Version, e.Aggregate, at.Version)
	}
	return view.Apply(ctx, []event.Run{{Aggregate: e.Aggregate, After: at, Events: []event.Event{e}}})[0].Err
}

var errOrder = errors.New("the stream's records do not grow")

// runDrain fetches pages, decodes them with the SDK and throws them away, in
// one goroutine: what no consumer through the SDK is faster than without a
// second one for the next page.
func (w *world) runDrain(ctx context.Context, n int) error {
	stream, api, err := w.stream(ctx)
	if err != nil {
		return err
	}
	id, err := shard(ctx, stream)
	if err != nil {
		return err
	}
	first, err := api.GetShardIterator(ctx, &sdk.GetShardIteratorInput{
		StreamArn: aws.String(stream.ARN()), ShardId: aws.String(string(id)), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return fmt.Errorf("taking an iterator: %w", err)
	}
	iterator, last := first.ShardIterator, event.SequenceNumber("")
	for left := n; left > 0; {
		page, err := api.GetRecords(ctx, &sdk.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(int32(min(left, source.MaxPageRecords)))}) //nolint:gosec // at most 1000
		if err != nil {
			return fmt.Errorf("reading records: %w", err)
		}
		if len(page.Records) == 0 || page.NextShardIterator == nil {
			return fmt.Errorf("the stream ends %d events early", left)
		}
		newest := event.SequenceNumber(aws.ToString(page.Records[len(page.Records)-1].Dynamodb.SequenceNumber))
		if newest.Compare(last) <= 0 {
			return errOrder
		}
		left, iterator, last = left-len(page.Records), page.NextShardIterator, newest
	}
	w.meter.finish()
	return nil
}
