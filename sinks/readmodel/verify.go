package readmodel

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/decimal"
	"millrace/projection"
)

// Stored is an item as somebody who checks it sees it.
type Stored struct {
	Aggregate string // empty when the key is not one that this sink makes
	Position  event.Position
	Item      event.Item // the whole item, foreign attributes too; nil when there is none
	// Err says why the position is not this sink's: another sink's, another
	// version's, or no version at all.
	Err error
}

// Item reads one aggregate's item, consistently. No item is no error.
func (s *Sink) Item(ctx context.Context, aggregate string) (Stored, error) {
	items, err := s.readBatch(ctx, []string{aggregate})
	if err != nil {
		return Stored{}, err
	}
	return s.stored(aggregate, items[aggregate]), nil
}

func (s *Sink) stored(aggregate string, item event.Item) Stored {
	position, err := s.position(item)
	return Stored{Aggregate: aggregate, Position: event.Position{Version: position}, Item: item, Err: err}
}

// Page is one answer of Scan.
type Page struct {
	Items []Stored // those that have a position in this sink's attribute
	Next  event.Item
}

// Scan reads one page of a segment of the table, consistently. after is the
// page's Next before it, nil at the start; a page whose Next is nil is the
// segment's last. Segments are numbered from 0; total is at least 1. It does
// not repeat a failed call: the same page can be asked for again.
func (s *Sink) Scan(ctx context.Context, segment, total int, after event.Item) (Page, error) {
	op := "scanning read model " + s.options.Table
	out, err := s.options.Client.Scan(ctx, &dynamodb.ScanInput{
		TableName: &s.options.Table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: awsvalue.ToItem(after),
		Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(total)),
	})
	if err != nil {
		return Page{}, s.classify(op, err)
	}
	if out.Items == nil { // no service's answer; it would pass for an empty table
		return Page{}, &event.Error{Class: event.Permanent, Op: op, Err: errors.New("the answer has no items")}
	}
	var page Page
	if page.Items, err = s.ours(out.Items); err != nil {
		return Page{}, &event.Error{Class: event.Permanent, Op: op, Err: err}
	}
	if len(out.LastEvaluatedKey) > 0 {
		if page.Next, err = awsvalue.Item(out.LastEvaluatedKey); err != nil {
			return Page{}, &event.Error{Class: event.Permanent, Op: op, Err: err}
		}
	}
	return page, nil
}

// claimLook is how many items Claimed looks at.
const claimLook = 25

// Claimed looks at a few items, and is an error of class Foreign where another
// group keeps this very read model: a worker of this one would meet that at every
// aggregate. It is a look and no proof, takes the permission to scan, and other
// errors say that nobody knows.
func (s *Sink) Claimed(ctx context.Context) error {
	op := "scanning read model " + s.options.Table
	out, err := s.options.Client.Scan(ctx, &dynamodb.ScanInput{TableName: &s.options.Table, Limit: aws.Int32(claimLook)})
	if err != nil {
		return s.classify(op, err)
	}
	items, err := s.ours(out.Items)
	if err != nil {
		return &event.Error{Class: event.Permanent, Op: op, Err: err}
	}
	for _, stored := range items {
		by, _ := stored.Item[s.options.Position+ownerSuffix].(event.String)
		if stored.Aggregate != "" && s.owner.rivals(string(by)) {
			return stored.Err
		}
	}
	return nil
}

// ours leaves out what shares the table and has no position of this sink.
func (s *Sink) ours(items []map[string]types.AttributeValue) ([]Stored, error) {
	var found []Stored
	for _, raw := range items {
		item, err := awsvalue.Item(raw)
		if err != nil {
			return nil, err
		}
		if item[s.options.Position] == nil {
			continue
		}
		aggregate, _ := s.key.aggregateOf(item)
		found = append(found, s.stored(aggregate, item))
	}
	return found, nil
}

// Difference is an attribute that is not what it should be; nil is absent.
type Difference struct {
	Attribute string
	Want, Got event.Value
}

// Compare compares an item with what the fold of the history up to its
// position gives (see projection.Replay). It looks at the fold's attributes
// only: those that want has, and those that the fold reads out of the item.
// Numbers are compared as numbers. Differences stand in the order of their
// attributes' names.
func (s *Sink) Compare(want event.Item, stored Stored) ([]Difference, error) {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	// What the fold makes of the item without its mark of deletion counts too:
	// attributes that stayed on a deleted item are a difference.
	alive := maps.Clone(stored.Item)
	delete(alive, projection.DeletedAt)
	for _, item := range []event.Item{stored.Item, alive} {
		state, err := s.options.Projection.Start(item)
		if err != nil {
			return nil, err
		}
		own, err := state.Item()
		if err != nil {
			return nil, err
		}
		for name := range own {
			names[name] = true
		}
	}
	var differences []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got := stored.Item[name]; !event.Equal(normal(want[name]), normal(got)) {
			differences = append(differences, Difference{Attribute: name, Want: want[name], Got: got})
		}
	}
	return differences, nil
}

// normal gives each number in a value its one spelling: a fold may write 1.50
// where DynamoDB stores 1.5.
func normal(v event.Value) event.Value {
	switch v := v.(type) {
	case event.Number:
		return event.Number(spelling(string(v)))
	case event.NumberSet:
		set := make(event.NumberSet, len(v))
		for i, n := range v {
			set[i] = spelling(n)
		}
		return set
	case event.List:
		list := make(event.List, len(v))
		for i, e := range v {
			list[i] = normal(e)
		}
		return list
	case event.Map:
		m := make(event.Map, len(v))
		for name, e := range v {
			m[name] = normal(e)
		}
		return m
	}
	return v
}

// spelling leaves what is no number as it is: it equals nothing stored.
func spelling(number string) string {
	d, err := decimal.Parse(number)
	if err != nil {
		return number
	}
	return d.String()
}
