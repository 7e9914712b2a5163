package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// item is an item, a key, or a set of expression values.
type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue   { return &types.AttributeValueMemberN{Value: s} }
func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }
func null() types.AttributeValue          { return &types.AttributeValueMemberNULL{Value: true} }
func dict(m item) types.AttributeValue    { return &types.AttributeValueMemberM{Value: m} }

// The SDK sends a nil slice as a JSON null, which is no value at all; an empty
// one must stay empty.

func bin(b ...byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}
}

func strs(s ...string) types.AttributeValue {
	return &types.AttributeValueMemberSS{Value: append([]string{}, s...)}
}

func nums(s ...string) types.AttributeValue {
	return &types.AttributeValueMemberNS{Value: append([]string{}, s...)}
}

func bins(b ...[]byte) types.AttributeValue {
	return &types.AttributeValueMemberBS{Value: append([][]byte{}, b...)}
}

func list(values ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: append([]types.AttributeValue{}, values...)}
}

// with returns a copy of base with more attributes.
func with(base, more item) item {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}

// text writes an item in one fixed way: attributes and set members sorted,
// numbers digit for digit. Two items are the same if their texts are.
func text(it item) string {
	parts := make([]string, 0, len(it))
	for _, name := range slices.Sorted(maps.Keys(it)) {
		parts = append(parts, name+"="+valueText(it[name]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func valueText(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("S(%q)", v.Value)
	case *types.AttributeValueMemberN:
		return fmt.Sprintf("N(%s)", v.Value)
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B(%x)", v.Value)
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprintf("BOOL(%t)", v.Value)
	case *types.AttributeValueMemberNULL:
		return fmt.Sprintf("NULL(%t)", v.Value)
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf("SS(%q)", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		return fmt.Sprintf("NS(%s)", strings.Join(slices.Sorted(slices.Values(v.Value)), ","))
	case *types.AttributeValueMemberBS:
		members := make([]string, 0, len(v.Value))
		for _, b := range v.Value {
			members = append(members, fmt.Sprintf("%x", b))
		}
		slices.Sort(members)
		return fmt.Sprintf("BS(%s)", strings.Join(members, ","))
	case *types.AttributeValueMemberL:
		members := make([]string, 0, len(v.Value))
		for _, member := range v.Value {
			members = append(members, valueText(member))
		}
		return fmt.Sprintf("L(%s)", strings.Join(members, ","))
	case *types.AttributeValueMemberM:
		return "M" + text(v.Value)
	default:
		return fmt.Sprintf("%T", value)
	}
}

// fromStream turns an image of a stream record into the table's types. An
// absent image stays nil, which is not the same as an empty one.
func fromStream(image map[string]streamtypes.AttributeValue) item {
	if image == nil {
		return nil
	}
	out := make(item, len(image))
	for name, value := range image {
		out[name] = valueFromStream(value)
	}
	return out
}

func valueFromStream(value streamtypes.AttributeValue) types.AttributeValue {
	switch v := value.(type) {
	case *streamtypes.AttributeValueMemberS:
		return str(v.Value)
	case *streamtypes.AttributeValueMemberN:
		return num(v.Value)
	case *streamtypes.AttributeValueMemberB:
		return bin(v.Value...)
	case *streamtypes.AttributeValueMemberBOOL:
		return boolean(v.Value)
	case *streamtypes.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	case *streamtypes.AttributeValueMemberSS:
		return strs(v.Value...)
	case *streamtypes.AttributeValueMemberNS:
		return nums(v.Value...)
	case *streamtypes.AttributeValueMemberBS:
		return bins(v.Value...)
	case *streamtypes.AttributeValueMemberL:
		members := make([]types.AttributeValue, 0, len(v.Value))
		for _, member := range v.Value {
			members = append(members, valueFromStream(member))
		}
		return list(members...)
	case *streamtypes.AttributeValueMemberM:
		return dict(fromStream(v.Value))
	default:
		return nil
	}
}
