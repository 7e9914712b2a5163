package readmodel

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/sinks"
)

// read reads the items of any number of aggregates and remembers them. One
// answer each, in the same order; one aggregate may be asked for twice.
func (s *Sink) read(ctx context.Context, aggregates []string) []answer {
	answers := make(map[string]answer, len(aggregates))
	distinct := slices.Compact(slices.Sorted(slices.Values(aggregates)))
	for batch := range slices.Chunk(distinct, sinks.MaxPositions) {
		items, err := s.readBatch(ctx, batch)
		for _, aggregate := range batch {
			item, found := items[aggregate]
			if !found && err != nil {
				answers[aggregate] = answer{err: err}
				continue
			}
			a := s.holding(item)
			if a.err == nil && a.held.position > 0 {
				s.cache.put(aggregate, a.held)
			}
			answers[aggregate] = a
		}
	}
	ordered := make([]answer, len(aggregates))
	for i, aggregate := range aggregates {
		ordered[i] = answers[aggregate]
	}
	return ordered
}

// readBatch reads the items of up to sinks.MaxPositions aggregates. With an
// error, items may hold some of them, and of the others nothing is known.
//
// An answer stops at 16 MB and names the keys it left out (API Reference,
// BatchGetItem). Those are asked for again as long as each answer brings
// something; when one brings nothing the table is overloaded, and waiting is
// the caller's business.
func (s *Sink) readBatch(ctx context.Context, aggregates []string) (items map[string]event.Item, err error) {
	op := "reading read model " + s.options.Table
	items = make(map[string]event.Item, len(aggregates))
	pending := make([]map[string]types.AttributeValue, len(aggregates))
	for i, aggregate := range aggregates {
		pending[i] = awsvalue.ToItem(s.key.of(aggregate))
	}
	for len(pending) > 0 {
		out, err := s.options.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				s.options.Table: {Keys: pending, ConsistentRead: aws.Bool(true)},
			},
		})
		if err != nil {
			return items, s.classify(op, err)
		}
		for _, stored := range out.Responses[s.options.Table] {
			item, err := awsvalue.Item(stored)
			if err != nil {
				return items, &event.Error{Class: event.Permanent, Op: op, Err: err}
			}
			if aggregate, ok := s.key.aggregateOf(item); ok {
				items[aggregate] = item
			}
		}
		left := out.UnprocessedKeys[s.options.Table].Keys
		if len(left) == len(pending) {
			err := fmt.Errorf("%d of %d items were not answered", len(left), len(aggregates))
			return items, &event.Error{Class: event.Transient, Op: op, Err: err}
		}
		pending = left
	}
	return items, nil
}
