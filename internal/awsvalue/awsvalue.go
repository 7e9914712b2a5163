// Package awsvalue converts attribute values between the vocabulary's types
// and those of the SDK's two DynamoDB clients. It loses nothing: numbers stay
// text, empty stays empty, null stays null.
package awsvalue

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
)

// Item converts an item of the DynamoDB client. nil stays nil.
func Item(in map[string]types.AttributeValue) (event.Item, error) {
	if in == nil {
		return nil, nil
	}
	out := make(event.Item, len(in))
	for name, av := range in {
		v, err := Value(av)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// Value converts one value of the DynamoDB client. An unknown type is an
// error: the service has learned a type that this client does not know.
func Value(av types.AttributeValue) (event.Value, error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return event.String(av.Value), nil
	case *types.AttributeValueMemberN:
		return event.Number(av.Value), nil
	case *types.AttributeValueMemberB:
		return event.Binary(av.Value), nil
	case *types.AttributeValueMemberBOOL:
		return event.Bool(av.Value), nil
	case *types.AttributeValueMemberNULL:
		return event.Null{}, nil
	case *types.AttributeValueMemberSS:
		return event.StringSet(av.Value), nil
	case *types.AttributeValueMemberNS:
		return event.NumberSet(av.Value), nil
	case *types.AttributeValueMemberBS:
		return event.BinarySet(av.Value), nil
	case *types.AttributeValueMemberM:
		item, err := Item(av.Value)
		if item == nil {
			item = event.Item{}
		}
		return event.Map(item), err
	case *types.AttributeValueMemberL:
		list := make(event.List, len(av.Value))
		for i, e := range av.Value {
			v, err := Value(e)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = v
		}
		return list, nil
	}
	return nil, fmt.Errorf("unknown attribute type %T", av)
}

// ToItem converts an item for the DynamoDB client. nil stays nil.
func ToItem(in event.Item) map[string]types.AttributeValue {
	if in == nil {
		return nil
	}
	out := make(map[string]types.AttributeValue, len(in))
	for name, v := range in {
		out[name] = To(v)
	}
	return out
}

// To converts one value for the DynamoDB client. nil, which means absent,
// stays nil.
func To(v event.Value) types.AttributeValue {
	switch v := v.(type) {
	case event.String:
		return &types.AttributeValueMemberS{Value: string(v)}
	case event.Number:
		return &types.AttributeValueMemberN{Value: string(v)}
	case event.Binary:
		return &types.AttributeValueMemberB{Value: notNil(v)}
	case event.Bool:
		return &types.AttributeValueMemberBOOL{Value: bool(v)}
	case event.Null:
		return &types.AttributeValueMemberNULL{Value: true}
	case event.StringSet:
		return &types.AttributeValueMemberSS{Value: v}
	case event.NumberSet:
		return &types.AttributeValueMemberNS{Value: v}
	case event.BinarySet:
		return &types.AttributeValueMemberBS{Value: v}
	case event.Map:
		return &types.AttributeValueMemberM{Value: ToItem(event.Item(v))}
	case event.List:
		list := make([]types.AttributeValue, len(v))
		for i, e := range v {
			list[i] = To(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return nil
}

// notNil keeps an empty binary from being sent as null.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// StreamsItem converts an item of the streams client. nil stays nil.
func StreamsItem(in map[string]streamtypes.AttributeValue) (event.Item, error) {
	if in == nil {
		return nil, nil
	}
	out := make(event.Item, len(in))
	for name, av := range in {
		v, err := StreamsValue(av)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// StreamsValue converts one value of the streams client, whose types are
// others than the DynamoDB client's although they look the same.
func StreamsValue(av streamtypes.AttributeValue) (event.Value, error) {
	switch av := av.(type) {
	case *streamtypes.AttributeValueMemberS:
		return event.String(av.Value), nil
	case *streamtypes.AttributeValueMemberN:
		return event.Number(av.Value), nil
	case *streamtypes.AttributeValueMemberB:
		return event.Binary(av.Value), nil
	case *streamtypes.AttributeValueMemberBOOL:
		return event.Bool(av.Value), nil
	case *streamtypes.AttributeValueMemberNULL:
		return event.Null{}, nil
	case *streamtypes.AttributeValueMemberSS:
		return event.StringSet(av.Value), nil
	case *streamtypes.AttributeValueMemberNS:
		return event.NumberSet(av.Value), nil
	case *streamtypes.AttributeValueMemberBS:
		return event.BinarySet(av.Value), nil
	case *streamtypes.AttributeValueMemberM:
		item, err := StreamsItem(av.Value)
		if item == nil {
			item = event.Item{}
		}
		return event.Map(item), err
	case *streamtypes.AttributeValueMemberL:
		list := make(event.List, len(av.Value))
		for i, e := range av.Value {
			v, err := StreamsValue(e)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = v
		}
		return list, nil
	}
	return nil, fmt.Errorf("unknown attribute type %T", av)
}
