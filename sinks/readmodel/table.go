package readmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/jitter"
)

// pollEvery is how often a table that is not active yet is looked at.
const pollEvery = 500 * time.Millisecond

// EnsureTable creates the table, on demand, unless it is there, and waits
// until it is active or ctx ends. A table that is there must have the key that
// Options.Key names; it is never changed. Failed calls are not repeated.
func (s *Sink) EnsureTable(ctx context.Context) error {
	op := "creating read model " + s.options.Table
	keys, definitions := s.keySchema()
	_, err := s.options.Client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &s.options.Table, KeySchema: keys, AttributeDefinitions: definitions,
		BillingMode: types.BillingModePayPerRequest,
	})
	var there *types.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return awsclient.Classify(op, err)
	}
	for n := 0; ; n++ {
		out, err := s.options.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.options.Table})
		var absent *types.ResourceNotFoundException
		switch {
		case errors.As(err, &absent): // DescribeTable is eventually consistent (API Reference)
		case err != nil:
			return awsclient.Classify(op, err)
		case out.Table.TableStatus == types.TableStatusActive:
			return s.Fits(out.Table)
		}
		if err := jitter.Sleep(ctx, s.options.Jitter.Around(pollEvery, op, n)); err != nil {
			return &event.Error{Class: event.ClassOf(err), Op: op, Err: err}
		}
	}
}

func (s *Sink) keySchema() (keys []types.KeySchemaElement, definitions []types.AttributeDefinition) {
	for i, a := range s.key {
		role := types.KeyTypeHash
		if i == 1 {
			role = types.KeyTypeRange
		}
		keys = append(keys, types.KeySchemaElement{AttributeName: &a.name, KeyType: role})
		definitions = append(definitions, types.AttributeDefinition{AttributeName: &a.name, AttributeType: types.ScalarAttributeTypeS})
	}
	return keys, definitions
}

// Fits compares a table's key with ours, in whatever order it is described.
func (s *Sink) Fits(table *types.TableDescription) error {
	describe := func(keys []types.KeySchemaElement, definitions []types.AttributeDefinition) []string {
		var parts []string
		for _, key := range keys {
			for _, d := range definitions {
				if *d.AttributeName == *key.AttributeName {
					parts = append(parts, fmt.Sprintf("%s %s %s", key.KeyType, *key.AttributeName, d.AttributeType))
				}
			}
		}
		slices.Sort(parts)
		return parts
	}
	want := describe(s.keySchema())
	got := describe(table.KeySchema, table.AttributeDefinitions)
	if slices.Equal(want, got) {
		return nil
	}
	return &event.Error{
		Class: event.Permanent, Op: "checking read model " + s.options.Table,
		Err:  fmt.Errorf("its key is %q, the configuration says %q", got, want),
		Hint: "name the table's key attributes, which must be texts, in the sink's key",
	}
}
