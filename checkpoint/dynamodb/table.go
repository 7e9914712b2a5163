package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/controlkey"
	"millrace/internal/jitter"
)

// EnsureTable makes the control table, billed on demand, unless it exists, and
// waits until it can be used or the context ends. A table of that name with
// another key is an error.
func (s *Store) EnsureTable(ctx context.Context) error {
	const op = "making sure of the control table"
	for n := 0; ; n++ {
		out, err := s.client.DescribeTable(ctx, &sdk.DescribeTableInput{TableName: aws.String(s.table)})
		var absent *types.ResourceNotFoundException
		switch {
		case errors.As(err, &absent):
			if err := s.createTable(ctx); err != nil {
				return err
			}
		case err != nil:
			return awsclient.Classify(op, err)
		case out.Table.TableStatus == types.TableStatusActive, out.Table.TableStatus == types.TableStatusUpdating:
			return Fits(s.table, out.Table)
		}
		if err := jitter.Sleep(ctx, s.jitter.Backoff(200*time.Millisecond, 2*time.Second, s.marks.Boot+" control table", n)); err != nil {
			return fmt.Errorf("waiting for the control table %s: %w", s.table, err)
		}
	}
}

func (s *Store) createTable(ctx context.Context) error {
	_, err := s.client.CreateTable(ctx, &sdk.CreateTableInput{
		TableName:   aws.String(s.table),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(controlkey.PK), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(controlkey.SK), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(controlkey.PK), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(controlkey.SK), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		return nil // another worker was faster
	}
	return awsclient.Classify("making the control table", err)
}

// Fits refuses a table whose key is not pk and sk, both text.
func Fits(name string, table *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range table.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	var key []string
	for _, k := range table.KeySchema {
		key = append(key, fmt.Sprintf("%s (%s, %s)", aws.ToString(k.AttributeName), k.KeyType, kinds[aws.ToString(k.AttributeName)]))
	}
	want := []string{controlkey.PK + " (HASH, S)", controlkey.SK + " (RANGE, S)"}
	if fmt.Sprint(key) != fmt.Sprint(want) {
		return &event.Error{
			Class: event.Permanent, Op: "checking the control table", Err: fmt.Errorf("%s has the key %v, not %v", name, key, want),
			Hint: "name another table for control",
		}
	}
	return nil
}
