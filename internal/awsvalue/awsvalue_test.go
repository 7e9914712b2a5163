package awsvalue

import (
	"testing"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
)

// every holds one attribute of each type, with the values that emulators and
// careless decoders lose.
var every = event.Item{
	"s": event.String("text"), "empty": event.String(""),
	"n": event.Number("12345678901234567890123456789012345678"), "small": event.Number("-0.5"),
	"b": event.Binary{0, 255}, "noBytes": event.Binary{},
	"yes": event.Bool(true), "no": event.Bool(false), "null": event.Null{},
	"ss": event.StringSet{"a", "b"}, "ns": event.NumberSet{"1", "2.5"}, "bs": event.BinarySet{{1}, {}},
	"m": event.Map{"deep": event.Map{"list": event.List{event.Null{}, event.List{}, event.Map{}}}},
}

func TestItemsSurviveTheDynamoDBTypes(t *testing.T) {
	back, err := Item(ToItem(every))
	if err != nil || !back.Equal(every) {
		t.Fatalf("got %v, %v", back, err)
	}
	if back, err := Item(nil); back != nil || err != nil {
		t.Fatalf("no item became %v, %v", back, err)
	}
}

func TestItemsSurviveTheStreamsTypes(t *testing.T) {
	in := map[string]streamtypes.AttributeValue{
		"s": &streamtypes.AttributeValueMemberS{Value: "text"}, "empty": &streamtypes.AttributeValueMemberS{},
		"n":     &streamtypes.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
		"small": &streamtypes.AttributeValueMemberN{Value: "-0.5"},
		"b":     &streamtypes.AttributeValueMemberB{Value: []byte{0, 255}}, "noBytes": &streamtypes.AttributeValueMemberB{},
		"yes": &streamtypes.AttributeValueMemberBOOL{Value: true}, "no": &streamtypes.AttributeValueMemberBOOL{},
		"null": &streamtypes.AttributeValueMemberNULL{Value: true},
		"ss":   &streamtypes.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns":   &streamtypes.AttributeValueMemberNS{Value: []string{"1", "2.5"}},
		"bs":   &streamtypes.AttributeValueMemberBS{Value: [][]byte{{1}, {}}},
		"m": &streamtypes.AttributeValueMemberM{Value: map[string]streamtypes.AttributeValue{
			"deep": &streamtypes.AttributeValueMemberM{Value: map[string]streamtypes.AttributeValue{
				"list": &streamtypes.AttributeValueMemberL{Value: []streamtypes.AttributeValue{
					&streamtypes.AttributeValueMemberNULL{Value: true},
					&streamtypes.AttributeValueMemberL{},
					&streamtypes.AttributeValueMemberM{},
				}},
			}},
		}},
	}
	got, err := StreamsItem(in)
	if err != nil || !got.Equal(every) {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestUnknownTypesAreRefused(t *testing.T) {
	if v, err := StreamsValue(&streamtypes.UnknownUnionMember{Tag: "X"}); err == nil {
		t.Errorf("an unknown type became %v", v)
	}
	if v, err := Value(nil); err == nil {
		t.Errorf("no value became %v", v)
	}
}
