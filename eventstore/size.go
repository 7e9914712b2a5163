package eventstore

import (
	"strings"

	"millrace/event"
)

// ItemBytes is the size DynamoDB counts for an item against its limits:
// attribute names and values, without the overhead it bills for storage
// (Developer Guide, "DynamoDB item sizes and formats"):
//
//	text         its UTF-8 bytes
//	binary       its raw bytes, not their base64
//	number       a byte for each two significant digits, and one more
//	null, bool   one byte
//	list, map    3 bytes, and each element's name, value and one more byte
//	set          its members
//
// The guide calls the rule for numbers approximate; it is taken by its letter.
func ItemBytes(item event.Item) int {
	size := 0
	for name, v := range item {
		size += len(name) + valueBytes(v)
	}
	return size
}

func valueBytes(v event.Value) int {
	const document, element = 3, 1
	switch v := v.(type) {
	case event.String:
		return len(v)
	case event.Binary:
		return len(v)
	case event.Number:
		return numberBytes(string(v))
	case event.Bool, event.Null:
		return 1
	case event.List:
		size := document
		for _, e := range v {
			size += element + valueBytes(e)
		}
		return size
	case event.Map:
		return document + len(v)*element + ItemBytes(event.Item(v))
	case event.StringSet:
		return sum(v, func(s string) int { return len(s) })
	case event.NumberSet:
		return sum(v, numberBytes)
	case event.BinarySet:
		return sum(v, func(b []byte) int { return len(b) })
	}
	return 0
}

func sum[T any](members []T, size func(T) int) int {
	total := 0
	for _, m := range members {
		total += size(m)
	}
	return total
}

// numberBytes expects the one spelling that package decimal writes: plain,
// without an exponent.
func numberBytes(text string) int {
	text = strings.TrimPrefix(text, "-")
	whole, fraction, _ := strings.Cut(text, ".")
	significant := len(strings.Trim(whole+fraction, "0"))
	return (significant+1)/2 + 1
}
