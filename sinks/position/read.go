package position

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/controlkey"
	"millrace/sinks"
)

// Positions reads the positions of any number of aggregates, consistently, in
// the same order. The zero position means that nothing was applied.
func (s *Store) Positions(ctx context.Context, id sinks.Identity, aggregates []string) ([]event.Position, error) {
	// One aggregate may be asked for twice, one key must not be (API Reference,
	// BatchGetItem).
	distinct := slices.Compact(slices.Sorted(slices.Values(aggregates)))
	found := make(map[string]event.Position, len(distinct))
	for batch := range slices.Chunk(distinct, sinks.MaxPositions) {
		if err := s.read(ctx, id, batch, found); err != nil {
			return nil, err
		}
	}
	positions := make([]event.Position, len(aggregates))
	for i, aggregate := range aggregates {
		positions[i] = found[aggregate]
	}
	return positions, nil
}

// read reads the positions of up to sinks.MaxPositions aggregates into found;
// who has none is left out.
//
// What an answer leaves out (API Reference, BatchGetItem: UnprocessedKeys) is
// asked for again as long as each answer brings something; when one brings
// nothing the table is overloaded, and waiting is the caller's business.
func (s *Store) read(ctx context.Context, id sinks.Identity, aggregates []string, found map[string]event.Position) error {
	const op = "reading positions"
	named := make(map[string]string, len(aggregates)) // by partition key
	pending := make([]item, len(aggregates))
	for i, aggregate := range aggregates {
		pending[i] = key(id, aggregate)
		named[partition(pending[i])] = aggregate
	}
	for len(pending) > 0 {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				s.table: {Keys: pending, ConsistentRead: aws.Bool(true)},
			},
		})
		if err != nil {
			return s.classify(op, err)
		}
		for _, row := range out.Responses[s.table] {
			aggregate := named[partition(row)]
			if found[aggregate], err = decode("reading the position of "+aggregate, row); err != nil {
				return err
			}
		}
		left := out.UnprocessedKeys[s.table].Keys
		if len(left) == len(pending) {
			err := fmt.Errorf("%d of %d rows were not answered", len(left), len(aggregates))
			return &event.Error{Class: event.Transient, Op: op, Err: err}
		}
		pending = left
	}
	return nil
}

func partition(row item) string {
	pk, _ := row[controlkey.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		return ""
	}
	return pk.Value
}
