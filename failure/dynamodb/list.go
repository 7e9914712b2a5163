package dynamodb

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/awsclient"
	"millrace/internal/awsvalue"
	"millrace/internal/controlkey"
)

// Standing lists the markers of a sink that are not live, consistently, and the
// rows among them that this build cannot read.
func (s *Store) Standing(ctx context.Context, scope failure.Scope) (markers []failure.Marker, foreign []failure.Foreign, err error) {
	for part := range controlkey.MarkerParts {
		partition := controlkey.Markers(scope.Group, scope.Table, scope.Sink, scope.SinkVersion, part)
		err := s.rows(ctx, partition, func(aggregate string, row event.Item) {
			marker, err := failure.ParseMarker(scope.Key(aggregate), row)
			switch {
			case err != nil:
				foreign = append(foreign, failure.Foreign{Row: partition + " / " + aggregate, Name: aggregate, Reason: err.Error()})
			case marker.NotLive():
				markers = append(markers, marker)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return markers, foreign, nil
}

// Promises lists the letters that are still to be sent.
func (s *Store) Promises(ctx context.Context, scope failure.Scope) (promises []failure.Promise, err error) {
	for part := range controlkey.OutboxParts {
		partition := controlkey.Outboxes(scope.Group, scope.Table, scope.Sink, scope.SinkVersion, part)
		err := s.rows(ctx, partition, func(aggregate string, row event.Item) {
			id, _ := row["blockId"].(event.String)
			version, _ := failure.AsVersion(row["version"])
			promises = append(promises, failure.Promise{
				Key: scope.Key(aggregate), Outbox: failure.Outbox{BlockID: string(id), Version: version},
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return promises, nil
}

// Kept deletes an outbox row whose letter was accepted, unless a newer block
// has replaced it.
func (s *Store) Kept(ctx context.Context, p failure.Promise) error {
	_, err := s.client.DeleteItem(ctx, &sdk.DeleteItemInput{
		TableName: aws.String(s.table), Key: outboxKey(p.Key),
		ConditionExpression:       aws.String("attribute_not_exists(#id) OR #id = :id"),
		ExpressionAttributeNames:  map[string]string{"#id": "blockId"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: p.BlockID}},
	})
	if awsclient.Code(err) == "ConditionalCheckFailedException" {
		return nil // the newer block has a letter of its own
	}
	return s.classify("deleting an outbox row", err)
}

// rows reads one partition to its end.
func (s *Store) rows(ctx context.Context, partition string, row func(aggregate string, row event.Item)) error {
	pages := sdk.NewQueryPaginator(s.client, &sdk.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": controlkey.PK},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: partition}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s.classify("listing "+partition, err)
		}
		for _, found := range page.Items {
			item, err := awsvalue.Item(found)
			if err != nil {
				return fmt.Errorf("listing %s: %w", partition, err)
			}
			sort, _ := item[controlkey.SK].(event.String)
			attribute, _ := item[controlkey.Aggregate].(event.String)
			aggregate, ok := controlkey.AggregateOf(string(sort), string(attribute))
			if !ok {
				continue // no builder of ours wrote it
			}
			row(aggregate, item)
		}
	}
	return nil
}
