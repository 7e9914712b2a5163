package dynamodbstreams

import (
	"math/bits"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// What the pieces of a decoded record take from the heap on a 64-bit machine,
// with Go 1.26's size classes and maps. The service's own SizeBytes does not
// say it: an attribute of two bytes costs about a hundred here, so that a page
// of 1 MB can take ten times as much.
const (
	recordBytes = 144 + 48 // event.Record in its slice; event id and sequence number
	headerBytes = 48       // of a map
	slotBytes   = 33       // of a map's slot: name, value, control byte
	memberBytes = 24       // of the SDK's box around a value
	valueBytes  = 16       // of an interface in a list
)

// sizeOf estimates what a record keeps alive: its keys, and the SDK's images,
// walked value by value. It is within a fifth of what the heap says
// (TestPageBytesAgainstTheHeap).
func sizeOf(in types.Record) int {
	total := recordBytes + textBytes(len(aws.ToString(in.EventID)))
	if d := in.Dynamodb; d != nil {
		total += itemBytes(d.Keys) + itemBytes(d.NewImage) + itemBytes(d.OldImage)
	}
	return total
}

// itemBytes is a map with its names and values.
func itemBytes(item map[string]types.AttributeValue) int {
	if len(item) == 0 {
		return 0
	}
	total := mapBytes(len(item))
	for name, v := range item {
		total += textBytes(len(name)) + memberBytes + contentBytes(v)
	}
	return total
}

// mapBytes is the slots of a map of n entries: eight, or the power of two above
// that is at most seven eighths full.
func mapBytes(n int) int {
	slots := 8
	if n > slots {
		slots = 1 << bits.Len(uint(n*8/7))
	}
	return headerBytes + slots*slotBytes
}

// textBytes is a string of its own, rounded up as the allocator does.
func textBytes(n int) int { return (n + 15) &^ 15 }

func contentBytes(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return textBytes(len(v.Value))
	case *types.AttributeValueMemberN:
		return textBytes(len(v.Value))
	case *types.AttributeValueMemberB:
		return textBytes(len(v.Value))
	case *types.AttributeValueMemberSS:
		return textsBytes(v.Value)
	case *types.AttributeValueMemberNS:
		return textsBytes(v.Value)
	case *types.AttributeValueMemberBS:
		total := 0
		for _, b := range v.Value {
			total += memberBytes + textBytes(len(b))
		}
		return total
	case *types.AttributeValueMemberM:
		return itemBytes(v.Value)
	case *types.AttributeValueMemberL:
		total := 0
		for _, e := range v.Value {
			total += valueBytes + memberBytes + contentBytes(e)
		}
		return total
	}
	return 0
}

func textsBytes(set []string) int {
	total := 0
	for _, s := range set {
		total += valueBytes + textBytes(len(s))
	}
	return total
}
