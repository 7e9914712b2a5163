package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/jitter"
)

// pollEvery is how often a table that is not active yet is looked at.
const pollEvery = 500 * time.Millisecond

// EnsureTable creates the event table, on demand and with a stream of new
// images, unless it is there, and waits until it is active or ctx ends. A
// table that is there must have the layout's keys and a stream with new
// images, else the error says what differs; it is never changed.
func (s *Store) EnsureTable(ctx context.Context) error {
	op := "creating table " + s.table
	err := s.retry(ctx, op, func(ctx context.Context) error {
		_, err := s.client.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName:            &s.table,
			KeySchema:            s.keySchema(),
			AttributeDefinitions: s.keyTypes(),
			BillingMode:          types.BillingModePayPerRequest,
			StreamSpecification: &types.StreamSpecification{
				StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
			},
		})
		var there *types.ResourceInUseException
		if errors.As(err, &there) {
			return nil
		}
		return awsclient.Classify(op, err)
	})
	if err != nil {
		return err
	}
	op = "waiting for table " + s.table
	for n := 0; ; n++ {
		table, err := s.describe(ctx, op)
		if err != nil {
			return err
		}
		if table != nil && table.TableStatus == types.TableStatusActive {
			return s.Fits(table)
		}
		if err := jitter.Sleep(ctx, s.jitter.Around(pollEvery, op, n)); err != nil {
			return &event.Error{Class: event.ClassOf(err), Op: op, Err: err}
		}
	}
}

// describe returns nil for a table that is not to be seen yet.
func (s *Store) describe(ctx context.Context, op string) (*types.TableDescription, error) {
	var table *types.TableDescription
	err := s.retry(ctx, op, func(ctx context.Context) error {
		out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
		var absent *types.ResourceNotFoundException
		if errors.As(err, &absent) {
			return nil // DescribeTable is eventually consistent (API Reference)
		}
		if err == nil {
			table = out.Table
		}
		return awsclient.Classify(op, err)
	})
	return table, err
}

func (s *Store) keySchema() []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &s.layout.Aggregate, KeyType: types.KeyTypeHash},
		{AttributeName: &s.layout.Version, KeyType: types.KeyTypeRange},
	}
}

func (s *Store) keyTypes() []types.AttributeDefinition {
	version := types.ScalarAttributeTypeS
	if s.layout.Digits == 0 {
		version = types.ScalarAttributeTypeN
	}
	return []types.AttributeDefinition{
		{AttributeName: &s.layout.Aggregate, AttributeType: types.ScalarAttributeType(s.keyType)},
		{AttributeName: &s.layout.Version, AttributeType: version},
	}
}

// Fits compares a table with what the layout needs.
func (s *Store) Fits(table *types.TableDescription) error {
	op := fmt.Sprintf("checking table %s against its layout", s.table)
	if got, want := keyText(table.KeySchema, table.AttributeDefinitions), keyText(s.keySchema(), s.keyTypes()); got != want {
		return invalid(op, fmt.Errorf("its key is %s, the layout needs %s", got, want))
	}
	stream := table.StreamSpecification
	if stream == nil || !aws.ToBool(stream.StreamEnabled) {
		return invalid(op, errors.New("it has no stream: enable one with the view type NEW_IMAGE"))
	}
	if stream.StreamViewType != types.StreamViewTypeNewImage && stream.StreamViewType != types.StreamViewTypeNewAndOldImages {
		return invalid(op, fmt.Errorf("its stream shows %s, a reader needs NEW_IMAGE or NEW_AND_OLD_IMAGES", stream.StreamViewType))
	}
	return nil
}

// keyText spells a primary key: "pk (S) HASH, sk (S) RANGE".
func keyText(schema []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	parts := make([]string, len(schema))
	for i, k := range schema {
		name, tag := aws.ToString(k.AttributeName), types.ScalarAttributeType("?")
		if at := slices.IndexFunc(attributes, func(a types.AttributeDefinition) bool { return aws.ToString(a.AttributeName) == name }); at >= 0 {
			tag = attributes[at].AttributeType
		}
		parts[i] = fmt.Sprintf("%s (%s) %s", name, tag, k.KeyType)
	}
	return strings.Join(parts, ", ")
}
