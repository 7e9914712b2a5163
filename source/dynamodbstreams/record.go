package dynamodbstreams

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// changes is the stream's word for each kind of change.
var changes = map[types.OperationType]event.Change{
	types.OperationTypeInsert: event.Insert,
	types.OperationTypeModify: event.Modify,
	types.OperationTypeRemove: event.Remove,
}

var errNoChange = errors.New("it describes no change")

// convertRecord decodes what routing needs and leaves the images as they are.
func convertRecord(in types.Record) (event.Record, error) {
	d := in.Dynamodb
	change, known := changes[in.EventName]
	if d == nil || !known {
		return event.Record{}, fmt.Errorf("event %s, %q: %w", aws.ToString(in.EventID), in.EventName, errNoChange)
	}
	sequence, err := event.ParseSequence(aws.ToString(d.SequenceNumber))
	if err != nil {
		return event.Record{}, fmt.Errorf("event %s: %w", aws.ToString(in.EventID), err)
	}
	keys, err := awsvalue.StreamsItem(d.Keys)
	if err != nil {
		return event.Record{}, fmt.Errorf("keys of record %s: %w", sequence, err)
	}
	return event.Record{
		ID: aws.ToString(in.EventID), Change: change, Sequence: sequence, Created: aws.ToTime(d.ApproximateCreationDateTime),
		Keys: keys, New: image(d.NewImage), Old: image(d.OldImage), Service: byService(in.UserIdentity),
	}, nil
}

// byService tells AWS's own changes: removals by TTL (Developer Guide,
// "DynamoDB Streams and Time to Live").
func byService(who *types.Identity) bool {
	return who != nil && aws.ToString(who.Type) == "Service" && aws.ToString(who.PrincipalId) == "dynamodb.amazonaws.com"
}

func image(attributes map[string]types.AttributeValue) event.Image {
	if len(attributes) == 0 { // an item has its keys at least, so there is none
		return event.Image{}
	}
	return event.Lazy(lazyItem(attributes))
}

// lazyItem is an image as the SDK decoded it. It converts anew each time and
// keeps nothing, so that a page's size stays what Page.Bytes says.
type lazyItem map[string]types.AttributeValue

// Get converts one attribute.
func (l lazyItem) Get(name string) (event.Value, error) {
	av, ok := l[name]
	if !ok {
		return nil, nil
	}
	v, err := awsvalue.StreamsValue(av)
	if err != nil {
		return nil, &event.Error{Class: event.Permanent, Op: "decoding attribute " + name, Err: err}
	}
	return v, nil
}

// Item converts them all.
func (l lazyItem) Item() (event.Item, error) {
	item, err := awsvalue.StreamsItem(l)
	if err != nil {
		return nil, &event.Error{Class: event.Permanent, Op: "decoding an image", Err: err}
	}
	return item, nil
}
