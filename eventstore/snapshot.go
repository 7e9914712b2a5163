package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// DefaultEvery is how many versions lie between two snapshots.
const DefaultEvery = 50

// Snapshots keeps an aggregate's state in one more item of its partition, so
// that a load reads the events after it alone. They are an economy and never
// the truth: with any of them lost, damaged or of another fold, the result is
// the same.
type Snapshots[S any] struct {
	// Key is the item's sort key. It must be one that the layout takes for no
	// event. Default SNAPSHOT.
	Key string
	// Every is the number of versions between two snapshots. Default
	// DefaultEvery.
	Every uint64
	// Fold is the version of the fold that made the state: a snapshot of another
	// one is ignored, and replaced in time. At least 1.
	Fold uint64
	// Encode and Decode turn the state into attributes and back. Required.
	Encode func(S) (event.Item, error)
	Decode func(event.Item) (S, error)
}

// A snapshot's attributes beside its key.
const (
	snapshotVersion = "version"
	snapshotFold    = "fold"
	snapshotState   = "state"
)

func (sn Snapshots[S]) checked(layout *event.Layout) (Snapshots[S], error) {
	if sn.Key == "" {
		sn.Key = "SNAPSHOT"
	}
	if sn.Every == 0 {
		sn.Every = DefaultEvery
	}
	switch {
	case sn.Fold == 0 || sn.Encode == nil || sn.Decode == nil:
		return sn, errors.New("snapshots need the fold's version, Encode and Decode")
	case layout.Digits == 0:
		return sn, errors.New("the layout's sort key is a number: a snapshot needs one that is text")
	}
	if _, isEvent, _ := layout.FromItem(sn.item(layout, event.String("x"), 1, nil)); isEvent || layout.Prefix == "" && layout.Only.Attribute == "" {
		return sn, fmt.Errorf("under sort key %q the layout's readers would take a snapshot for an event: use a layout with a prefix or a kind", sn.Key)
	}
	return sn, nil
}

func (sn Snapshots[S]) item(layout *event.Layout, partition event.Value, version uint64, state event.Item) event.Item {
	item := event.Item{
		layout.Aggregate: partition, layout.Version: event.String(sn.Key),
		snapshotVersion: count(version), snapshotFold: count(sn.Fold), snapshotState: event.Map(state),
	}
	if layout.Only.Attribute != "" {
		item[layout.Only.Attribute] = event.String("snapshot")
	}
	return item
}

func count(n uint64) event.Number { return event.Number(strconv.FormatUint(n, 10)) }

// load reads the newest snapshot; version 0 where there is none that this fold
// can use.
func (sn Snapshots[S]) load(ctx context.Context, s *Store, aggregate string) (state S, version uint64, err error) {
	var none S
	partition, err := s.partition(aggregate)
	if err != nil {
		return none, 0, err
	}
	op := "reading the snapshot of " + aggregate
	var item event.Item
	err = s.retry(ctx, op, func(ctx context.Context) error {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true),
			Key: awsvalue.ToItem(event.Item{s.layout.Aggregate: partition, s.layout.Version: event.String(sn.Key)}),
		})
		if err != nil {
			return s.classify(op, err)
		}
		item, err = awsvalue.Item(out.Item)
		return s.classify(op, err)
	})
	if err != nil {
		return none, 0, err
	}
	stored, ok := item[snapshotState].(event.Map)
	if !ok || !event.Equal(item[snapshotFold], count(sn.Fold)) {
		return none, 0, nil
	}
	number, _ := item[snapshotVersion].(event.Number)
	version, broken := strconv.ParseUint(string(number), 10, 63)
	if broken == nil {
		state, broken = sn.Decode(event.Item(stored))
	}
	if broken != nil {
		return none, 0, nil //nolint:nilerr // a damaged snapshot is none
	}
	return state, version, nil
}

// save writes a snapshot when an append has crossed a multiple of Every. It
// makes one attempt, and never replaces a newer one of the same fold.
func (sn Snapshots[S]) save(ctx context.Context, s *Store, aggregate string, before, version uint64, state S) error {
	if version/sn.Every == before/sn.Every {
		return nil
	}
	op := fmt.Sprintf("saving a snapshot of %s at version %d", aggregate, version)
	partition, err := s.partition(aggregate)
	if err != nil {
		return err
	}
	attributes, err := sn.Encode(state)
	if err != nil {
		return invalid(op, err)
	}
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: awsvalue.ToItem(sn.item(s.layout, partition, version, attributes)),
		ConditionExpression:      aws.String("attribute_not_exists(#version) OR #version < :version OR #fold <> :fold"),
		ExpressionAttributeNames: map[string]string{"#version": snapshotVersion, "#fold": snapshotFold},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":version": awsvalue.To(count(version)), ":fold": awsvalue.To(count(sn.Fold)),
		},
	})
	var newer *types.ConditionalCheckFailedException
	if errors.As(err, &newer) {
		return nil
	}
	return s.classify(op, err)
}

// LoadFrom is Load with the help of snapshots.
func LoadFrom[S any](ctx context.Context, s *Store, aggregate string, fold Fold[S], snapshots Snapshots[S]) (S, uint64, error) {
	var none S
	snapshots, err := snapshots.checked(s.layout)
	if err != nil {
		return none, 0, invalid("loading "+aggregate, err)
	}
	state, version, err := snapshots.load(ctx, s, aggregate)
	if err != nil {
		return none, 0, err
	}
	loaded, at, err := loadAfter(ctx, s, aggregate, fold, state, version)
	if errors.Is(err, errAhead) {
		return Load(ctx, s, aggregate, fold)
	}
	return loaded, at, err
}
